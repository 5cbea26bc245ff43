//! Many instances in one request, each in a separate transaction: failures are reported, the others are stored.

use super::facts;
use super::related::refuse_if_unconnected_title_has_no_name;
use super::route::store;
use crate::fields::{filled, id};
use crate::records::instances::INSTANCE;
use crate::store::{MOST_RECORDS, WriteMode};
use carrel_platform::http::pretty;
use carrel_platform::record_store::read;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::{Answer, Call};
use carrel_records::Failure;
use http::StatusCode;
use serde_json::{Value, json};
use std::collections::HashMap;
use uuid::Uuid;

/// `POST /inventory/instances/batch`.
pub async fn create(call: Call) -> Result<Answer, Failure> {
    let Some(Value::Array(instances)) = call.object()?.remove("instances") else {
        return Err(Failure::Invalid("The body must hold an array \"instances\"".into()));
    };
    if instances.len() > MOST_RECORDS {
        return Err(Failure::TooLarge(format!(
            "Expected a maximum of {MOST_RECORDS} records to prevent out of memory but got {}",
            instances.len()
        )));
    }
    let (mut stored, mut errors) = (Vec::new(), Vec::new());
    for instance in instances {
        let Value::Object(mut view) = instance else {
            return Err(Failure::Invalid("\"instances\" must hold JSON objects".into()));
        };
        let faults = faults(&view);
        if !faults.is_empty() {
            errors.push(format!("Instance is not valid for further processing: [{}]", faults.join(", ")));
            continue;
        }
        let id = id(&view, "id").unwrap_or_else(|| Uuid::new_v7(write::uuid_time(call.now)));
        view.insert("id".into(), id.to_string().into());
        match store(&call, id, view, WriteMode::Create).await {
            Ok(()) => stored.push(id),
            // The cause of an internal error is not shown to clients.
            Err(failure @ Failure::Internal { .. }) => return Err(failure),
            Err(failure) => errors.push(in_words(failure)),
        }
    }
    // FOLIO answers 500 if no instance could be stored.
    let status = if stored.is_empty() { StatusCode::BAD_REQUEST } else { StatusCode::CREATED };
    let views = views(&call, stored).await?;
    let body = json!({"instances": views, "errorMessages": errors, "totalRecords": views.len()});
    Ok(Answer::json_bytes(pretty(&body)).status(status))
}

fn faults(view: &Document) -> Vec<String> {
    let mut faults = Vec::new();
    if filled(view, "title").is_none() {
        let id = filled(view, "id").unwrap_or("null");
        faults.push(format!("Title must be provided for an instance: {id}"));
    }
    if let Err(failure) = refuse_if_unconnected_title_has_no_name(view) {
        faults.push(in_words(failure));
    }
    faults
}

fn in_words(failure: Failure) -> String {
    match failure {
        Failure::Refused(refusals) => {
            refusals.into_iter().map(|refusal| refusal.message).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}

/// The stored instances, in the order of the request.
async fn views(call: &Call, ids: Vec<Uuid>) -> Result<Vec<Document>, Failure> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let page = format!("FROM {} WHERE instance.id = ANY($1)", read::from_sql(&INSTANCE));
    let connection = call.tenant()?.writer().await?;
    let rows = connection.query(facts::select(&page), vec![ids.clone().into()]).await?;
    let mut views: HashMap<Uuid, Document> =
        rows.iter().map(facts::view).filter_map(|view| Some((id(&view, "id")?, view))).collect();
    Ok(ids.iter().filter_map(|id| views.remove(id)).collect())
}
