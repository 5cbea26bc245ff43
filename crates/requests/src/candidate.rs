//! An item that can fulfill a request, and its open loan.

use carrel_circulation::desk::ItemAtDesk;
use carrel_circulation::desk::item::{COLUMNS_WITHOUT_TITLE, Title};
use carrel_circulation::records::loans::OPEN;
use carrel_loan_rules::request;
use carrel_platform::Json;
use carrel_records::{Failure, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::sync::LazyLock;
use tokio_postgres::Row;
use uuid::Uuid;

/// An item with its open loan and the number of its requests.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub item: ItemAtDesk,
    pub loan: Option<OpenLoan>,
    /// Open requests for the item, and how many of them are recalls.
    pub requests: i64,
    pub recalls: i64,
    /// Position of the last request in the item's queue.
    pub last_position: i64,
}

/// The open loan of an item.
#[derive(Debug, Clone)]
pub struct OpenLoan {
    pub id: Uuid,
    pub document: Map<String, Value>,
    pub borrower_group: Option<Uuid>,
    pub borrower_expires: Option<Timestamp>,
}

impl OpenLoan {
    pub fn id_at(&self, key: &str) -> Option<Uuid> {
        request::id(&self.document, key)
    }
    pub fn instant_at(&self, key: &str) -> Option<Timestamp> {
        request::text(&self.document, key).and_then(time::parse)
    }
}

/// Selects items with their loans; the caller appends the condition.
pub static CANDIDATES: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT loan.id, loan.doc, borrower.doc->>'patronGroup', borrower.doc->>'expirationDate',
            waiting.requests, waiting.recalls, waiting.last, {COLUMNS_WITHOUT_TITLE}
         FROM item JOIN item_state ON item_state.item_id = item.id
         LEFT JOIN holdings_record ON holdings_record.id = item.holdings_record_id
         LEFT JOIN loan ON loan.item_id = item.id AND loan.{OPEN}
         LEFT JOIN users borrower ON borrower.id = loan.user_id
         CROSS JOIN LATERAL (
             SELECT count(*) AS requests, count(*) FILTER (WHERE r.doc->>'requestType' = 'Recall') AS recalls,
                 max(r.position) FILTER (WHERE coalesce(r.doc->>'requestLevel', 'Item') = 'Item') AS last
             FROM request r WHERE r.item_id = item.id AND r.is_open) waiting"
    )
});

/// Columns of a candidate before those of its item.
const BEFORE_ITEM: usize = 7;

/// Reads a row of [`CANDIDATES`].
pub fn candidate(row: &Row, title: Option<&Title>) -> Result<Option<Candidate>, Failure> {
    let Some(mut item) = ItemAtDesk::read(row, BEFORE_ITEM)? else { return Ok(None) };
    if let Some(title) = title {
        item.title = title.clone();
    }
    Ok(Some(Candidate {
        item,
        loan: open_loan(row),
        requests: row.get(4),
        recalls: row.get(5),
        last_position: row.get::<_, Option<i32>>(6).unwrap_or(0).into(),
    }))
}

fn open_loan(row: &Row) -> Option<OpenLoan> {
    let id: Option<Uuid> = row.get(0);
    let document: Option<Json> = row.get(1);
    let text = |place: usize| row.get::<_, Option<String>>(place);
    match document?.parse() {
        Value::Object(document) => Some(OpenLoan {
            id: id?,
            document,
            borrower_group: text(2).and_then(|id| Uuid::parse_str(&id).ok()),
            borrower_expires: text(3).and_then(|at| time::parse(&at)),
        }),
        _ => None,
    }
}
