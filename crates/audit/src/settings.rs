//! Settings of audit: whether changes are recorded, for how long, and which fields are excluded.
//!
//! Routes: `GET /audit/config/groups`, `GET …/{groupId}/settings`, `PUT …/{groupId}/settings/{settingId}`. Only values
//! that differ from the default are stored.

use carrel_platform::{Answer, Bind, Call, Connection, Json, Pipeline, Router};
use carrel_records::{Failure, metadata};
use http::StatusCode;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    InventoryPageSize,
    InventoryEnabled,
    InventoryRetention,
    AuthorityPageSize,
    AuthorityEnabled,
    AuthorityRetention,
    UserPageSize,
    UserEnabled,
    UserRetention,
    UserAnonymize,
    UserExcludedFields,
}

struct Declaration {
    setting: Setting,
    group: &'static str,
    key: &'static str,
    kind: &'static str,
    default: Default,
    description: &'static str,
}

#[derive(Clone, Copy)]
enum Default {
    Number(i64),
    Flag(bool),
    Text(&'static str),
}

const INVENTORY: &str = "audit.inventory";
const AUTHORITY: &str = "audit.authority";
const USER: &str = "audit.user";

const GROUPS: [(&str, &str, &str); 3] = [
    (
        INVENTORY,
        "Inventory Audit Configuration",
        "Group of configurations for audit of inventory records: instances, holdings, items, etc.",
    ),
    (AUTHORITY, "Authority Audit Configuration", "Group of configurations for audit of authority records"),
    (USER, "User Audit Configuration", "Group of configurations for audit of user records"),
];

#[rustfmt::skip]
const SETTINGS: [Declaration; 11] = [
    Declaration { setting: Setting::InventoryPageSize, group: INVENTORY, key: "records.page.size", kind: "INTEGER", default: Default::Number(10), description: "Number of records to display per page" },
    Declaration { setting: Setting::AuthorityPageSize, group: AUTHORITY, key: "records.page.size", kind: "INTEGER", default: Default::Number(10), description: "Number of records to display per page" },
    Declaration { setting: Setting::InventoryEnabled, group: INVENTORY, key: "enabled", kind: "BOOLEAN", default: Default::Flag(true), description: "Defines if the inventory audit is enabled" },
    Declaration { setting: Setting::AuthorityEnabled, group: AUTHORITY, key: "enabled", kind: "BOOLEAN", default: Default::Flag(true), description: "Defines if the authority audit is enabled" },
    Declaration { setting: Setting::AuthorityRetention, group: AUTHORITY, key: "records.retention.period", kind: "INTEGER", default: Default::Number(-1), description: "Retention period for authority record in days" },
    Declaration { setting: Setting::InventoryRetention, group: INVENTORY, key: "records.retention.period", kind: "INTEGER", default: Default::Number(-1), description: "Retention period for inventory record in days" },
    Declaration { setting: Setting::UserEnabled, group: USER, key: "enabled", kind: "BOOLEAN", default: Default::Flag(false), description: "Defines if the user audit is enabled" },
    Declaration { setting: Setting::UserPageSize, group: USER, key: "records.page.size", kind: "INTEGER", default: Default::Number(10), description: "Number of records to display per page" },
    Declaration { setting: Setting::UserAnonymize, group: USER, key: "anonymize", kind: "BOOLEAN", default: Default::Flag(false), description: "Defines if the editing person should be anonymized in user audit records" },
    Declaration { setting: Setting::UserRetention, group: USER, key: "records.retention.period", kind: "INTEGER", default: Default::Number(-1), description: "Retention period for user record in days" },
    Declaration { setting: Setting::UserExcludedFields, group: USER, key: "excluded.fields", kind: "STRING", default: Default::Text("[]"), description: "Defines the field paths to exclude from user audit record diffs" },
];

impl Declaration {
    fn id(&self) -> String {
        format!("{}.{}", self.group, self.key)
    }
    fn default(&self) -> Value {
        match self.default {
            Default::Number(number) => number.into(),
            Default::Flag(flag) => flag.into(),
            Default::Text(text) => text.into(),
        }
    }
}

/// The values of all settings of a tenant.
#[derive(Debug)]
pub struct Values(HashMap<String, (Value, Value)>);

impl Values {
    fn value(&self, setting: Setting) -> Value {
        let declared = SETTINGS.iter().find(|declared| declared.setting == setting);
        let declared = declared.expect("every setting is declared");
        self.0.get(&declared.id()).map_or_else(|| declared.default(), |(value, _)| value.clone())
    }
    pub fn flag(&self, setting: Setting) -> bool {
        self.value(setting) == Value::Bool(true)
    }
    pub fn number(&self, setting: Setting) -> i64 {
        self.value(setting).as_i64().unwrap_or(0)
    }
    /// Excluded paths of users; the setting's text is a JSON list.
    pub fn excluded_fields(&self) -> Vec<String> {
        let value = self.value(Setting::UserExcludedFields);
        value.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

/// Reads the values.
pub async fn read(connection: &Connection) -> Result<Values, Failure> {
    let rows = connection.query("SELECT id, value, metadata FROM audit_setting", vec![]).await?;
    let values = rows.iter().map(|row| {
        let (value, metadata): (Json, Json) = (row.get("value"), row.get("metadata"));
        (row.get("id"), (value.parse(), metadata.parse()))
    });
    Ok(Values(values.collect()))
}

/// An answer with one error in FOLIO's form.
pub fn error(status: StatusCode, code: &str, message: String) -> Answer {
    let errors = json!([{"message": message, "code": code, "parameters": []}]);
    Answer::json(&json!({"errors": errors, "total_records": 1})).status(status)
}

pub fn connect(router: &mut Router) {
    router.on("GET", "/audit/config/groups", |_: Call| async {
        let groups: Vec<Value> = GROUPS
            .iter()
            .map(|(id, name, description)| json!({"id": id, "name": name, "description": description}))
            .collect();
        Ok::<_, Failure>(Answer::json(&json!({"settingGroups": groups, "totalRecords": groups.len()})))
    });
    router.on("GET", "/audit/config/groups/{groupId}/settings", list);
    router.on("PUT", "/audit/config/groups/{groupId}/settings/{settingId}", replace);
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let group = call.parameter(0).to_owned();
    let permission = format!("audit.config.groups.settings.{group}.collection.get");
    if !call.caller.may(&permission) {
        return Ok(error(StatusCode::FORBIDDEN, "unauthorized", permission));
    }
    if !GROUPS.iter().any(|(id, ..)| *id == group) {
        let message = format!("Setting group with id '{group}' not found");
        return Ok(error(StatusCode::NOT_FOUND, "notFound", message));
    }
    let connection = call.tenant()?.reader().await?;
    let values = read(&connection).await?;
    let settings: Vec<Value> = SETTINGS
        .iter()
        .filter(|declared| declared.group == group)
        .map(|declared| {
            let mut setting = json!({"key": declared.key, "value": values.value(declared.setting),
                "type": declared.kind, "description": declared.description, "groupId": group});
            if let Some((_, metadata)) = values.0.get(&declared.id()) {
                setting["metadata"] = metadata.clone();
            }
            setting
        })
        .collect();
    Ok(Answer::json(&json!({"settings": settings, "totalRecords": settings.len()})))
}

/// Why a value cannot be stored for the key of a group; `None` if it can.
fn refusal(sent: &Map<String, Value>, group: &str, key: &str) -> Option<&'static str> {
    let text = |name: &str| sent.get(name).and_then(Value::as_str);
    if text("groupId") != Some(group) || text("key") != Some(key) {
        return Some("Setting group id or key does not match the path parameters");
    }
    let value = sent.get("value").unwrap_or(&Value::Null);
    match text("type") {
        Some("STRING") => (!value.is_string()).then_some("Setting value should be a string"),
        Some("INTEGER") => (!value.is_i64()).then_some("Setting value should be an integer"),
        Some("BOOLEAN") => (!value.is_boolean()).then_some("Setting value should be a boolean"),
        _ => Some("Setting type should be STRING, INTEGER or BOOLEAN"),
    }
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let (group, key) = (call.parameter(0).to_owned(), call.parameter(1).to_owned());
    let permission = format!("audit.config.groups.settings.{group}.{key}.item.put");
    if !call.caller.may(&permission) {
        return Ok(error(StatusCode::FORBIDDEN, "unauthorized", permission));
    }
    let sent = call.object()?;
    let unprocessable =
        |message: &str| error(StatusCode::UNPROCESSABLE_ENTITY, "validation", message.to_owned());
    if let Some(message) = refusal(&sent, &group, &key) {
        return Ok(unprocessable(message));
    }
    let declared = SETTINGS.iter().find(|declared| declared.group == group && declared.key == key);
    let Some(declared) = declared else {
        let message = format!("Setting with key '{key}' in group '{group}' not found");
        return Ok(error(StatusCode::NOT_FOUND, "notFound", message));
    };
    // A value of another type could not be read.
    if sent.get("type").and_then(Value::as_str) != Some(declared.kind) {
        return Ok(unprocessable("Setting type cannot be changed"));
    }
    let value = sent["value"].clone();
    let mut pipeline = Pipeline::new();
    pipeline.add(
        "INSERT INTO audit_setting (id, value, metadata) VALUES ($1, $2, $3)
         ON CONFLICT (id) DO UPDATE SET value = $2, metadata = $3",
        vec![
            declared.id().into(),
            Bind::Json(value.to_string()),
            (&metadata::created(call.caller.user_id, call.now)).into(),
        ],
    );
    match (declared.setting, &value) {
        (Setting::UserEnabled, Value::Bool(false)) => {
            pipeline.add("DELETE FROM audit_change WHERE kind = 'user'", vec![]);
        }
        (Setting::UserAnonymize, Value::Bool(true)) => {
            pipeline.add("UPDATE audit_change SET by_user_id = NULL WHERE kind = 'user'", vec![]);
        }
        _ => {}
    }
    let tenant = call.tenant()?;
    tenant.begin().await?.send_and_commit(pipeline).await?;
    if declared.setting == Setting::UserRetention {
        crate::change_history::clean_up(tenant, call.now).await?;
    }
    Ok(Answer::no_content())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_of_the_type_and_for_the_key_that_it_names() {
        let sent = |differs: Value| {
            let mut sent = json!({"groupId": USER, "key": "enabled", "type": "BOOLEAN", "value": true});
            sent.as_object_mut().expect("an object").extend(differs.as_object().expect("an object").clone());
            sent.as_object().expect("an object").clone()
        };
        assert_eq!(refusal(&sent(json!({})), USER, "enabled"), None);
        assert!(refusal(&sent(json!({})), USER, "anonymize").is_some());
        assert!(refusal(&sent(json!({"value": "yes"})), USER, "enabled").is_some());
        assert!(refusal(&sent(json!({"type": "INTEGER"})), USER, "enabled").is_some());
    }

    #[test]
    fn what_is_not_stored_is_the_default() {
        let values = Values(HashMap::from([("audit.user.enabled".into(), (json!(true), Value::Null))]));
        assert!(values.flag(Setting::UserEnabled) && values.flag(Setting::InventoryEnabled));
        assert_eq!(values.number(Setting::InventoryRetention), -1);
        assert_eq!(values.excluded_fields(), [""; 0]);
    }
}
