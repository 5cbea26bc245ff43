//! Writes instances, holdings records and items, at most ten thousand at a time: ids, HRIDs, versions, length of notes,
//! violated constraints, statements and events.

use crate::fields::{filled, id};
use carrel_platform::database::{DatabaseError, Json, Tx};
use carrel_platform::http::Caller;
use carrel_platform::record_store::change_listeners;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::{Bind, Event, Pipeline, Tenant, event};
use carrel_records::{Failure, RecordType, Refusal};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// The most records of one request; FOLIO refuses more as well.
pub const MOST_RECORDS: usize = 10_000;
const LONGEST_NOTE: usize = 32_000;

/// How records are written whose ids may be stored already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// None of the ids may be stored.
    Create,
    /// Stored records are replaced if the versions match.
    Upsert,
    /// Stored records are replaced whatever their versions.
    UpsertUnchecked,
    /// The only record must be stored.
    Replace,
}

impl WriteMode {
    /// The mode for one new record by the tenant's profile.
    pub fn create_in(tenant: &carrel_platform::Tenant) -> WriteMode {
        if tenant.profile.post_replaces { WriteMode::UpsertUnchecked } else { WriteMode::Create }
    }
}

/// A validated record of a request.
#[derive(Debug)]
pub struct Incoming {
    pub id: Uuid,
    pub document: Document,
    hrid_is_ours: bool,
}

/// A record to be stored, as clients will see it.
#[derive(Debug)]
pub struct Change {
    pub id: Uuid,
    pub new: Document,
    /// The stored record, as clients see it.
    pub old: Option<Value>,
}

impl Incoming {
    pub fn has_no_hrid(&self) -> bool {
        filled(&self.document, "hrid").is_none()
    }
    pub fn give_hrid(&mut self, hrid: String) {
        self.document.insert("hrid".into(), hrid.into());
        self.hrid_is_ours = true;
    }
}

/// Validates the documents and assigns missing ids.
pub fn validate(
    record: &'static RecordType,
    documents: Vec<Document>,
    caller: &Caller,
    now: Timestamp,
) -> Result<Vec<Incoming>, Failure> {
    if documents.len() > MOST_RECORDS {
        return Err(Failure::TooLarge(format!(
            "Expected a maximum of {MOST_RECORDS} records to prevent out of memory but got {}",
            documents.len()
        )));
    }
    let many = documents.len() > 1;
    let mut ids = HashSet::with_capacity(documents.len());
    let mut incoming = Vec::with_capacity(documents.len());
    for (index, mut document) in documents.into_iter().enumerate() {
        write::check(record, &mut document, caller)
            .and_then(|()| refuse_if_note_is_too_long(&document))
            .map_err(|failure| if many { with_index(failure, record, index) } else { failure })?;
        let id = id(&document, "id").unwrap_or_else(|| Uuid::new_v7(write::uuid_time(now)));
        if !ids.insert(id) {
            return Err(already_exists(record, id));
        }
        incoming.push(Incoming { id, document, hrid_is_ours: false });
    }
    Ok(incoming)
}

/// Decides for each record whether it is new or a replacement; sets version and metadata.
pub fn prepare(
    record: &'static RecordType,
    incoming: Vec<Incoming>,
    stored: &mut HashMap<Uuid, Value>,
    mode: WriteMode,
    caller: &Caller,
    now: Timestamp,
) -> Result<Vec<Change>, Failure> {
    let mut changes = Vec::with_capacity(incoming.len());
    for Incoming { id, mut document, hrid_is_ours } in incoming {
        let old = stored.remove(&id);
        let ready = match &old {
            None if mode == WriteMode::Replace => return Err(Failure::NotFound("Not found".into())),
            None => write::complete_new(record, with_id(document, id), caller, now)?,
            Some(old) => {
                match mode {
                    WriteMode::Create => return Err(already_exists(record, id)),
                    WriteMode::UpsertUnchecked => {
                        document.insert("_version".into(), (-1).into());
                    }
                    // FOLIO quirk: here -1 does not skip the comparison of versions, as it does for other records.
                    WriteMode::Upsert | WriteMode::Replace => {
                        if document.get("_version").and_then(Value::as_i64) == Some(-1) {
                            document.remove("_version");
                        }
                    }
                }
                keep_hrid(&mut document, old, mode, hrid_is_ours, caller)?;
                write::complete_replacement(record, id, document, old, caller, now)?
            }
        };
        changes.push(Change { id, new: ready.document, old });
    }
    Ok(changes)
}

fn with_id(mut document: Document, id: Uuid) -> Document {
    document.insert("id".into(), id.to_string().into());
    document
}

fn keep_hrid(
    document: &mut Document,
    old: &Value,
    mode: WriteMode,
    hrid_is_ours: bool,
    caller: &Caller,
) -> Result<(), Failure> {
    let (stored, sent) = (old.get("hrid"), document.get("hrid"));
    if mode == WriteMode::Replace && !caller.profile.stored_as_sent && stored != sent {
        let text = |hrid: Option<&Value>| hrid.and_then(Value::as_str).unwrap_or("null").to_owned();
        return Err(Failure::Invalid(format!(
            "The hrid field cannot be changed: new={}, old={}",
            text(sent),
            text(stored)
        )));
    }
    if hrid_is_ours && let Some(stored) = stored {
        document.insert("hrid".into(), stored.clone());
    }
    Ok(())
}

fn refuse_if_note_is_too_long(document: &Document) -> Result<(), Failure> {
    let notes = |name: &str| document.get(name).and_then(Value::as_array).into_iter().flatten();
    let administrative = notes("administrativeNotes").map(|note| ("administrativeNotes", note.as_str()));
    let others = notes("notes").map(|note| ("notes", note.get("note").and_then(Value::as_str)));
    for (name, note) in administrative.chain(others) {
        if let Some(note) = note.filter(|note| note.len() > LONGEST_NOTE)
            && note.encode_utf16().count() > LONGEST_NOTE
        {
            return Err(Refusal::new("A note has exceeded the 32,000 character limit.")
                .with(name, note)
                .of_storage()
                .into());
        }
    }
    Ok(())
}

fn already_exists(record: &RecordType, id: Uuid) -> Failure {
    Refusal::new(format!("id value already exists in table {}: {id}", record.table))
        .with("id", id.to_string())
        .of_storage()
        .into()
}

/// Adds the record's index to the refusals of a batch.
fn with_index(failure: Failure, record: &RecordType, index: usize) -> Failure {
    let Failure::Refused(mut refusals) = failure else { return failure };
    for (key, _) in refusals.iter_mut().flat_map(|refusal| refusal.parameters.iter_mut()) {
        *key = format!("{}[{index}].{key}", record.collection);
    }
    Failure::Refused(refusals)
}

/// Turns a violated constraint into FOLIO's refusal, with the value of the record that violated it.
pub fn constraint_failure<'d>(
    record: &RecordType,
    error: DatabaseError,
    documents: impl Iterator<Item = &'d Document> + Clone,
) -> Failure {
    let value = write::value_in_doubt(&error).unwrap_or_default();
    let value = value.split(')').next().unwrap_or_default().to_lowercase();
    let holds = |document: &&Document| {
        document.values().any(|property| property.as_str().is_some_and(|text| text.to_lowercase() == value))
    };
    let nothing = Document::new();
    let culprit = documents.clone().find(holds).or_else(|| documents.clone().next()).unwrap_or(&nothing);
    match write::constraint_failure(record, error, culprit) {
        Failure::Refused(mut refusals) => {
            for refusal in &mut refusals {
                refusal.message =
                    refusal.message.replace("lower(f_unaccent(jsonb ->> 'hrid'::text))", "HRID");
            }
            Failure::Refused(refusals)
        }
        other => other,
    }
}

/// Turns a refusal into plain text under 400, for routes where FOLIO does so.
pub fn in_plain_text(failure: Failure) -> Failure {
    match failure {
        Failure::Refused(refusals) => {
            let messages: Vec<String> = refusals.into_iter().map(|refusal| refusal.message).collect();
            Failure::Invalid(messages.join("; "))
        }
        other => other,
    }
}

/// Reads and locks the stored records with these ids.
pub async fn lock(tx: &mut Tx, record: &RecordType, ids: Vec<Uuid>) -> Result<HashMap<Uuid, Value>, Failure> {
    let sql =
        format!("SELECT id, doc FROM {} WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE", record.table);
    let rows = tx.query(sql, vec![ids.into()]).await?;
    Ok(rows.iter().map(|row| (row.get("id"), row.get::<_, Json>("doc").parse())).collect())
}

/// Adds the statements that store the changes, the marks for change listeners and the events.
pub fn store(
    pipeline: &mut Pipeline,
    record: &RecordType,
    tenant: &Tenant,
    changes: &[Change],
    topic: &'static str,
    now: Timestamp,
) {
    let (mut inserted, mut updated, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for change in changes {
        let text = Value::Object(change.new.clone()).to_string();
        events.push(RecordEvent {
            id: change.id,
            old: change.old.as_ref().map(Value::to_string),
            new: Some(text.clone()),
        });
        if change.old.is_none() { inserted.push((change.id, text)) } else { updated.push((change.id, text)) }
    }
    insert(pipeline, record.table, inserted);
    update(pipeline, record.table, updated);
    announce(pipeline, topic, &tenant.id, events, now);
    mark_for_listeners(pipeline, record.table, tenant, changes);
}

/// The event of one record: its documents as JSON text.
pub struct RecordEvent {
    pub id: Uuid,
    pub old: Option<String>,
    pub new: Option<String>,
}

/// Adds one statement for all events, in FOLIO's form.
pub fn announce(
    pipeline: &mut Pipeline,
    topic: &'static str,
    tenant: &str,
    events: impl IntoIterator<Item = RecordEvent>,
    now: Timestamp,
) {
    let (mut keys, mut payloads) = (Vec::new(), Vec::new());
    for RecordEvent { id, old, new } in events {
        keys.push(id.to_string());
        let [old, new] = [&old, &new].map(|document| document.as_ref().map(|text| text as event::Document));
        payloads.push(Event::between(tenant, old, new).to_string());
    }
    if keys.is_empty() {
        return;
    }
    pipeline.add(
        "INSERT INTO outbox (topic, key, payload, created)
         SELECT $1, event.key, event.payload::json, $4 FROM unnest($2::text[], $3::text[]) AS event (key, payload)",
        vec![topic.into(), keys.into(), Bind::Jsons(payloads), now.into()],
    );
}

/// Adds the marks for change listeners.
pub fn mark_for_listeners(pipeline: &mut Pipeline, table: &str, tenant: &Tenant, changes: &[Change]) {
    let changed = changes.iter().filter_map(|change| Some((change.id, change.old.as_ref()?, &change.new)));
    change_listeners::tell(pipeline, table, tenant, changed);
}

/// Adds the statement that stores new documents.
pub fn insert(pipeline: &mut Pipeline, table: &str, rows: Vec<(Uuid, String)>) {
    if rows.is_empty() {
        return;
    }
    let (ids, documents): (Vec<Uuid>, Vec<String>) = rows.into_iter().unzip();
    pipeline.add(
        format!(
            "INSERT INTO {table} (id, doc)
             SELECT one.id, one.doc::jsonb FROM unnest($1::uuid[], $2::text[]) AS one (id, doc)"
        ),
        vec![ids.into(), Bind::Jsons(documents)],
    );
}

/// Adds the statement that replaces stored documents.
pub fn update(pipeline: &mut Pipeline, table: &str, rows: Vec<(Uuid, String)>) {
    if rows.is_empty() {
        return;
    }
    let (ids, documents): (Vec<Uuid>, Vec<String>) = rows.into_iter().unzip();
    pipeline.add(
        format!(
            "UPDATE {table} SET doc = one.doc::jsonb
             FROM unnest($1::uuid[], $2::text[]) AS one (id, doc) WHERE {table}.id = one.id"
        ),
        vec![ids.into(), Bind::Jsons(documents)],
    );
}
