//! The routes of plain records: those of the usual six that the route table has for the collection and that no use case
//! handles, or the two of a type with one record per tenant.

use crate::database::{Pipeline, Tx};
use crate::http::{Answer, Call, Router, handler};
use crate::record_store::{read, stream, write};
use carrel_records::{Failure, Put, RecordType, Routes};
use http::StatusCode;
use serde_json::Value;
use uuid::Uuid;

/// Connects the routes of declared records that have no handler yet.
pub fn connect(router: &mut Router, records: &[&'static RecordType]) {
    let declared = records.iter().copied();
    for record in declared.filter(|record| !record.path.is_empty() && record.routes != Routes::ByHand) {
        let collection = record.path;
        let [read, write, remove] =
            ["GET", "PUT", "DELETE"].map(|method| router.item_path(method, collection));
        let mut on = |method: &str, path: Option<&str>, handler| {
            if let Some(path) = path
                && !router.answers(method, path)
            {
                router.try_on(method, path, handler);
            }
        };
        match record.routes {
            Routes::Collection => {}
            Routes::Single => {
                on("GET", Some(collection), handler(move |call| find_single(record, call)));
                on("PUT", Some(collection), handler(move |call| replace_single(record, call)));
                continue;
            }
            // A use case handles the route, or none does.
            Routes::ByHand => continue,
        }
        on("GET", Some(collection), handler(move |call| list(record, call)));
        on("POST", Some(collection), handler(move |call| create(record, call)));
        on("DELETE", Some(collection), handler(move |call| delete_many(record, call)));
        on("GET", read, handler(move |call| find(record, call)));
        on("PUT", write, handler(move |call| replace(record, call)));
        on("DELETE", remove, handler(move |call| delete(record, call)));
    }
}

/// `GET collection`.
pub async fn list(record: &'static RecordType, call: Call) -> Result<Answer, Failure> {
    let requested = read::PageRequest::read(&call.query)?;
    stream::plain(&call, record, &requested).await
}

/// `GET collection/{id}`.
pub async fn find(record: &'static RecordType, call: Call) -> Result<Answer, Failure> {
    let id = known_id(&call)?;
    let connection = call.tenant()?.reader().await?;
    match read::find(&connection, record, id).await? {
        Some(document) => Ok(Answer::document(document)),
        None => Err(Failure::NotFound("Not found".into())),
    }
}

/// `POST collection`.
pub async fn create(record: &'static RecordType, call: Call) -> Result<Answer, Failure> {
    let document = call.object()?;
    let tenant = call.tenant()?;
    let ready =
        write::create(tenant.begin().await?, tenant, record, document, &call.caller, call.now).await?;
    Ok(created(record, &ready))
}

/// Like [`create`]; a value that another record has is 400 with its text, as in the modules of FOLIO that declare no 422.
pub async fn create_refusing_duplicates_with_400(
    record: &'static RecordType,
    call: Call,
) -> Result<Answer, Failure> {
    // Refusals of the shape stay 422.
    write::check(record, &mut call.object()?, &call.caller)?;
    create(record, call).await.map_err(|failure| match failure {
        Failure::Refused(refusals) => {
            Failure::Invalid(refusals.into_iter().map(|refusal| refusal.message).next().unwrap_or_default())
        }
        failure => failure,
    })
}

/// 201 with the stored document and its location.
pub fn created(record: &RecordType, ready: &write::Ready) -> Answer {
    Answer::created(&ready.document).location(format!("{}/{}", record.path, ready.id))
}

/// `PUT collection/{id}`.
pub async fn replace(record: &'static RecordType, call: Call) -> Result<Answer, Failure> {
    let id = known_id(&call)?;
    let document = call.object()?;
    let tenant = call.tenant()?;
    let tx = tenant.begin().await?;
    let replaced = write::replace(tx, tenant, record, id, document.clone(), &call.caller, call.now).await?;
    if replaced.is_none() {
        if record.put == Put::ReplacesOnly && !tenant.profile.put_creates {
            return Err(Failure::NotFound("Not found".into()));
        }
        let mut document = document;
        document.insert("id".into(), id.to_string().into());
        write::create(tenant.begin().await?, tenant, record, document, &call.caller, call.now).await?;
    }
    Ok(Answer::no_content())
}

/// Stores the replacement of a record that the transaction has locked.
pub async fn replace_locked(
    call: &Call,
    tx: Tx,
    record: &'static RecordType,
    id: Uuid,
    document: write::Document,
    stored: &Value,
) -> Result<Answer, Failure> {
    let ready = write::prepare_replacement(record, id, document, stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, call.tenant()?, record, &ready, stored, call.now);
    tx.send_and_commit(pipeline)
        .await
        .map_err(|error| write::constraint_failure(record, error, &ready.document))?;
    Ok(Answer::no_content())
}

/// `DELETE collection/{id}`.
pub async fn delete(record: &'static RecordType, call: Call) -> Result<Answer, Failure> {
    let id = known_id(&call)?;
    let tenant = call.tenant()?;
    let found =
        write::delete(tenant.begin().await?, tenant, record, id, &call.node.records, call.now).await?;
    if !found {
        return Err(Failure::NotFound("Not found".into()));
    }
    Ok(Answer::no_content())
}

/// `DELETE collection`: all records, or those that a query finds.
pub async fn delete_many(record: &'static RecordType, call: Call) -> Result<Answer, Failure> {
    let text = call.query.get("query").map(str::trim).filter(|text| !text.is_empty());
    // FOLIO quirk: circulation's storage empties the whole table; elsewhere an explicit query is required.
    let tenant = call.tenant()?;
    if text.is_none() && record.module != "mod-circulation-storage" && !tenant.profile.delete_without_query {
        return Err(Failure::Invalid(
            "Expected CQL but query parameter is empty. Use cql.allRecords=1 for all records".into(),
        ));
    }
    let query = text.map(read::parse).transpose()?;
    write::delete_matching(
        tenant.begin().await?,
        tenant,
        record,
        query.as_ref(),
        &call.node.records,
        call.now,
    )
    .await?;
    Ok(Answer::no_content().status(StatusCode::NO_CONTENT))
}

/// `GET path` of a type with one record per tenant.
pub async fn find_single(record: &'static RecordType, call: Call) -> Result<Answer, Failure> {
    let connection = call.tenant()?.reader().await?;
    match read::single(&connection, record).await? {
        Some(document) => Ok(Answer::document(document)),
        None => Err(Failure::NotFound("Not found".into())),
    }
}

/// `PUT path` of a type with one record per tenant.
pub async fn replace_single(record: &'static RecordType, call: Call) -> Result<Answer, Failure> {
    let document = call.object()?;
    let tenant = call.tenant()?;
    let stored = read::single(&tenant.writer().await?, record).await?;
    let id = stored.and_then(|stored| uuid::Uuid::parse_str(stored.parse().get("id")?.as_str()?).ok());
    let tx = tenant.begin().await?;
    match id {
        Some(id) => {
            write::replace(tx, tenant, record, id, document, &call.caller, call.now).await?;
        }
        None => {
            // A fixed id, so that two concurrent first writes do not create two records.
            let id = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, record.path.as_bytes());
            let mut document = document;
            document.insert("id".into(), id.to_string().into());
            write::create(tx, tenant, record, document, &call.caller, call.now).await?;
        }
    }
    Ok(Answer::no_content())
}

/// The id in the path; a text that is not a UUID is no record's id, and FOLIO's modules answer 404 or 400 to it.
fn known_id(call: &Call) -> Result<uuid::Uuid, Failure> {
    let place = call.parameters.len().saturating_sub(1);
    call.id(place)
}
