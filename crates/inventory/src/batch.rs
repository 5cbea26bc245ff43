//! How instances, holdings records and items come and go over HTTP: one, many, or by a query in the body.

use crate::store::How;
use carrel_platform::record_store::read::{self, Asked, Count};
use carrel_platform::record_store::stream;
use carrel_platform::record_store::write::Document;
use carrel_platform::{Answer, Call};
use carrel_records::{Failure, RecordType};
use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

/// The documents of a batch and what is to be done with them.
pub fn asked(
    record: &RecordType,
    call: &Call,
    checks_versions: bool,
) -> Result<(Vec<Document>, How), Failure> {
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
    let how = match call.query.get("upsert") {
        Some("true") if checks_versions => How::Upsert,
        Some("true") => How::UpsertUnchecked,
        _ => How::Create,
    };
    Ok((documents, how))
}

/// 201 without a body: a batch is stored.
pub fn stored() -> Answer {
    Answer::text(StatusCode::CREATED, "")
}

/// 201 with the one record and its address.
pub fn created(record: &RecordType, stored: Vec<Document>) -> Result<Answer, Failure> {
    let document =
        stored.into_iter().next().ok_or_else(|| Failure::internal("one record is stored as one"))?;
    let id = document.get("id").and_then(Value::as_str).unwrap_or_default();
    Ok(Answer::created(&document).location(format!("{}/{id}", record.path)))
}

/// The body of a PUT; the address says which record it is.
pub fn addressed(call: &Call) -> Result<Document, Failure> {
    let id = call.id(0)?;
    let mut document = call.object()?;
    document.insert("id".into(), id.to_string().into());
    Ok(document)
}

/// The query of a deletion; none means all, which must be said.
pub fn what_to_delete(call: &Call) -> Result<Option<carrel_cql::Query>, Failure> {
    let text = call.query.get("query").map(str::trim).filter(|text| !text.is_empty());
    if text.is_none() && !call.tenant()?.lenient {
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

/// What a collection is asked for in a body, for queries that are too long for an address.
pub fn asked_in_body(call: &Call) -> Result<Asked, Failure> {
    let Retrieval { query, offset, limit } = call.read_json()?;
    let query =
        query.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(read::parse).transpose()?;
    Ok(Asked {
        query,
        limit: limit.unwrap_or(10).into(),
        offset: offset.unwrap_or(0).into(),
        count: Count::Wanted,
    })
}

/// A page of what a body asks for.
pub async fn retrieve(record: &'static RecordType, call: Call) -> Result<Answer, Failure> {
    let asked = asked_in_body(&call)?;
    stream::plain(&call, record, &asked).await
}

/// The stored record with the properties of a patch in place of its own; `null` takes a property out.
pub async fn patched(record: &'static RecordType, call: &Call, patch: Document) -> Result<Document, Failure> {
    let id = call.id(0)?;
    let connection = call.tenant()?.writer().await?;
    let stored = read::find(&connection, record, id).await?;
    let Some(Value::Object(stored)) = stored.map(|stored| stored.parse()) else {
        return Err(Failure::NotFound("Not found".into()));
    };
    Ok(merged(stored, patch, id))
}

/// The one document in the other.
pub fn merged(mut stored: Document, patch: Document, id: Uuid) -> Document {
    for (name, value) in patch {
        crate::fields::set(&mut stored, &name, Some(value).filter(|value| !value.is_null()));
    }
    stored.insert("id".into(), id.to_string().into());
    stored
}
