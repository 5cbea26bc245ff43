//! Documents that a public test suite writes to a simulated module in order to read them back later, by kind and id.
//! id. Only tenants with stand-ins have any.

use crate::http::{Answer, Call};
use crate::record_store::write::uuid_time;
use crate::tenant::Tenant;
use crate::{Bind, Json, Pipeline};
use carrel_records::Failure;
use serde_json::{Map, Value};
use uuid::Uuid;

/// Stores the body under its id, or a new one; 201 with the document. The settings version is incremented, since
/// decisions may depend on it.
pub async fn keep(call: &Call, kind: &'static str) -> Result<Answer, Failure> {
    keep_document(call, kind, call.object()?).await
}

/// Stores the body under the id in the path; 204.
pub async fn keep_addressed(call: &Call, kind: &'static str) -> Result<Answer, Failure> {
    let mut document = call.object()?;
    document.insert("id".into(), call.id(0)?.to_string().into());
    keep_document(call, kind, document).await?;
    Ok(Answer::no_content())
}

async fn keep_document(
    call: &Call,
    kind: &'static str,
    mut document: Map<String, Value>,
) -> Result<Answer, Failure> {
    let id = match document.get("id").and_then(Value::as_str) {
        Some(text) => {
            Uuid::parse_str(text).map_err(|_| Failure::Invalid(format!("'{text}' is not a UUID")))?
        }
        None => Uuid::new_v7(uuid_time(call.now)),
    };
    document.insert("id".into(), id.to_string().into());
    let mut pipeline = Pipeline::new();
    pipeline.add(
        "INSERT INTO stand_in (kind, id, doc) VALUES ($1, $2, $3) ON CONFLICT (kind, id) DO UPDATE SET doc = $3",
        vec![kind.into(), id.into(), Bind::Json(Value::Object(document.clone()).to_string())],
    );
    let tenant = call.tenant()?;
    tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(Answer::created(&document))
}

/// All documents of a kind, in the order of their ids.
pub async fn kept(tenant: &Tenant, kind: &'static str) -> Result<Vec<Value>, Failure> {
    let connection = tenant.writer().await?;
    let rows =
        connection.query("SELECT doc FROM stand_in WHERE kind = $1 ORDER BY id", vec![kind.into()]).await?;
    Ok(rows.iter().map(|row| row.get::<_, Json>(0).parse()).collect())
}

/// Deletes all documents of a kind.
pub async fn forget(call: &Call, kind: &'static str) -> Result<Answer, Failure> {
    let mut pipeline = Pipeline::new();
    pipeline.add("DELETE FROM stand_in WHERE kind = $1", vec![kind.into()]);
    let tenant = call.tenant()?;
    tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}
