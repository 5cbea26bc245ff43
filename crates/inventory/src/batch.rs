//! Requests and answers that instances, holdings records and items share: single records, batches, patches, queries in
//! a body.

use crate::store::WriteMode;
use carrel_platform::record_store::read::{self, Count, PageRequest};
use carrel_platform::record_store::stream;
use carrel_platform::record_store::write::Document;
use carrel_platform::{Answer, Call};
use carrel_records::{Failure, RecordType};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

/// The documents of a batch and how they are written.
pub fn read_batch(
    record: &RecordType,
    call: &Call,
    checks_versions: bool,
) -> Result<(Vec<Document>, WriteMode), Failure> {
    let mut body = call.object()?;
    let Some(Value::Array(documents)) = body.remove(record.collection) else {
        return Err(Failure::Invalid(format!("The body must hold an array \"{}\"", record.collection)));
    };
    let documents = documents
        .into_iter()
        .map(|document| match document {
            Value::Object(document) => Ok(document),
            _ => Err(Failure::Invalid(format!("\"{}\" must hold JSON objects", record.collection))),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mode = match call.query.get("upsert") {
        Some("true") if checks_versions => WriteMode::Upsert,
        Some("true") => WriteMode::UpsertUnchecked,
        _ => WriteMode::Create,
    };
    Ok((documents, mode))
}

/// 201 without a body, for a stored batch.
pub fn batch_created() -> Answer {
    Answer::text(StatusCode::CREATED, "")
}

/// 201 with the only record and its location.
pub fn created(record: &RecordType, stored: Vec<Document>) -> Result<Answer, Failure> {
    let document =
        stored.into_iter().next().ok_or_else(|| Failure::internal("one record is stored as one"))?;
    let id = document.get("id").and_then(Value::as_str).unwrap_or_default();
    Ok(Answer::created(&document).location(format!("{}/{id}", record.path)))
}

/// The body of a PUT, with the id of the path.
pub fn body_with_path_id(call: &Call) -> Result<Document, Failure> {
    let id = call.id(0)?;
    let mut document = call.object()?;
    document.insert("id".into(), id.to_string().into());
    Ok(document)
}

/// The query of a deletion; `None` deletes all records, which needs an explicit query.
pub fn deletion_query(call: &Call) -> Result<Option<carrel_cql::Query>, Failure> {
    let text = call.query.get("query").map(str::trim).filter(|text| !text.is_empty());
    if text.is_none() && !call.tenant()?.profile.delete_without_query {
        return Err(Failure::Invalid("Expected CQL but query parameter is empty".into()));
    }
    text.map(read::parse).transpose()
}

#[derive(Deserialize)]
struct Retrieval {
    query: Option<String>,
    offset: Option<u32>,
    limit: Option<u32>,
}

/// Query, limit and offset from a body, for queries that are too long for a path.
pub fn read_body_query(call: &Call) -> Result<PageRequest, Failure> {
    let Retrieval { query, offset, limit } = call.read_json()?;
    let query =
        query.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(read::parse).transpose()?;
    Ok(PageRequest {
        query,
        limit: limit.unwrap_or(10).into(),
        offset: offset.unwrap_or(0).into(),
        count: Count::Wanted,
    })
}

/// Answers a query in a body with a page of records.
pub async fn retrieve(record: &'static RecordType, call: Call) -> Result<Answer, Failure> {
    let requested = read_body_query(&call)?;
    stream::plain(&call, record, &requested).await
}

/// Reads the record and applies a patch to it; `null` removes a property.
pub async fn read_and_patch(
    record: &'static RecordType,
    call: &Call,
    patch: Document,
) -> Result<Document, Failure> {
    let id = call.id(0)?;
    let connection = call.tenant()?.writer().await?;
    let stored = read::find(&connection, record, id).await?;
    let Some(Value::Object(stored)) = stored.map(|stored| stored.parse()) else {
        return Err(Failure::NotFound("Not found".into()));
    };
    Ok(merge_patch(stored, patch, id))
}

/// Applies a patch to a document.
pub fn merge_patch(mut stored: Document, patch: Document, id: Uuid) -> Document {
    for (name, value) in patch {
        crate::fields::set(&mut stored, &name, Some(value).filter(|value| !value.is_null()));
    }
    stored.insert("id".into(), id.to_string().into());
    stored
}
