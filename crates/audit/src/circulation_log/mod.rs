//! The circulation log: actions on loans, requests, fees/fines, notices and blocks, with time and user.
//!
//! Route: `GET /audit-data/circulation/logs`. A decision returns an entry as a value; [`write()`] adds it to the
//! pipeline of the action, so the entry commits with its action and costs no round trip. Erasure removes the patron
//! from the entries of an anonymized loan or request.

mod action;
pub mod description;
mod erasure;

pub use action::{Action, LogObject};
pub use erasure::{forget_loans, forget_request, forgetting_loans};

use crate::records::LOG_RECORD;
use carrel_platform::record_store::routes;
use carrel_platform::record_store::write::nth_uuid_time;
use carrel_platform::{Bind, Pipeline, Router, RowChange};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/audit-data/circulation/logs", |call| routes::list(&LOG_RECORD, call));
}

/// An entry of the log. Parts that are unknown stay empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    pub object: LogObject,
    pub action: Action,
    pub patron: LoggedPatron,
    /// The items concerned: usually one, several for a notice about several loans, none for a block.
    pub items: Vec<LoggedItem>,
    pub source: Source,
    pub service_point: Option<Uuid>,
    /// One of [`description`]'s texts.
    pub description: Option<String>,
    pub links: Links,
}

/// Who acted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Source {
    #[default]
    Unknown,
    /// A job of the server: `System`.
    System,
    /// A user, shown by name.
    User(Uuid),
    /// A name given by another program.
    Named(String),
}

impl From<Option<Uuid>> for Source {
    fn from(user: Option<Uuid>) -> Source {
        user.map_or(Source::Unknown, Source::User)
    }
}

/// The patron whose loan, request or fee/fine it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggedPatron {
    pub id: Option<Uuid>,
    pub barcode: Option<String>,
}

/// An item, and the loan of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggedItem {
    pub id: Option<Uuid>,
    pub barcode: Option<String>,
    pub holdings: Option<Uuid>,
    pub instance: Option<Uuid>,
    pub loan: Option<Uuid>,
}

/// Other records that an entry refers to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Links {
    pub request: Option<Uuid>,
    pub fee_fine: Option<Uuid>,
    pub template: Option<Uuid>,
    pub notice_policy: Option<Uuid>,
}

impl LogEntry {
    pub fn new(object: LogObject, action: Action) -> LogEntry {
        LogEntry {
            object,
            action,
            patron: LoggedPatron::default(),
            items: Vec::new(),
            source: Source::default(),
            service_point: None,
            description: None,
            links: Links::default(),
        }
    }
}

/// Adds an entry to the pipeline of the action that it reports.
pub fn write(pipeline: &mut Pipeline, entry: &LogEntry, now: Timestamp) {
    pipeline.change_row(&ENTRY, columns(entry, 0, now));
}

/// Adds the entries of one action, whose ids are in their order.
pub fn write_all(pipeline: &mut Pipeline, entries: &[LogEntry], now: Timestamp) {
    for (index, entry) in entries.iter().enumerate() {
        pipeline.change_row(&ENTRY, columns(entry, index, now));
    }
}

/// [`write()`] for an action that has only the ids of patron and item: the statement that writes the entry reads
/// barcodes, holdings record and instance.
pub fn write_looking_up(pipeline: &mut Pipeline, entry: &LogEntry, now: Timestamp) {
    pipeline.change(LOOKING_UP, columns(entry, 0, now));
}

fn columns(entry: &LogEntry, index: usize, now: Timestamp) -> Vec<Bind> {
    let nothing = LoggedItem::default();
    let item = entry.items.first().unwrap_or(&nothing);
    let (by, source) = match &entry.source {
        Source::Unknown => (None, None),
        Source::System => (None, Some("System".to_owned())),
        Source::User(id) => (Some(*id), None),
        Source::Named(name) => (None, Some(name.clone())),
    };
    vec![
        Uuid::new_v7(nth_uuid_time(now, index)).into(),
        now.into(),
        entry.object.name().into(),
        entry.action.name().into(),
        entry.patron.id.into(),
        entry.patron.barcode.clone().into(),
        item.id.into(),
        item.barcode.clone().into(),
        item.holdings.into(),
        item.instance.into(),
        item.loan.into(),
        entry.links.request.into(),
        entry.service_point.into(),
        by.into(),
        source.into(),
        entry.description.clone().into(),
        Bind::Json(rest(entry)),
    ]
}

/// The document of an entry: the values without a column.
fn rest(entry: &LogEntry) -> String {
    let mut rest = Map::new();
    let more: Vec<Value> = entry.items.iter().skip(1).map(LoggedItem::document).collect();
    if !more.is_empty() {
        rest.insert("items".into(), more.into());
    }
    let mut links = Map::new();
    let Links { request: _, fee_fine, template, notice_policy } = entry.links;
    for (name, id) in [("feeFineId", fee_fine), ("templateId", template), ("noticePolicyId", notice_policy)] {
        if let Some(id) = id {
            links.insert(name.into(), json!(id));
        }
    }
    if !links.is_empty() {
        rest.insert("links".into(), links.into());
    }
    Value::Object(rest).to_string()
}

impl LoggedItem {
    fn document(&self) -> Value {
        let mut document = Map::new();
        if let Some(barcode) = &self.barcode {
            document.insert("itemBarcode".into(), barcode.as_str().into());
        }
        let ids = [
            ("itemId", self.id),
            ("instanceId", self.instance),
            ("holdingId", self.holdings),
            ("loanId", self.loan),
        ];
        for (name, id) in ids {
            if let Some(id) = id {
                document.insert(name.into(), json!(id));
            }
        }
        Value::Object(document)
    }
}

static ENTRY: RowChange = RowChange {
    one: "INSERT INTO circulation_log (id, at, object, action, user_id, user_barcode, item_id, item_barcode,
             holdings_id, instance_id, loan_id, request_id, service_point_id, by_user_id, source, description, doc)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
    several: "INSERT INTO circulation_log (id, at, object, action, user_id, user_barcode, item_id, item_barcode,
             holdings_id, instance_id, loan_id, request_id, service_point_id, by_user_id, source, description, doc)
         SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[], $5::uuid[], $6::text[],
             $7::uuid[], $8::text[], $9::uuid[], $10::uuid[], $11::uuid[], $12::uuid[], $13::uuid[], $14::uuid[],
             $15::text[], $16::text[], $17::jsonb[])",
};

const LOOKING_UP: &str = "INSERT INTO circulation_log (id, at, object, action, user_id, user_barcode, item_id,
         item_barcode, holdings_id, instance_id, loan_id, request_id, service_point_id, by_user_id, source,
         description, doc)
     SELECT $1::uuid, $2::timestamptz, $3::text, $4::text, $5::uuid,
         coalesce($6::text, (SELECT users.doc->>'barcode' FROM users WHERE users.id = $5::uuid)), $7::uuid,
         coalesce($8::text, item.doc->>'barcode'), coalesce($9::uuid, holdings_record.id),
         coalesce($10::uuid, holdings_record.instance_id), $11::uuid, $12::uuid, $13::uuid, $14::uuid, $15::text,
         $16::text, $17::jsonb
     FROM (SELECT 1) AS one LEFT JOIN item ON item.id = $7::uuid
         LEFT JOIN holdings_record ON holdings_record.id = item.holdings_record_id";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_no_column_is_in_the_document() {
        let id = Uuid::from_u128(1);
        let item = LoggedItem { loan: Some(id), barcode: Some("036".into()), ..LoggedItem::default() };
        let mut entry = LogEntry::new(LogObject::Notice, Action::Send);
        entry.items = vec![item.clone()];
        entry.links.request = Some(id);
        assert_eq!(rest(&entry), "{}");
        entry.items.push(item);
        entry.links.template = Some(id);
        assert_eq!(
            rest(&entry),
            json!({"items": [{"itemBarcode": "036", "loanId": id}], "links": {"templateId": id}}).to_string()
        );
    }
}
