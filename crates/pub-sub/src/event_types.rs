//! Types of events: `/pubsub/event-types`.

use carrel_platform::{Answer, Bind, Call, Connection, Json, Pipeline, Router};
use carrel_records::{Failure, Refusal};
use http::StatusCode;
use serde_json::{Map, Value, json};

pub fn connect(router: &mut Router) {
    router.on("GET", "/pubsub/event-types", list);
    router.on("POST", "/pubsub/event-types", create);
    router.on("GET", "/pubsub/event-types/{eventTypeName}", find);
    router.on("PUT", "/pubsub/event-types/{eventTypeName}", replace);
    router.on("DELETE", "/pubsub/event-types/{eventTypeName}", delete);
}

/// A descriptor as it is stored: only mod-pubsub's properties, with its defaults.
pub fn read(sent: &Value) -> Result<Map<String, Value>, Refusal> {
    let wrong =
        |key: &str| Refusal::new(format!("{key} must be given and of the declared type")).with_null(key);
    let sent = sent.as_object().ok_or_else(|| wrong("eventType"))?;
    const KNOWN: [&str; 5] = ["eventType", "description", "eventTTL", "signed", "tmp"];
    if let Some(unknown) = sent.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(Refusal::new(format!("Unrecognized field \"{unknown}\"")).with_null(unknown));
    }
    let name = sent.get("eventType").and_then(Value::as_str).filter(|name| is_name(name));
    let lifetime = sent.get("eventTTL").and_then(Value::as_i64);
    let mut descriptor = Map::new();
    descriptor.insert("eventType".into(), name.ok_or_else(|| wrong("eventType"))?.into());
    match sent.get("description") {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => drop(descriptor.insert("description".into(), text.as_str().into())),
        Some(_) => return Err(wrong("description")),
    }
    descriptor.insert("eventTTL".into(), lifetime.ok_or_else(|| wrong("eventTTL"))?.into());
    for key in ["signed", "tmp"] {
        match sent.get(key) {
            None | Some(Value::Null) => drop(descriptor.insert(key.into(), false.into())),
            Some(Value::Bool(flag)) => drop(descriptor.insert(key.into(), (*flag).into())),
            Some(_) => return Err(wrong(key)),
        }
    }
    Ok(descriptor)
}

/// A name that can be part of a topic, at most 200 letters.
pub fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= 200 && !name.chars().any(char::is_control)
}

/// The name in a descriptor.
pub fn name(descriptor: &Map<String, Value>) -> &str {
    descriptor.get("eventType").and_then(Value::as_str).unwrap_or_default()
}

/// The stored descriptors of these event types.
pub async fn known(connection: &Connection, names: Vec<String>) -> Result<Vec<Map<String, Value>>, Failure> {
    let rows = connection
        .query("SELECT descriptor FROM pubsub_event_type WHERE name = ANY ($1)", vec![names.into()])
        .await?;
    let descriptors = rows.iter().map(|row| row.get::<_, Json>("descriptor").parse());
    Ok(descriptors
        .filter_map(|descriptor| match descriptor {
            Value::Object(descriptor) => Some(descriptor),
            _ => None,
        })
        .collect())
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let connection = call.tenant()?.reader().await?;
    let rows = connection.query("SELECT descriptor FROM pubsub_event_type ORDER BY name", vec![]).await?;
    let descriptors: Vec<Value> = rows.iter().map(|row| row.get::<_, Json>("descriptor").parse()).collect();
    Ok(Answer::json(&json!({"eventDescriptors": descriptors, "totalRecords": descriptors.len()})))
}

async fn find(call: Call) -> Result<Answer, Failure> {
    let name = call.parameter(0).to_owned();
    let connection = call.tenant()?.reader().await?;
    match known(&connection, vec![name.clone()]).await?.pop() {
        Some(descriptor) => Ok(Answer::json(&descriptor)),
        None => Err(Failure::NotFound(format!("Event Descriptor with event type '{name}' was not found"))),
    }
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let sent = read(&call.value()?)?;
    let name = name(&sent).to_owned();
    let tenant = call.tenant()?;
    // A temporary descriptor, created for a subscriber that registered before the publisher, is replaced.
    let mut pipeline = Pipeline::new();
    let text = Value::Object(sent.clone()).to_string();
    let written = pipeline.add(
        "INSERT INTO pubsub_event_type (name, descriptor) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET descriptor = $2
             WHERE pubsub_event_type.descriptor->'tmp' = 'true' OR pubsub_event_type.descriptor = $2
         RETURNING name",
        vec![name.as_str().into(), Bind::Json(text)],
    );
    let results = tenant.begin().await?.send_and_commit(pipeline).await?;
    if results.first(written).is_none() {
        let existing = known(&tenant.writer().await?, vec![name.clone()]).await?.pop().unwrap_or_default();
        return Err(Failure::Invalid(format!(
            "Event descriptor for event type '{name}' already exists, but the content is different. \
             Existing event descriptor: {}",
            Value::Object(existing)
        )));
    }
    Ok(Answer::json(&sent).status(StatusCode::CREATED))
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let sent = read(&call.value()?)?;
    let mut pipeline = Pipeline::new();
    // FOLIO quirk: the name in the body counts, not the one in the path.
    let written = pipeline.add(
        "UPDATE pubsub_event_type SET descriptor = $2 WHERE name = $1 RETURNING name",
        vec![name(&sent).into(), Bind::Json(Value::Object(sent.clone()).to_string())],
    );
    let results = call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
    match results.first(written) {
        Some(_) => Ok(Answer::json(&sent)),
        None => Err(Failure::NotFound(format!(
            "EventDescriptor with event type '{}' was not updated",
            name(&sent)
        ))),
    }
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let name = call.parameter(0).to_owned();
    let mut tx = call.tenant()?.begin().await?;
    let mut pipeline = Pipeline::new();
    let found = pipeline
        .add("SELECT 1 FROM pubsub_event_type WHERE name = $1 FOR UPDATE", vec![name.as_str().into()]);
    let modules = pipeline.add(
        "SELECT module_id FROM pubsub_module WHERE event_type = $1 ORDER BY module_id",
        vec![name.as_str().into()],
    );
    let results = tx.send(pipeline).await?;
    if results.first(found).is_none() {
        return Err(Failure::NotFound(format!(
            "EventDescriptor with event type name '{name}' was not found"
        )));
    }
    let modules: Vec<String> = results.rows(modules).iter().map(|row| row.get("module_id")).collect();
    if !modules.is_empty() {
        return Err(Failure::Invalid(format!(
            "Event type {name} cannot be deleted. Modules [{}] are registered as publishers or subscribers for this \
             event type.",
            modules.join(",")
        )));
    }
    let mut pipeline = Pipeline::new();
    pipeline.add("DELETE FROM pubsub_event_type WHERE name = $1", vec![name.into()]);
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_stored_with_its_defaults() {
        let stored = read(&json!({"eventType": "LOAN_CLOSED", "eventTTL": 1})).expect("a descriptor");
        assert_eq!(
            Value::Object(stored),
            json!({"eventType": "LOAN_CLOSED", "eventTTL": 1, "signed": false, "tmp": false})
        );
    }

    #[test]
    fn a_descriptor_needs_a_name_and_a_lifetime_and_nothing_unknown() {
        for sent in [
            json!({"eventType": "LOAN_CLOSED"}),
            json!({"eventTTL": 1}),
            json!({"eventType": " ", "eventTTL": 1}),
            json!({"eventType": "A", "eventTTL": 1, "signed": "yes"}),
            json!({"eventType": "A", "eventTTL": 1, "colour": "red"}),
            json!([]),
        ] {
            assert!(read(&sent).is_err(), "{sent}");
        }
    }
}
