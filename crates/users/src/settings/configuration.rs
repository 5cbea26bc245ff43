//! Entries of the older configuration, and the audit of their changes.

use crate::records::settings::{CONFIG, CONFIG_AUDIT};
use carrel_platform::database::DatabaseError;
use carrel_platform::record_store::routes;
use carrel_platform::record_store::write::{self, Document, uuid_time};
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, time};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

pub(super) fn connect(router: &mut Router) {
    router.on("POST", "/configurations/entries", create);
    router.on("PUT", "/configurations/entries/{id}", replace);
    router.on("DELETE", "/configurations/entries/{id}", delete);
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let ready = write::prepare_new(&CONFIG, with_default_enabled(call.object()?), &call.caller, call.now)?;
    let tenant = call.tenant()?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &CONFIG, &ready, call.now);
    add_audit(&mut pipeline, Operation::Inserted, ready.id, &Value::Object(ready.document.clone()), call.now);
    match tenant.begin().await?.send_and_commit(pipeline).await {
        Ok(_) => {}
        Err(error) if is_duplicate(&error) => return Ok(duplicate(&ready.document)),
        Err(error) => return Err(write::constraint_failure(&CONFIG, error, &ready.document)),
    }
    Ok(routes::created(&CONFIG, &ready))
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(stored) = write::lock(&mut tx, &CONFIG, id).await? else {
        return Err(Failure::NotFound("Not found".into()));
    };
    let stored = stored.parse();
    let ready = write::prepare_replacement(
        &CONFIG,
        id,
        with_default_enabled(call.object()?),
        &stored,
        &call.caller,
        call.now,
    )?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &CONFIG, &ready, &stored, call.now);
    add_audit(&mut pipeline, Operation::Updated, id, &Value::Object(ready.document.clone()), call.now);
    tx.send_and_commit(pipeline)
        .await
        .map_err(|error| write::constraint_failure(&CONFIG, error, &ready.document))?;
    Ok(Answer::no_content())
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(stored) = write::lock(&mut tx, &CONFIG, id).await? else {
        return Err(Failure::NotFound("Not found".into()));
    };
    let mut pipeline = Pipeline::new();
    pipeline.add("DELETE FROM config_data WHERE id = $1", vec![id.into()]);
    write::announce_delete(&mut pipeline, tenant, &CONFIG, id, &stored, call.now);
    add_audit(&mut pipeline, Operation::Deleted, id, &stored.parse(), call.now);
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

/// An entry is enabled unless it says otherwise.
fn with_default_enabled(mut entry: Document) -> Document {
    if entry.get("enabled").is_none_or(Value::is_null) {
        entry.insert("enabled".into(), true.into());
    }
    entry
}

/// An audited operation on an entry.
#[derive(Clone, Copy)]
enum Operation {
    Inserted,
    Updated,
    Deleted,
}

impl Operation {
    fn letter(self) -> &'static str {
        match self {
            Operation::Inserted => "I",
            Operation::Updated => "U",
            Operation::Deleted => "D",
        }
    }
}

fn add_audit(pipeline: &mut Pipeline, operation: Operation, entry: Uuid, content: &Value, now: Timestamp) {
    let id = Uuid::new_v7(uuid_time(now));
    let record = json!({
        "id": id,
        "orig_id": entry,
        "operation": operation.letter(),
        "jsonb": {"content": [content]},
        "createdDate": time::format(now),
    });
    write::insert_text(pipeline, &CONFIG_AUDIT, id, record.to_string());
}

/// Whether another entry has the same module, name, code and user.
fn is_duplicate(error: &DatabaseError) -> bool {
    error.is_unique_violation()
        && !error.constraint.as_deref().unwrap_or_default().starts_with("config_data_pkey")
}

/// FOLIO quirk: the values are properties of the error, not parameters.
fn duplicate(entry: &Document) -> Answer {
    let mut error = json!({
        "message": "Cannot have more than one tenant or user record with the same module, config name and code",
        "parameters": [],
    });
    for name in ["module", "configName", "code", "userId"] {
        error[name] = entry.get(name).cloned().unwrap_or_default();
    }
    Answer::json(&json!({"errors": [error]})).status(StatusCode::UNPROCESSABLE_ENTITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_enabled_by_default() {
        let entry = |value: Value| with_default_enabled(value.as_object().cloned().unwrap_or_default());
        assert_eq!(entry(json!({}))["enabled"], true);
        assert_eq!(entry(json!({"enabled": false}))["enabled"], false);
    }
}
