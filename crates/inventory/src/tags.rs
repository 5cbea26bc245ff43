//! Tags: the labels that staff can attach to records.
//!
//! Routes: `/tags` and `/tags/{id}`. Changes the list of tags only: as in FOLIO, renaming or deleting a tag does not
//! change the records with its label.

use crate::records::tags::TAG;
use carrel_platform::record_store::{read, routes as plain, write};
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, Refusal, RefusalCode};
use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("GET", "/tags", list);
    router.on("POST", "/tags", create);
    router.on("GET", "/tags/{id}", find);
    router.on("PUT", "/tags/{id}", replace);
    router.on("DELETE", "/tags/{id}", delete);
}

/// The tags of a new tenant.
pub fn first_records() -> Vec<(String, Value)> {
    let id = |label: &str| Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("carrel:tag:{label}").as_bytes());
    let tag = |tag| (TAG.path.to_owned(), tag);
    vec![
        tag(json!({"id": id("important"), "label": "important"})),
        tag(json!({"id": id("urgent"), "label": "urgent", "description": "Requires urgent attention"})),
    ]
}

/// FOLIO quirk: the default limit is a thousand, and a limit of zero is refused.
async fn list(call: Call) -> Result<Answer, Failure> {
    let limit = call.query.number("limit", 1000, 1, i64::from(i32::MAX));
    let requested = match (read::PageRequest::read(&call.query), limit) {
        (Ok(requested), Ok(limit)) => read::PageRequest { limit, ..requested },
        (Err(Failure::Invalid(message)), _) | (_, Err(Failure::Invalid(message))) => {
            return Ok(unprocessable(&message));
        }
        (Err(failure), _) | (_, Err(failure)) => return Err(failure),
    };
    let connection = call.tenant()?.reader().await?;
    let page = read::list(&connection, &TAG, &call.node.records, &requested).await?;
    Ok(Answer::json_bytes(page.to_bytes(&TAG)))
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let mut document = call.object()?;
    // FOLIO quirk: mod-tags ignores the client's id and assigns one.
    document.remove("id");
    let label = label_of(&document);
    let tenant = call.tenant()?;
    let ready = write::prepare_new(&TAG, document, &call.caller, call.now).map_err(in_the_form_of_tags)?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &TAG, &ready, call.now);
    match tenant.begin().await?.send_and_commit(pipeline).await {
        Ok(_) => Ok(plain::created(&TAG, &ready)),
        Err(error) => {
            Err(refuse_taken_label(write::constraint_failure(&TAG, error, &ready.document), &label))
        }
    }
}

async fn find(call: Call) -> Result<Answer, Failure> {
    let Ok(id) = call.id(0) else { return Ok(malformed_id(&call)) };
    let connection = call.tenant()?.reader().await?;
    match read::find(&connection, &TAG, id).await? {
        Some(document) => Ok(Answer::document(document)),
        None => Ok(not_found(id)),
    }
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let Ok(id) = call.id(0) else { return Ok(malformed_id(&call)) };
    let mut document = call.object()?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(stored) = write::lock(&mut tx, &TAG, id).await? else { return Ok(not_found(id)) };
    let stored = stored.parse();
    // FOLIO quirk: a description that is not sent is kept.
    if document.get("description").is_none_or(Value::is_null)
        && let Some(description) = stored.get("description")
    {
        document.insert("description".into(), description.clone());
    }
    let label = label_of(&document);
    let ready = write::prepare_replacement(&TAG, id, document, &stored, &call.caller, call.now)
        .map_err(in_the_form_of_tags)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &TAG, &ready, &stored, call.now);
    match tx.send_and_commit(pipeline).await {
        Ok(_) => Ok(Answer::no_content()),
        Err(error) => {
            Err(refuse_taken_label(write::constraint_failure(&TAG, error, &ready.document), &label))
        }
    }
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let Ok(id) = call.id(0) else { return Ok(malformed_id(&call)) };
    let tenant = call.tenant()?;
    let found = write::delete(tenant.begin().await?, tenant, &TAG, id, &call.node.records, call.now).await?;
    Ok(if found { Answer::no_content() } else { not_found(id) })
}

fn label_of(document: &write::Document) -> String {
    document.get("label").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Only the label is unique, so a refusal by the database means that another tag has the label.
fn refuse_taken_label(failure: Failure, label: &str) -> Failure {
    match failure {
        Failure::Refused(_) => refusal(Refusal::new(format!("Key (label)=({label}) already exists."))).into(),
        failure => failure,
    }
}

fn in_the_form_of_tags(failure: Failure) -> Failure {
    match failure {
        Failure::Refused(refusals) => Failure::Refused(refusals.into_iter().map(refusal).collect()),
        failure => failure,
    }
}

fn refusal(refusal: Refusal) -> Refusal {
    refusal.kind("-1").code(RefusalCode::ValidationError)
}

fn malformed_id(call: &Call) -> Answer {
    unprocessable(&format!("'{}' is not a UUID", call.parameter(0)))
}

fn unprocessable(message: &str) -> Answer {
    error(StatusCode::UNPROCESSABLE_ENTITY, message, "VALIDATION_ERROR")
}

fn not_found(id: Uuid) -> Answer {
    error(StatusCode::NOT_FOUND, &format!("Tag with id [{id}] was not found"), "NOT_FOUND_ERROR")
}

fn error(status: StatusCode, message: &str, code: &str) -> Answer {
    Answer::json(&json!({"errors": [{"message": message, "type": "-1", "code": code}]})).status(status)
}
