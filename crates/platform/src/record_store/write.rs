//! Writes records: validated against the declaration, refused by constraints of the database, with their event and the
//! settings version in the same transaction.

use crate::database::{Bind, Json, Pipeline, Tx};
use crate::event::Event;
use crate::http::Caller;
use crate::node::FirstRecord;
use crate::outbox;
use crate::record_store::{Records, change_listeners, read, shape_of};
use crate::tenant::Tenant;
use carrel_records::shape::Strictness;
use carrel_records::{Failure, RecordType, Refusal, metadata};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

pub use crate::record_store::constraints::{constraint_failure, still_used, value_in_doubt};

/// The JSON object of a record.
pub type Document = Map<String, Value>;

/// A document that matches its declaration, with id and metadata, ready to be stored.
#[derive(Debug, Clone)]
pub struct Ready {
    pub id: Uuid,
    pub document: Document,
    /// The tenant's profile lets a new record replace one with its id.
    overwrites: bool,
}

/// Validates a new document and adds id, version and metadata.
pub fn prepare_new(
    record: &'static RecordType,
    mut document: Document,
    caller: &Caller,
    now: Timestamp,
) -> Result<Ready, Failure> {
    check(record, &mut document, caller)?;
    complete_new(record, document, caller, now)
}

/// Adds id, version and metadata to a validated new document.
pub fn complete_new(
    record: &RecordType,
    mut document: Document,
    caller: &Caller,
    now: Timestamp,
) -> Result<Ready, Failure> {
    let id = take_id(&mut document)?.unwrap_or_else(|| Uuid::new_v7(uuid_time(now)));
    document.insert("id".into(), id.to_string().into());
    if record.optimistic_locking {
        document.insert("_version".into(), 1.into());
    }
    if record.metadata {
        document.insert("metadata".into(), metadata::created(caller.user_id, now));
    }
    Ok(Ready { id, document, overwrites: caller.profile.post_replaces })
}

/// Validates a replacement of a stored document; sets version, id and metadata.
pub fn prepare_replacement(
    record: &'static RecordType,
    id: Uuid,
    mut document: Document,
    stored: &Value,
    caller: &Caller,
    now: Timestamp,
) -> Result<Ready, Failure> {
    check(record, &mut document, caller)?;
    complete_replacement(record, id, document, stored, caller, now)
}

/// Sets id, next version and metadata of a validated replacement.
pub fn complete_replacement(
    record: &RecordType,
    id: Uuid,
    mut document: Document,
    stored: &Value,
    caller: &Caller,
    now: Timestamp,
) -> Result<Ready, Failure> {
    // FOLIO quirk: the path identifies the record, whatever id the body has.
    document.insert("id".into(), id.to_string().into());
    if record.optimistic_locking {
        let current = stored.get("_version").and_then(Value::as_i64).unwrap_or(0);
        let sent = document.get("_version").and_then(Value::as_i64);
        // FOLIO's importers send -1 to replace any version.
        if sent != Some(current) && sent != Some(-1) && !caller.profile.unchecked_versions {
            return Err(Failure::StaleVersion(format!(
                "Cannot update record {id} because it has been changed (optimistic locking): Stored _version is {current}, _version of request is {}",
                sent.map_or_else(|| "null".to_owned(), |version| version.to_string())
            )));
        }
        document.insert("_version".into(), (current + 1).into());
    }
    if record.metadata {
        document.insert("metadata".into(), metadata::of_replacement(stored, caller.user_id, now));
    }
    Ok(Ready { id, document, overwrites: false })
}

/// Adds the statements that store a new record.
pub fn insert(
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    record: &'static RecordType,
    ready: &Ready,
    now: Timestamp,
) {
    let text = Value::Object(ready.document.clone()).to_string();
    if ready.overwrites {
        pipeline.add(
            format!(
                "INSERT INTO {} (id, doc) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET doc = $2",
                record.table
            ),
            vec![ready.id.into(), Bind::Json(text.clone())],
        );
    } else {
        insert_text(pipeline, record, ready.id, text.clone());
    }
    if let Some(topic) = record.events {
        let event = Event::created(&tenant.id, &text);
        outbox::announce(pipeline, topic, ready.id.to_string(), event.to_string(), now);
    }
}

/// Adds the statement that stores a document, without event.
pub fn insert_text(pipeline: &mut Pipeline, record: &RecordType, id: Uuid, document: String) -> usize {
    pipeline.add(
        format!("INSERT INTO {} (id, doc) VALUES ($1, $2)", record.table),
        vec![id.into(), Bind::Json(document)],
    )
}

/// Adds the statements that replace a record.
pub fn update(
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    record: &'static RecordType,
    ready: &Ready,
    stored: &Value,
    now: Timestamp,
) {
    let text = Value::Object(ready.document.clone()).to_string();
    pipeline.add(
        format!("UPDATE {} SET doc = $2 WHERE id = $1", record.table),
        vec![ready.id.into(), Bind::Json(text.clone())],
    );
    change_listeners::tell(
        pipeline,
        record.table,
        tenant,
        std::iter::once((ready.id, stored, &ready.document)),
    );
    if let Some(topic) = record.events {
        let event = Event::updated(&tenant.id, stored, &text);
        outbox::announce(pipeline, topic, ready.id.to_string(), event.to_string(), now);
    }
}

/// Inserts a record of a new tenant unless it exists.
pub fn insert_first(
    pipeline: &mut Pipeline,
    record: &'static RecordType,
    first: &FirstRecord,
    now: Timestamp,
) -> Result<(), Failure> {
    let Value::Object(document) = &first.document else {
        return Err(Failure::internal("a first record is a JSON object"));
    };
    // FOLIO's reference data has properties that its shapes do not have, so it is not validated.
    let mut ready = complete_new(record, document.clone(), &Caller::default(), now)?;
    if first.without_metadata {
        ready.document.remove("metadata");
    }
    pipeline.add(
        format!("INSERT INTO {} (id, doc) VALUES ($1, $2) ON CONFLICT DO NOTHING", record.table),
        vec![ready.id.into(), Bind::Json(Value::Object(ready.document).to_string())],
    );
    Ok(())
}

/// Stores a new record in a separate transaction; returns the stored document.
pub async fn create(
    tx: Tx,
    tenant: &Tenant,
    record: &'static RecordType,
    document: Document,
    caller: &Caller,
    now: Timestamp,
) -> Result<Ready, Failure> {
    let ready = prepare_new(record, document, caller, now)?;
    let mut pipeline = Pipeline::new();
    insert(&mut pipeline, tenant, record, &ready, now);
    tx.send_and_commit(pipeline).await.map_err(|error| constraint_failure(record, error, &ready.document))?;
    Ok(ready)
}

/// Reads and locks the stored document.
pub async fn lock(tx: &mut Tx, record: &RecordType, id: Uuid) -> Result<Option<Json>, Failure> {
    let sql = format!("SELECT doc FROM {} WHERE id = $1 FOR NO KEY UPDATE", record.table);
    let rows = tx.query(sql, vec![id.into()]).await?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// Replaces a record; `None` if there is none with the id.
pub async fn replace(
    mut tx: Tx,
    tenant: &Tenant,
    record: &'static RecordType,
    id: Uuid,
    document: Document,
    caller: &Caller,
    now: Timestamp,
) -> Result<Option<Ready>, Failure> {
    let Some(stored) = lock(&mut tx, record, id).await? else { return Ok(None) };
    let stored = stored.parse();
    let ready = prepare_replacement(record, id, document, &stored, caller, now)?;
    let mut pipeline = Pipeline::new();
    update(&mut pipeline, tenant, record, &ready, &stored, now);
    tx.send_and_commit(pipeline).await.map_err(|error| constraint_failure(record, error, &ready.document))?;
    Ok(Some(ready))
}

/// Deletes a record; false if there is none with the id.
pub async fn delete(
    mut tx: Tx,
    tenant: &Tenant,
    record: &'static RecordType,
    id: Uuid,
    all: &[&'static RecordType],
    now: Timestamp,
) -> Result<bool, Failure> {
    let sql = format!("DELETE FROM {} WHERE id = $1 RETURNING doc", record.table);
    let rows = tx.query(sql, vec![id.into()]).await.map_err(|error| still_used(record, id, all, error))?;
    let Some(row) = rows.first() else { return Ok(false) };
    let stored: Json = row.get(0);
    let mut pipeline = Pipeline::new();
    announce_delete(&mut pipeline, tenant, record, id, &stored, now);
    tx.send_and_commit(pipeline).await.map_err(|error| still_used(record, id, all, error))?;
    Ok(true)
}

/// Adds what a deletion entails: event, change listeners, and settings version.
pub fn announce_delete(
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    record: &'static RecordType,
    id: Uuid,
    stored: &Json,
    now: Timestamp,
) {
    if let Some(topic) = record.events {
        let event = Event::deleted(&tenant.id, &stored.0);
        outbox::announce(pipeline, topic, id.to_string(), event.to_string(), now);
    }
    change_listeners::tell_deleted(pipeline, record.table, tenant, vec![id]);
}

/// Deletes the records that a query finds, or all; returns their number.
pub async fn delete_matching(
    mut tx: Tx,
    tenant: &Tenant,
    record: &'static RecordType,
    query: Option<&carrel_cql::Query>,
    all: &Records,
    now: Timestamp,
) -> Result<usize, Failure> {
    let condition = read::condition(query, record, all)?;
    let table = record.table;
    let sql = format!(
        "DELETE FROM {table} gone WHERE gone.id IN (SELECT {table}.id FROM {} WHERE {}) RETURNING gone.id, gone.doc",
        read::from_sql(record),
        condition.conditions
    );
    let rows = tx
        .query(sql, read::binds(&condition.arguments))
        .await
        .map_err(|error| still_used(record, Uuid::nil(), all, error))?;
    let mut pipeline = Pipeline::new();
    if let Some(topic) = record.events {
        for row in &rows {
            let (id, stored): (Uuid, Json) = (row.get(0), row.get(1));
            let event = Event::deleted(&tenant.id, &stored.0);
            outbox::announce(&mut pipeline, topic, id.to_string(), event.to_string(), now);
        }
    }
    change_listeners::tell_deleted(&mut pipeline, table, tenant, rows.iter().map(|row| row.get(0)).collect());
    tx.send_and_commit(pipeline).await.map_err(|error| still_used(record, Uuid::nil(), all, error))?;
    Ok(rows.len())
}

/// Validates a document against the shape of its record type; fills in defaults.
pub fn check(record: &'static RecordType, document: &mut Document, caller: &Caller) -> Result<(), Failure> {
    let strictness = if caller.profile.unchecked_records { Strictness::TypesOnly } else { Strictness::Whole };
    let refusals = shape_of(record).check_as(document, strictness);
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Refused(refusals)) }
}

fn take_id(document: &mut Document) -> Result<Option<Uuid>, Failure> {
    match document.get("id") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if carrel_records::shape::is_uuid(text) => Ok(Uuid::parse_str(text).ok()),
        Some(other) => {
            let text = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            Err(Refusal::new("id must be a UUID").with("id", text).into())
        }
    }
}

/// Milliseconds of an instant as the time part of a UUIDv7.
pub fn uuid_time(now: Timestamp) -> uuid::Timestamp {
    let millis = now.as_millisecond().max(0) as u64;
    uuid::Timestamp::from_unix(uuid::NoContext, millis / 1000, ((millis % 1000) * 1_000_000) as u32)
}

/// The time of the id with this index, of at most 4,096 that are drawn at the same moment and sort in their order.
pub fn nth_uuid_time(now: Timestamp, index: usize) -> uuid::Timestamp {
    let millis = now.as_millisecond().max(0) as u64;
    let nanos = ((millis % 1000) * 1_000_000) as u32;
    uuid::Timestamp::from_unix_time(millis / 1000, nanos, (index % 4096) as u128, 12)
}
