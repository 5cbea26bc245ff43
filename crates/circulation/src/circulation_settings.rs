//! Settings of circulation, by name: title level requests, check-out, printing, anonymization.
//!
//! Routes: `/circulation/settings…`, and POST of `/circulation-settings-storage/circulation-settings`; the other routes
//! of storage are those of plain records. Every change increments the settings version and announces
//! `circulation.circulation-settings`.

use crate::records::policies::CIRCULATION_SETTING;
use carrel_platform::http::pretty;
use carrel_platform::record_store::read::{self, PageRequest};
use carrel_platform::record_store::routes;
use carrel_platform::record_store::write::{self, Document, Ready};
use carrel_platform::{Answer, Call, Json, Pipeline, Router};
use carrel_records::{Failure, Refusal};
use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/circulation/settings", list);
    router.on("POST", "/circulation/settings", create);
    router.on("GET", "/circulation/settings/{id}", find);
    router.on("PUT", "/circulation/settings/{id}", replace);
    router.on("DELETE", "/circulation/settings/{id}", delete);
    router.on("POST", CIRCULATION_SETTING.path, |call| async move {
        let ready = save_by_name(&call, call.object()?).await?;
        Ok(routes::created(&CIRCULATION_SETTING, &ready))
    });
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let requested = PageRequest::read(&call.query)?;
    let connection = call.tenant()?.reader().await?;
    let page = read::list(&connection, &CIRCULATION_SETTING, &call.node.records, &requested).await?;
    let settings: Vec<Value> = page.documents.iter().map(Json::parse).collect();
    let body = json!({"circulationSettings": settings, "totalRecords": page.total});
    Ok(Answer::json_bytes(pretty(&body)))
}

async fn find(call: Call) -> Result<Answer, Failure> {
    let id = known_id(&call)?;
    let connection = call.tenant()?.reader().await?;
    match read::find(&connection, &CIRCULATION_SETTING, id).await? {
        Some(setting) => Ok(Answer::json_bytes(pretty(&setting.parse()))),
        None => {
            Err(Failure::NotFound(format!("circulationSettings record with ID \"{id}\" cannot be found")))
        }
    }
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let mut setting = call.object()?;
    if setting.get("id").is_none_or(Value::is_null) {
        setting.insert("id".into(), Uuid::new_v7(write::uuid_time(call.now)).to_string().into());
    }
    refuse_if_incomplete(&setting)?;
    let ready = save_by_name(&call, setting).await?;
    Ok(Answer::json_bytes(pretty(&ready.document)).status(StatusCode::CREATED))
}

/// FOLIO quirk: mod-circulation intends to answer 201 but forwards the 204 of its storage.
async fn replace(call: Call) -> Result<Answer, Failure> {
    refuse_if_incomplete(&call.object()?)?;
    routes::replace(&CIRCULATION_SETTING, call).await
}

/// FOLIO quirk: deleting a setting that does not exist succeeds.
async fn delete(call: Call) -> Result<Answer, Failure> {
    known_id(&call)?;
    match routes::delete(&CIRCULATION_SETTING, call).await {
        Err(Failure::NotFound(_)) => Ok(Answer::no_content()),
        answered => answered,
    }
}

/// Stores the setting; an existing one with the same name keeps its id and gets the new value.
async fn save_by_name(call: &Call, setting: Document) -> Result<Ready, Failure> {
    let tenant = call.tenant()?;
    let name = setting.get("name").and_then(Value::as_str).unwrap_or_default();
    let mut tx = tenant.begin().await?;
    let rows = tx
        .query(
            "SELECT id, doc FROM circulation_settings
             WHERE lower(carrel.f_unaccent(doc->>'name')) = lower(carrel.f_unaccent($1)) FOR NO KEY UPDATE",
            vec![name.into()],
        )
        .await?;
    let mut pipeline = Pipeline::new();
    let ready = match rows.first() {
        Some(row) => {
            let (id, stored): (Uuid, Json) = (row.get(0), row.get(1));
            let stored = stored.parse();
            let mut changed = setting;
            changed.insert("id".into(), id.to_string().into());
            changed.insert("name".into(), stored["name"].clone());
            let ready = write::prepare_replacement(
                &CIRCULATION_SETTING,
                id,
                changed,
                &stored,
                &call.caller,
                call.now,
            )?;
            write::update(&mut pipeline, tenant, &CIRCULATION_SETTING, &ready, &stored, call.now);
            ready
        }
        None => {
            let ready = write::prepare_new(&CIRCULATION_SETTING, setting, &call.caller, call.now)?;
            write::insert(&mut pipeline, tenant, &CIRCULATION_SETTING, &ready, call.now);
            ready
        }
    };
    tx.send_and_commit(pipeline)
        .await
        .map_err(|error| write::constraint_failure(&CIRCULATION_SETTING, error, &ready.document))?;
    Ok(ready)
}

fn known_id(call: &Call) -> Result<Uuid, Failure> {
    let text = call.parameter(0);
    Uuid::parse_str(text)
        .ok()
        .filter(|id| id.to_string() == text)
        .ok_or_else(|| Refusal::new("Circulation setting ID is not a valid UUID").with("", "").into())
}

fn refuse_if_incomplete(setting: &Document) -> Result<(), Failure> {
    let known = ["id", "name", "value", "metadata"];
    let is_text = |name: &str| setting.get(name).is_some_and(Value::is_string);
    let complete = is_text("id")
        && is_text("name")
        && setting.get("value").is_some_and(Value::is_object)
        && setting.keys().all(|name| known.contains(&name.as_str()));
    if complete {
        return Ok(());
    }
    Err(Refusal::new("Circulation setting JSON is invalid").with("", "").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_has_a_name_and_an_object_as_its_value_and_nothing_else() {
        let fits = |setting: Value| refuse_if_incomplete(setting.as_object().expect("an object")).is_ok();
        assert!(fits(json!({"id": "a", "name": "TLR", "value": {}, "metadata": {}})));
        assert!(!fits(json!({"id": "a", "name": "TLR"})));
        assert!(!fits(json!({"id": "a", "name": "TLR", "value": "text"})));
        assert!(!fits(json!({"id": "a", "name": "TLR", "value": {}, "color": "red"})));
    }
}
