//! Settings of inventory: created with the tenant, changed one at a time.
//!
//! Routes: GET and PATCH of `/inventory-settings/{key}`. Changes `inventory_settings`; announces
//! `inventory.setting`.

use crate::records::settings::INVENTORY_SETTING;
use carrel_platform::database::Json;
use carrel_platform::{Answer, Bind, Call, Pipeline, Router, outbox};
use carrel_records::{Failure, Refusal, time};
use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

const PATH: &str = "/inventory-settings/{key}";

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("GET", PATH, show);
    router.on("PATCH", PATH, change);
}

/// The settings that a new tenant has.
pub fn first_records() -> Vec<(String, Value)> {
    let setting = json!({
        "id": Uuid::new_v5(&Uuid::NAMESPACE_URL, b"carrel:inventory-setting:optimize-updates"),
        "key": "inventory.optimize-updates.enabled",
        "value": "false",
        "type": "BOOLEAN",
        "centralManaged": true,
        "description":
            "Enables optimization to prevent redundant updates in Inventory (Instance, Holding, and Item).",
    });
    vec![(INVENTORY_SETTING.path.to_owned(), setting)]
}

async fn show(call: Call) -> Result<Answer, Failure> {
    let connection = call.tenant()?.reader().await?;
    let sql = "SELECT doc FROM inventory_settings WHERE doc->>'key' = $1";
    let rows = connection.query(sql, vec![call.parameter(0).into()]).await?;
    let stored: Option<Json> = rows.first().map(|row| row.get(0));
    stored.map(Answer::document).ok_or_else(|| unknown(&call))
}

async fn change(call: Call) -> Result<Answer, Failure> {
    let body = call.object()?;
    if let Some(name) = body.keys().find(|name| *name != "value") {
        return Err(Refusal::new(format!("Unrecognized field \"{name}\""))
            .with(name, "is not allowed")
            .into());
    }
    let value = body.get("value").filter(|value| !value.is_null());
    let value = value.ok_or_else(|| Refusal::new("must not be null").with("value", "null"))?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let sql = "SELECT id, doc FROM inventory_settings WHERE doc->>'key' = $1 FOR NO KEY UPDATE";
    let rows = tx.query(sql, vec![call.parameter(0).into()]).await?;
    let Some(row) = rows.first() else { return Err(unknown(&call)) };
    let (id, mut setting): (Uuid, Value) = (row.get("id"), row.get::<_, Json>("doc").parse());
    let text = match fitting(setting["type"].as_str().unwrap_or_default(), value) {
        Ok(text) => text,
        // FOLIO quirk: plain text under 422.
        Err(words) => return Ok(Answer::text(StatusCode::UNPROCESSABLE_ENTITY, words)),
    };
    setting["value"] = text.as_str().into();
    setting["updatedDate"] = time::format(call.now).into();
    setting["updatedByUserId"] = json!(call.caller.user_id.unwrap_or(Uuid::nil()));
    let mut pipeline = Pipeline::new();
    pipeline
        .add("UPDATE inventory_settings SET doc = $2 WHERE id = $1", vec![id.into(), Bind::from(&setting)]);
    let event = json!({"id": id, "key": setting["key"], "value": text, "tenantId": tenant.id});
    outbox::announce(&mut pipeline, "inventory.setting", id.to_string(), event.to_string(), call.now);
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

fn unknown(call: &Call) -> Failure {
    Failure::NotFound(format!("Setting not found: {}", call.parameter(0)))
}

/// The value as text, or why it does not have the setting's type.
fn fitting(kind: &str, value: &Value) -> Result<String, &'static str> {
    match (kind, value) {
        ("INTEGER", Value::Number(number)) if number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => {
            Ok(number.to_string())
        }
        ("INTEGER", _) => Err("Setting value should be an integer"),
        ("BOOLEAN", Value::Bool(flag)) => Ok(flag.to_string()),
        ("BOOLEAN", Value::String(text)) if ["true", "false"].contains(&&*text.to_lowercase()) => {
            Ok(text.clone())
        }
        ("BOOLEAN", _) => Err("Setting value should be a boolean"),
        (_, Value::String(text)) => Ok(text.clone()),
        (_, _) => Err("Setting value should be a string"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_of_its_setting_s_type() {
        assert_eq!(fitting("BOOLEAN", &json!(true)), Ok("true".into()));
        assert_eq!(fitting("BOOLEAN", &json!("TRUE")), Ok("TRUE".into()));
        assert_eq!(fitting("BOOLEAN", &json!("yes")), Err("Setting value should be a boolean"));
        assert_eq!(fitting("INTEGER", &json!(7)), Ok("7".into()));
        assert_eq!(fitting("INTEGER", &json!("7")), Err("Setting value should be an integer"));
        assert_eq!(fitting("STRING", &json!(7)), Err("Setting value should be a string"));
    }
}
