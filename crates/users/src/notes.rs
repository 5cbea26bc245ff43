//! Notes: on a patron, to be read at the next check-out, or on other things.
//!
//! Routes: `/notes…`, `/note-types…`, `/note-links…`. Changes notes and their types; a note without links is
//! deleted.

use crate::records::notes::{NOTE, NOTE_TYPE};
use carrel_platform::database::DatabaseError;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::record_store::{read, routes};
use carrel_platform::{Answer, Bind, Call, Connection, Json, Pipeline, Router};
use carrel_records::{Failure, RecordType, Refusal, RefusalCode};
use http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

/// Note types of a tenant, at most.
const MAX_NOTE_TYPES: i64 = 25;

pub fn connect(router: &mut Router) {
    on(router, "GET", "/notes", |call| list(&NOTE, call));
    on(router, "POST", "/notes", create);
    on(router, "GET", "/notes/{id}", |call| find(&NOTE, "Note", call));
    on(router, "PUT", "/notes/{id}", replace);
    on(router, "DELETE", "/notes/{id}", |call| delete(&NOTE, "Note", call));
    on(router, "GET", "/note-types", |call| list(&NOTE_TYPE, call));
    on(router, "POST", "/note-types", create_type);
    on(router, "GET", "/note-types/{typeId}", |call| find(&NOTE_TYPE, "Note type", call));
    on(router, "PUT", "/note-types/{id}", replace_type);
    on(router, "DELETE", "/note-types/{id}", |call| delete(&NOTE_TYPE, "Note type", call));
    on(router, "GET", "/note-links/domain/{domain}/type/{type}/id/{id}", list_by_link);
    on(router, "PUT", "/note-links/type/{type}/id/{id}", update_links);
}

/// Connects a handler with the statuses of mod-notes: 415 for a body that is not sent as JSON, 422 for everything
/// else that cannot be understood.
fn on<F, W>(router: &mut Router, method: &str, path: &str, handler: F)
where
    F: Fn(Call) -> W + Send + Sync + 'static,
    W: Future<Output = Result<Answer, Failure>> + Send + 'static,
{
    let handler = Arc::new(handler);
    router.on(method, path, move |call: Call| {
        let handler = Arc::clone(&handler);
        async move {
            if !call.body.is_empty() && !is_json(call.header("content-type")) {
                // The body of FOLIO's framework.
                let error = json!({"status": 415, "error": "Unsupported Media Type"});
                return Ok(Answer::json(&error).status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
            }
            handler(call).await.map_err(|failure| match failure {
                Failure::Invalid(reason) => refusal(in_words_of_spring(reason)),
                Failure::Refused(refusals) => of_argument(refusals),
                other => other,
            })
        }
    });
}

/// Whether the content type is JSON; a client that names none is taken to send it.
fn is_json(content_type: Option<&str>) -> bool {
    content_type.is_none_or(|content_type| {
        let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
    })
}

/// The note type of a new tenant.
pub fn first_records() -> Vec<(String, Value)> {
    let id = Uuid::new_v5(&Uuid::NAMESPACE_URL, b"carrel:note-type:general");
    vec![(NOTE_TYPE.path.to_owned(), json!({"id": id, "name": "General note"}))]
}

/// FOLIO quirk: the default limit of notes is a thousand.
async fn list(record: &'static RecordType, call: Call) -> Result<Answer, Failure> {
    let mut requested = read::PageRequest::read(&call.query)?;
    requested.limit = call.query.number("limit", 1000, 1, i64::from(i32::MAX))?;
    let connection = call.tenant()?.reader().await?;
    let page = read::list(&connection, record, &call.node.records, &requested).await?;
    Ok(Answer::json_bytes(page.to_bytes(record)))
}

async fn find(record: &'static RecordType, noun: &str, call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let connection = call.tenant()?.reader().await?;
    match read::find(&connection, record, id).await? {
        Some(document) => Ok(Answer::document(document)),
        None => Ok(not_found(noun, id)),
    }
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let mut document = call.object()?;
    document.remove("type");
    document.entry("links").or_insert(json!([]));
    let tenant = call.tenant()?;
    let ready = write::prepare_new(&NOTE, document, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &NOTE, &ready, call.now);
    tenant
        .begin()
        .await?
        .send_and_commit(pipeline)
        .await
        .map_err(|error| storage_failure(error, &ready.document))?;
    let connection = tenant.writer().await?;
    let stored = read_stored(&connection, &NOTE, ready.id).await?;
    Ok(stored.status(StatusCode::CREATED).location(format!("/notes/{}", ready.id)))
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut document = call.object()?;
    document.remove("type");
    let unlinked = document.get("links").and_then(Value::as_array).is_none_or(Vec::is_empty);
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(stored) = write::lock(&mut tx, &NOTE, id).await? else { return Ok(not_found("Note", id)) };
    let stored = stored.parse();
    if unlinked {
        write::delete(tx, tenant, &NOTE, id, &call.node.records, call.now).await?;
        return Ok(Answer::no_content());
    }
    let ready = write::prepare_replacement(&NOTE, id, document, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &NOTE, &ready, &stored, call.now);
    tx.send_and_commit(pipeline).await.map_err(|error| storage_failure(error, &ready.document))?;
    Ok(Answer::no_content())
}

async fn delete(record: &'static RecordType, noun: &str, call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let tenant = call.tenant()?;
    let tx = tenant.begin().await?;
    let found =
        write::delete(tx, tenant, record, id, &call.node.records, call.now).await.map_err(|failure| {
            match failure {
                Failure::Conflict(_) => {
                    refusal(format!("Key (id)=({id}) is still referenced from table \"note\"."))
                }
                other => other,
            }
        })?;
    Ok(if found { Answer::no_content() } else { not_found(noun, id) })
}

async fn create_type(call: Call) -> Result<Answer, Failure> {
    let mut document = call.object()?;
    document.remove("usage");
    let tenant = call.tenant()?;
    let ready = write::prepare_new(&NOTE_TYPE, document, &call.caller, call.now)?;
    let mut tx = tenant.begin().await?;
    if !call.caller.profile.unchecked_records {
        let rows = tx.query("SELECT count(*) AS total FROM note_type", vec![]).await?;
        if rows.first().map_or(0, |row| row.get::<_, i64>("total")) >= MAX_NOTE_TYPES {
            return Err(Refusal::new(format!("Maximum number of note types allowed is {MAX_NOTE_TYPES}"))
                .with("limit", MAX_NOTE_TYPES.to_string())
                .kind("-1")
                .code(RefusalCode::NoteTypesLimitReached)
                .into());
        }
    }
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &NOTE_TYPE, &ready, call.now);
    tx.send_and_commit(pipeline).await.map_err(|error| storage_failure(error, &ready.document))?;
    Ok(routes::created(&NOTE_TYPE, &ready))
}

async fn replace_type(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut document = call.object()?;
    document.remove("usage");
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(stored) = write::lock(&mut tx, &NOTE_TYPE, id).await? else {
        return Ok(not_found("Note type", id));
    };
    let stored = stored.parse();
    let ready = write::prepare_replacement(&NOTE_TYPE, id, document, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &NOTE_TYPE, &ready, &stored, call.now);
    tx.send_and_commit(pipeline).await.map_err(|error| storage_failure(error, &ready.document))?;
    Ok(Answer::no_content())
}

/// Lists the notes of one domain by their link to one object: with it, without it, or all.
async fn list_by_link(call: Call) -> Result<Answer, Failure> {
    let link = json!([{"type": call.parameter(1), "id": call.parameter(2)}]);
    let mut binds: Vec<Bind> = vec![call.parameter(0).into()];
    let mut condition = String::from("note.doc->>'domain' = $1");
    let status = call.query.get("status").unwrap_or("all").to_ascii_lowercase();
    if status != "all" {
        binds.push((&link).into());
        let not = if status == "unassigned" { "NOT " } else { "" };
        condition.push_str(&format!(" AND {not}coalesce(note.doc->'links' @> $2, false)"));
    }
    if let Some(search) = call.query.get("search").filter(|text| !text.trim().is_empty()) {
        binds.push(format!("%{}%", search.replace(['\\', '%', '_'], "")).into());
        condition.push_str(&format!(
            " AND (note.doc->>'title' ILIKE ${0} OR note.doc->>'content' ILIKE ${0})",
            binds.len()
        ));
    }
    let types: Vec<String> = call.query.all("noteType").map(str::to_owned).collect();
    if !types.is_empty() {
        binds.push(types.into());
        condition.push_str(&format!(" AND note_type.doc->>'name' = ANY(${})", binds.len()));
    }
    let (field, descending) = match call.query.get("orderBy") {
        Some("title") => ("note.doc->>'title'", false),
        Some("content") => ("note.doc->>'content'", false),
        Some("noteType") => ("note_type.doc->>'name'", false),
        Some("updatedDate") => ("note.doc->'metadata'->>'updatedDate'", true),
        _ => ("note.id", false),
    };
    let descending = call.query.get("order").map_or(descending, |order| order.eq_ignore_ascii_case("desc"));
    let order = if descending { "DESC" } else { "ASC" };
    let limit = call.query.number("limit", 1000, 1, i64::from(i32::MAX))?.min(1000);
    let offset = call.query.number("offset", 0, 0, i64::from(i32::MAX))?;
    let from = read::from_sql(&NOTE);
    let condition_binds = binds.len();
    let mut pipeline = Pipeline::new();
    let count =
        pipeline.add(format!("SELECT count(*) AS total FROM {from} WHERE {condition}"), binds.clone());
    binds.extend([limit.into(), offset.into()]);
    let page = pipeline.add(
        format!(
            "SELECT {} AS document FROM {from} WHERE {condition} ORDER BY {field} {order}, note.id
             LIMIT ${}::bigint OFFSET ${}::bigint",
            read::document_sql(&NOTE),
            condition_binds + 1,
            condition_binds + 2
        ),
        binds,
    );
    let results = call.tenant()?.reader().await?.send(pipeline).await?;
    let documents: Vec<Json> = results.rows(page).iter().map(|row| row.get("document")).collect();
    let total = results.first(count).map_or(0, |row| row.get("total"));
    Ok(Answer::json_bytes(read::Page { documents, total }.to_bytes(&NOTE)))
}

/// Links notes to an object or removes the links; a note without links is deleted.
async fn update_links(call: Call) -> Result<Answer, Failure> {
    #[derive(serde::Deserialize)]
    struct Changes {
        notes: Vec<Change>,
    }
    #[derive(serde::Deserialize)]
    struct Change {
        id: Uuid,
        status: String,
    }
    let changes: Changes = call.read_json()?;
    let link = json!({"id": call.parameter(1), "type": call.parameter(0)});
    let mut pipeline = Pipeline::new();
    for change in changes.notes {
        let binds = vec![change.id.into(), (&json!([link])).into()];
        match change.status.to_ascii_uppercase().as_str() {
            "ASSIGNED" => pipeline.add(
                "UPDATE note SET doc = jsonb_set(doc, '{links}', coalesce(doc->'links', '[]') || $2::jsonb)
                 WHERE id = $1 AND NOT coalesce(doc->'links' @> $2::jsonb, false)",
                binds,
            ),
            _ => {
                pipeline.add(
                    "UPDATE note SET doc = jsonb_set(doc, '{links}',
                         (SELECT coalesce(jsonb_agg(link), '[]') FROM jsonb_array_elements(doc->'links') link
                          WHERE NOT $2::jsonb @> jsonb_build_array(link)))
                     WHERE id = $1 AND doc->'links' @> $2::jsonb",
                    binds,
                );
                pipeline.add("DELETE FROM note WHERE id = $1 AND doc->'links' = '[]'", vec![change.id.into()])
            }
        };
    }
    call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

async fn read_stored(connection: &Connection, record: &RecordType, id: Uuid) -> Result<Answer, Failure> {
    let document = read::find(connection, record, id).await?;
    document.map(Answer::document).ok_or_else(|| Failure::internal("a record just written is there"))
}

fn refusal(message: String) -> Failure {
    validation(Refusal::new(message)).into()
}

/// FOLIO quirk: the texts of its framework, which clients compare.
fn in_words_of_spring(reason: String) -> String {
    const TYPES: &str =
        "Failed to convert value of type 'java.lang.String' to required type 'java.util.UUID'";
    if reason.ends_with("is not a UUID") {
        format!("{TYPES}: {reason}")
    } else if reason.starts_with("The body must not be empty") {
        format!("Required request body is missing: {reason}")
    } else {
        reason
    }
}

/// FOLIO quirk: a body that lacks properties is one error.
fn of_argument(refusals: Vec<Refusal>) -> Failure {
    if refusals.iter().all(|refusal| refusal.code != Some(RefusalCode::ConstraintNotNull)) {
        return Failure::Refused(refusals.into_iter().map(validation).collect());
    }
    let parameters: Vec<_> = refusals.iter().flat_map(|refusal| refusal.parameters.clone()).collect();
    let messages: Vec<String> = refusals
        .iter()
        .map(|refusal| {
            let field = refusal.parameters.first().map_or("", |(key, _)| key.as_str());
            format!("[{field}: {}]", refusal.message)
        })
        .collect();
    let message = format!("Validation failed for argument [0]: {}", messages.join(" "));
    validation(Refusal { parameters, ..Refusal::new(message) }).into()
}

/// The form of mod-notes, where no other is given.
fn validation(refusal: Refusal) -> Refusal {
    match refusal.code {
        Some(_) => refusal,
        None => refusal.kind("-1").code(RefusalCode::ValidationError),
    }
}

fn storage_failure(error: DatabaseError, document: &Document) -> Failure {
    let value = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    if error.is_foreign_key_violation() {
        return refusal(format!("Key (type_id)=({}) is not present in table \"type\".", value("typeId")));
    }
    if error.is_unique_violation() {
        let of_id = error.constraint.as_deref().is_some_and(|name| name.ends_with("pkey"));
        let key = if of_id { "id" } else { "name" };
        return refusal(format!("Key ({key})=({}) already exists.", value(key)));
    }
    error.into()
}

/// FOLIO quirk: 404 has the body of a refusal.
fn not_found(noun: &str, id: Uuid) -> Answer {
    let error = Refusal::new(format!("{noun} with ID [{id}] was not found"))
        .kind("-1")
        .code(RefusalCode::NotFoundError)
        .to_json();
    Answer::json(&json!({"errors": [error], "total_records": 1})).status(StatusCode::NOT_FOUND)
}
