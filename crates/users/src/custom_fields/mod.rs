//! Custom fields of the user record.
//!
//! Routes: `/custom-fields…`. Changes definitions; deleting a field or an option deletes its values from users.

mod definition;
pub mod value;

use crate::records::people::CUSTOM_FIELD;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::record_store::{read, routes};
use carrel_platform::{Answer, Call, Json, Pipeline, Router, Tenant, Tx};
use carrel_records::{Failure, Refusal};
use serde_json::{Value, json};
use std::collections::HashMap;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/custom-fields", list);
    router.on("POST", "/custom-fields", create);
    router.on("PUT", "/custom-fields", replace_all);
    router.on("PUT", "/custom-fields/{id}", replace);
    router.on("DELETE", "/custom-fields/{id}", delete);
    router.on("GET", "/custom-fields/{id}/stats", stats);
    router.on("GET", "/custom-fields/{id}/options/{optId}/stats", option_stats);
}

/// Lists the fields in display order.
async fn list(call: Call) -> Result<Answer, Failure> {
    let mut requested = read::PageRequest::read(&call.query)?;
    if requested.query.as_ref().is_none_or(|query| query.sort.is_empty()) {
        let sorted = read::parse("cql.allRecords=1 sortBy order/number")?;
        match &mut requested.query {
            Some(query) => query.sort = sorted.sort,
            none => *none = Some(sorted),
        }
    }
    let connection = call.tenant()?.reader().await?;
    let page = read::list(&connection, &CUSTOM_FIELD, &call.node.records, &requested).await?;
    Ok(Answer::json_bytes(page.to_bytes(&CUSTOM_FIELD)))
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let field = call.object()?;
    let mut tx = call.tenant()?.begin().await?;
    let fields = lock_all(&mut tx).await?;
    let last = fields.iter().filter_map(|(_, field)| field["order"].as_i64()).max().unwrap_or(0);
    let taken: Vec<String> = fields.iter().map(|(_, field)| ref_id(field)).collect();
    let ready = new_field(&call, field, &taken, last + 1)?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, call.tenant()?, &CUSTOM_FIELD, &ready, call.now);
    tx.send_and_commit(pipeline)
        .await
        .map_err(|error| write::constraint_failure(&CUSTOM_FIELD, error, &ready.document))?;
    Ok(routes::created(&CUSTOM_FIELD, &ready))
}

fn new_field(
    call: &Call,
    mut field: Document,
    taken: &[String],
    order: i64,
) -> Result<write::Ready, Failure> {
    definition::refuse(&field)?;
    definition::complete(&mut field);
    let name = definition::ref_id(definition::text(&field, "name"), taken);
    field.insert("refId".into(), name.into());
    field.insert("order".into(), order.into());
    write::prepare_new(&CUSTOM_FIELD, field, &call.caller, call.now)
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut field = call.object()?;
    definition::refuse(&field)?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let stored = write::lock(&mut tx, &CUSTOM_FIELD, id).await?.ok_or_else(|| not_found(id))?.parse();
    field.insert("order".into(), stored["order"].clone());
    let mut pipeline = Pipeline::new();
    change(&call, &mut pipeline, id, field, &stored)?;
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

/// Adds the statements that replace one definition and delete the values of removed options from users.
fn change(
    call: &Call,
    pipeline: &mut Pipeline,
    id: Uuid,
    mut field: Document,
    stored: &Value,
) -> Result<(), Failure> {
    field.insert("id".into(), id.to_string().into());
    field.insert("refId".into(), stored["refId"].clone());
    definition::complete(&mut field);
    let refuse = |key: &str, message: String, value: &Value| {
        Err(Refusal::new(message).with(key, value.to_string()).of_storage().into())
    };
    let (old, new) = (&stored["type"], field.get("type").cloned().unwrap_or_default());
    if new != *old {
        let (old, new_text) = (old.as_str().unwrap_or("null"), new.as_str().unwrap_or("null"));
        let words =
            format!("The type of the custom field can not be changed: newType = {new_text}, oldType = {old}");
        return refuse("type", words, &new);
    }
    let format = |field: &Value| field["textField"]["fieldFormat"].as_str().unwrap_or("TEXT").to_owned();
    let (old, new) = (format(stored), format(&Value::Object(field.clone())));
    if old != new {
        let words = format!(
            "The format of the custom field can not be changed: newFormat = {new}, oldFormat = {old}"
        );
        return refuse("fieldFormat", words, &json!(new));
    }
    let ready = write::prepare_replacement(&CUSTOM_FIELD, id, field, stored, &call.caller, call.now)?;
    write::update(pipeline, call.tenant()?, &CUSTOM_FIELD, &ready, stored, call.now);
    let (had, _) = definition::option_ids(stored);
    let (has, defaults) = definition::option_ids(&Value::Object(ready.document));
    let removed: Vec<String> = had.into_iter().filter(|option| !has.contains(option)).collect();
    if !removed.is_empty() {
        remove_options(pipeline, &ref_id(stored), removed, defaults);
    }
    Ok(())
}

/// Replaces the whole list in its new order; fields that are not in it are deleted with their values.
async fn replace_all(call: Call) -> Result<Answer, Failure> {
    let mut body = call.object()?;
    let entity = body.get("entityType").and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(Value::Array(fields)) = body.remove("customFields") else {
        return Err(Refusal::new("must not be null").with("customFields", "null").of_storage().into());
    };
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let mut stored_fields: HashMap<Uuid, Value> =
        lock_all(&mut tx).await?.into_iter().filter(|(_, field)| field["entityType"] == *entity).collect();
    let mut taken: Vec<String> = stored_fields.values().map(ref_id).collect();
    let mut pipeline = Pipeline::new();
    let mut created = Vec::new();
    for (order, field) in (1_i64..).zip(fields) {
        let Value::Object(mut field) = field else {
            return Err(Failure::Invalid("customFields must hold objects".into()));
        };
        definition::refuse(&field)?;
        let id = field.get("id").and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok());
        match id.and_then(|id| stored_fields.remove(&id).map(|stored| (id, stored))) {
            Some((id, stored)) => {
                field.insert("order".into(), order.into());
                change(&call, &mut pipeline, id, field, &stored)?;
            }
            None => {
                let ready = new_field(&call, field, &taken, order)?;
                taken.push(ref_id(&Value::Object(ready.document.clone())));
                created.push(ready);
            }
        }
    }
    for (id, stored) in &stored_fields {
        delete_field(&mut pipeline, tenant, *id, stored, &call);
    }
    for ready in &created {
        write::insert(&mut pipeline, tenant, &CUSTOM_FIELD, ready, call.now);
    }
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let mut fields = lock_all(&mut tx).await?;
    let index = fields.iter().position(|(known, _)| *known == id).ok_or_else(|| not_found(id))?;
    let (_, stored) = fields.remove(index);
    let mut pipeline = Pipeline::new();
    delete_field(&mut pipeline, tenant, id, &stored, &call);
    for (order, (other, field)) in (1_i64..).zip(&fields) {
        if field["order"] != order {
            pipeline.add(
                "UPDATE custom_fields SET doc = jsonb_set(doc, '{order}', to_jsonb($2::bigint)) WHERE id = $1",
                vec![(*other).into(), order.into()],
            );
        }
    }
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

async fn stats(call: Call) -> Result<Answer, Failure> {
    let (id, field) = find(&call).await?;
    let count = count(&call, "doc->'customFields' ? $1", vec![ref_id(&field).into()]).await?;
    Ok(Answer::json(&json!({"fieldId": id, "entityType": field["entityType"], "count": count})))
}

async fn option_stats(call: Call) -> Result<Answer, Failure> {
    let (id, field) = find(&call).await?;
    let option = call.parameter(1);
    let selectable = ["SINGLE_SELECT_DROPDOWN", "MULTI_SELECT_DROPDOWN", "RADIO_BUTTON"];
    if !selectable.contains(&field["type"].as_str().unwrap_or_default()) {
        let words = "The type of the custom field must be one of:SINGLE_SELECT_DROPDOWN, MULTI_SELECT_DROPDOWN, RADIO_BUTTON";
        return Err(Refusal::new(words).with("type", field["type"].to_string()).of_storage().into());
    }
    if !definition::option_ids(&field).0.iter().any(|known| known == option) {
        let words = format!("Option with id '{option}' not found in custom field '{id}'");
        let options = field["selectField"]["options"].to_string();
        return Err(Refusal::new(words).with("optId", options).of_storage().into());
    }
    let condition = "doc->'customFields' ? $1 AND doc->'customFields'->$1 ? $2";
    let count = count(&call, condition, vec![ref_id(&field).into(), option.into()]).await?;
    Ok(Answer::json(&json!({
        "optionId": option, "customFieldId": id, "entityType": field["entityType"], "count": count
    })))
}

async fn count(call: &Call, condition: &str, binds: Vec<carrel_platform::Bind>) -> Result<i64, Failure> {
    let connection = call.tenant()?.reader().await?;
    let rows =
        connection.query(format!("SELECT count(*) AS total FROM users WHERE {condition}"), binds).await?;
    Ok(rows.first().map_or(0, |row| row.get("total")))
}

async fn find(call: &Call) -> Result<(Uuid, Value), Failure> {
    let id = call.id(0)?;
    let connection = call.tenant()?.reader().await?;
    let found = read::find(&connection, &CUSTOM_FIELD, id).await?.ok_or_else(|| not_found(id))?;
    Ok((id, found.parse()))
}

/// Locks all definitions and reads them in their order.
async fn lock_all(tx: &mut Tx) -> Result<Vec<(Uuid, Value)>, Failure> {
    let rows = tx
        .query(
            "SELECT id, doc FROM custom_fields ORDER BY carrel.number(doc->>'order'), id FOR NO KEY UPDATE",
            vec![],
        )
        .await?;
    Ok(rows.iter().map(|row| (row.get("id"), row.get::<_, Json>("doc").parse())).collect())
}

fn ref_id(field: &Value) -> String {
    field["refId"].as_str().unwrap_or_default().to_owned()
}

fn not_found(id: Uuid) -> Failure {
    Failure::NotFound(format!("CustomField not found by id: {id}"))
}

/// Adds the statements that delete a field with its values.
fn delete_field(pipeline: &mut Pipeline, tenant: &Tenant, id: Uuid, stored: &Value, call: &Call) {
    pipeline.add(
        "UPDATE users SET doc = doc #- ARRAY['customFields', $1::text] WHERE doc->'customFields' ? $1",
        vec![ref_id(stored).into()],
    );
    pipeline.add("DELETE FROM custom_fields WHERE id = $1", vec![id.into()]);
    write::announce_delete(pipeline, tenant, &CUSTOM_FIELD, id, &Json(stored.to_string()), call.now);
}

/// Adds the statements that remove options from users. A user without any option left gets the default, if there is
/// one.
fn remove_options(pipeline: &mut Pipeline, field: &str, removed: Vec<String>, defaults: Vec<String>) {
    let replacement = match &defaults[..] {
        [] => None,
        [one] => Some(json!(one)),
        several => Some(json!(several)),
    };
    // Several values, of which some remain.
    pipeline.add(
        "UPDATE users SET doc = jsonb_set(doc, ARRAY['customFields', $1::text], (doc->'customFields'->$1) - $2::text[])
         WHERE doc->'customFields' ? $1 AND doc->'customFields'->$1 ?| $2
             AND jsonb_typeof(doc->'customFields'->$1) = 'array'",
        vec![field.into(), removed.clone().into()],
    );
    let none_left = "doc->'customFields' ? $1 AND (doc->'customFields'->$1 = '[]'
        OR jsonb_typeof(doc->'customFields'->$1) = 'string' AND doc->'customFields'->$1 ?| $2)";
    match replacement {
        Some(replacement) => pipeline.add(
            format!(
                "UPDATE users SET doc = jsonb_set(doc, ARRAY['customFields', $1::text], $3::jsonb) WHERE {none_left}"
            ),
            vec![field.into(), removed.into(), (&replacement).into()],
        ),
        None => pipeline.add(
            format!("UPDATE users SET doc = doc #- ARRAY['customFields', $1::text] WHERE {none_left}"),
            vec![field.into(), removed.into()],
        ),
    };
}
