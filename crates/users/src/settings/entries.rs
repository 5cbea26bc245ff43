//! Settings by scope and key.
//!
//! FOLIO quirk: a setting that may not be read is 404, a key that is taken 403.

use super::access::{Operation, ReadableScopes, is_allowed_on};
use crate::records::settings::SETTINGS_ENTRY;
use carrel_platform::record_store::read::{self, Page};
use carrel_platform::record_store::routes;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::{Answer, Bind, Call, Pipeline, Router};
use carrel_records::Failure;
use serde_json::{Map, Value};
use uuid::Uuid;

pub(super) fn connect(router: &mut Router) {
    router.on("GET", "/settings/entries", list);
    router.on("POST", "/settings/entries", create);
    router.on("GET", "/settings/entries/{id}", find);
    router.on("PUT", "/settings/entries/{id}", replace);
    router.on("DELETE", "/settings/entries/{id}", delete);
}

pub(super) fn forbidden() -> Failure {
    Failure::Forbidden("Forbidden".into())
}

fn not_found() -> Failure {
    Failure::NotFound("Not Found".into())
}

async fn list(call: Call) -> Result<Answer, Failure> {
    if call.caller.profile.unlimited_permissions {
        return routes::list(&SETTINGS_ENTRY, call).await;
    }
    let readable = ReadableScopes::of(&call.caller);
    if readable.is_empty() {
        return Err(forbidden());
    }
    let requested = read::PageRequest::read(&call.query)?;
    let condition = read::condition(requested.query.as_ref(), &SETTINGS_ENTRY, &call.node.records)?;
    let mut binds = read::binds(&condition.arguments);
    let first = binds.len();
    binds.extend([
        readable.everything.into(),
        readable.global.into(),
        readable.users.into(),
        readable.owner.into(),
        Bind::from(call.caller.user_id),
    ]);
    let parameter = |nth: usize| format!("${}", first + nth);
    let conditions = format!(
        "({}) AND ({}::boolean
           OR (settings.user_id IS NULL AND settings.doc->>'scope' = ANY({}::text[]))
           OR (settings.user_id IS NOT NULL AND settings.doc->>'scope' = ANY({}::text[]))
           OR (settings.user_id = {}::uuid AND settings.doc->>'scope' = ANY({}::text[])))",
        condition.conditions,
        parameter(1),
        parameter(2),
        parameter(3),
        parameter(5),
        parameter(4),
    );
    let mut pipeline = Pipeline::new();
    let counted =
        pipeline.add(format!("SELECT count(*) AS total FROM settings WHERE {conditions}"), binds.clone());
    binds.extend([requested.limit.into(), requested.offset.into()]);
    let page = pipeline.add(
        format!(
            "SELECT settings.doc FROM settings WHERE {conditions} ORDER BY {} LIMIT {}::bigint OFFSET {}::bigint",
            condition.order_by,
            parameter(6),
            parameter(7),
        ),
        binds,
    );
    let results = call.tenant()?.reader().await?.send(pipeline).await?;
    let total = results.first(counted).map_or(0, |row| row.get("total"));
    let page = Page { documents: results.documents(page), total };
    Ok(Answer::json_bytes(page.to_bytes(&SETTINGS_ENTRY)))
}

async fn create(call: Call) -> Result<Answer, Failure> {
    if call.caller.profile.unlimited_permissions {
        return routes::create(&SETTINGS_ENTRY, call).await;
    }
    let entry = read_entry(&call)?;
    let ready = write::prepare_new(&SETTINGS_ENTRY, entry, &call.caller, call.now)?;
    let tenant = call.tenant()?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &SETTINGS_ENTRY, &ready, call.now);
    tenant
        .begin()
        .await?
        .send_and_commit(pipeline)
        .await
        .map_err(|error| if error.is_unique_violation() { forbidden() } else { Failure::from(error) })?;
    Ok(Answer::no_content())
}

async fn find(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let connection = call.tenant()?.reader().await?;
    let stored = read::find(&connection, &SETTINGS_ENTRY, id).await?.ok_or_else(not_found)?;
    if !call.caller.profile.unlimited_permissions
        && !is_allowed_on(&call.caller, Operation::Read, &stored.parse())
    {
        return Err(not_found());
    }
    Ok(Answer::json(&in_order(stored.parse())))
}

/// The entry with its properties in the order of mod-settings, whose tests compare the text.
fn in_order(mut entry: Value) -> Value {
    let mut ordered = Map::new();
    for name in ["id", "scope", "key", "userId", "value"] {
        if let Some(value) = entry.as_object_mut().and_then(|entry| entry.remove(name)) {
            ordered.insert(name.into(), value);
        }
    }
    ordered.extend(entry.as_object().cloned().into_iter().flatten());
    Value::Object(ordered)
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    if call.caller.profile.unlimited_permissions {
        return routes::replace(&SETTINGS_ENTRY, call).await;
    }
    let id = call.id(0)?;
    let entry = read_entry(&call)?;
    if entry.get("id").and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok()) != Some(id) {
        return Err(Failure::Invalid("id mismatch".into()));
    }
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let stored = write::lock(&mut tx, &SETTINGS_ENTRY, id).await?.ok_or_else(not_found)?.parse();
    // A permission for the new scope does not cover a stored setting of another scope.
    if !is_allowed_on(&call.caller, Operation::Write, &stored) {
        return Err(not_found());
    }
    let ready = write::prepare_replacement(&SETTINGS_ENTRY, id, entry, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &SETTINGS_ENTRY, &ready, &stored, call.now);
    tx.send_and_commit(pipeline)
        .await
        .map_err(|error| if error.is_unique_violation() { not_found() } else { Failure::from(error) })?;
    Ok(Answer::no_content())
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    if !call.caller.profile.unlimited_permissions {
        let connection = call.tenant()?.writer().await?;
        let stored = read::find(&connection, &SETTINGS_ENTRY, call.id(0)?).await?.ok_or_else(not_found)?;
        if !is_allowed_on(&call.caller, Operation::Write, &stored.parse()) {
            return Err(not_found());
        }
    }
    routes::delete(&SETTINGS_ENTRY, call).await
}

/// The entry of the body: it must have id, scope and key, and the caller must be allowed to write it.
fn read_entry(call: &Call) -> Result<Document, Failure> {
    let entry = call.object()?;
    for (name, article) in [("id", "an"), ("scope", "a"), ("key", "a")] {
        if entry.get(name).is_none_or(Value::is_null) {
            return Err(Failure::Invalid(format!("Entry must have {article} {name}")));
        }
    }
    let entry = Value::Object(entry);
    if !is_allowed_on(&call.caller, Operation::Write, &entry) {
        return Err(forbidden());
    }
    match entry {
        Value::Object(entry) => Ok(entry),
        _ => Err(Failure::internal("an entry is a JSON object")),
    }
}
