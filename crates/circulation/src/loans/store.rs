//! The two statements that write a loan, for a new and for a stored one. Each comes with a history row and an event.

use super::history;
use crate::desk::RecordChange;
use crate::records::loans::{LOAN, ONE_OPEN_LOAN};
use carrel_platform::database::DatabaseError;
use carrel_platform::record_store::write;
use carrel_platform::{Bind, Event, Pipeline, RowChange, outbox};
use carrel_records::{Failure, Refusal, json_text, metadata};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// The document with new `metadata`.
pub fn versioned(mut document: Map<String, Value>, by: Option<Uuid>, now: Timestamp) -> Map<String, Value> {
    metadata::change(document.entry("metadata").or_insert(Value::Null), by, now);
    document
}

/// Adds a new loan; `cause` is what the event names, where clients tell one cause from others.
pub fn insert(
    pipeline: &mut Pipeline,
    tenant: &str,
    id: Uuid,
    document: &Map<String, Value>,
    cause: Option<&'static str>,
    now: Timestamp,
) {
    let text = stored_text(document);
    pipeline.change_row(&INSERT, vec![id.into(), Bind::Json(text.clone())]);
    history::write(pipeline, "I", &text, now);
    announce(pipeline, id, Event::created(tenant, &text), cause, now);
}

/// Adds a change of some fields of a loan.
pub fn update(
    pipeline: &mut Pipeline,
    tenant: &str,
    change: &RecordChange,
    cause: Option<&'static str>,
    now: Timestamp,
) {
    let text = change.text();
    change.apply(pipeline, &UPDATE);
    history::write(pipeline, "U", &text, now);
    announce(pipeline, change.id, Event::updated(tenant, &change.stored_text(), &text), cause, now);
}

/// Adds the update of a locked loan from the stored version to the next one.
pub fn replace(
    pipeline: &mut Pipeline,
    tenant: &str,
    id: Uuid,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    cause: Option<&'static str>,
    now: Timestamp,
) {
    update(pipeline, tenant, &RecordChange::between(id, old, stored(new)), cause, now);
}

fn announce(
    pipeline: &mut Pipeline,
    id: Uuid,
    event: Event<'_>,
    cause: Option<&'static str>,
    now: Timestamp,
) {
    let event = cause.map_or(event, |cause| event.because(cause));
    outbox::announce(pipeline, "circulation.loan", id.to_string(), event.to_string(), now);
}

static INSERT: RowChange = RowChange {
    one: "INSERT INTO loan (id, doc) VALUES ($1, $2)",
    several: "INSERT INTO loan (id, doc) SELECT * FROM unnest($1::uuid[], $2::jsonb[])",
};

/// The condition on the array of ids makes PostgreSQL read just these rows, whatever size it estimates for the table;
/// without it a join may read the whole table.
static UPDATE: RowChange = RowChange {
    one: "UPDATE loan SET doc = (doc - string_to_array($2, chr(31))) || $3 WHERE id = $1",
    several: "UPDATE loan SET doc = (loan.doc - string_to_array(one.removed, chr(31))) || one.doc
         FROM unnest($1::uuid[], $2::text[], $3::jsonb[]) AS one (id, removed, doc)
         WHERE loan.id = one.id AND loan.id = ANY ($1::uuid[])",
};

/// Whether the database refused a loan for another one: with its id, or open and of its item.
pub fn is_duplicate(error: &DatabaseError) -> bool {
    error.is_unique_violation() && matches!(error.constraint.as_deref(), Some("loan_pkey" | ONE_OPEN_LOAN))
}

/// What storage answers where the database refused a loan.
pub fn refused_by_storage(error: DatabaseError, document: &Map<String, Value>) -> Failure {
    if error.constraint.as_deref() == Some(ONE_OPEN_LOAN) {
        return Refusal::new("Cannot have more than one open loan for the same item")
            .with("itemId", document.get("itemId").and_then(Value::as_str).unwrap_or_default())
            .of_storage()
            .into();
    }
    write::constraint_failure(&LOAN, error, document)
}

/// Properties that circulation adds to a loan but storage does not keep.
const DISPLAY_ONLY: [&str; 11] = [
    "item",
    "borrower",
    "checkinServicePoint",
    "checkoutServicePoint",
    "loanPolicy",
    "overdueFinePolicy",
    "lostItemPolicy",
    "feesAndFines",
    "patronGroupAtCheckout",
    // FOLIO quirk: the reason for a changed due date is shown only in the answer of the action that changed it.
    "dueDateChangedByHold",
    "dueDateChangedByNearExpireUser",
];

/// The document without display-only fields, in JSON.
fn stored_text(document: &Map<String, Value>) -> String {
    let is_plain =
        !document.contains_key("reminders") && !DISPLAY_ONLY.iter().any(|key| document.contains_key(*key));
    if is_plain { json_text(document) } else { json_text(&stored(document)) }
}

/// The document without display-only fields.
pub fn stored(document: &Map<String, Value>) -> Map<String, Value> {
    let mut stored = document.clone();
    for key in DISPLAY_ONLY {
        stored.remove(key);
    }
    if let Some(reminders) = stored.get_mut("reminders").and_then(Value::as_object_mut) {
        reminders.remove("renewalBlocked");
    }
    stored
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrel_records::time;
    use serde_json::json;

    #[test]
    fn what_is_only_shown_with_a_loan_is_not_stored() {
        let Value::Object(shown) = json!({
            "id": "1", "item": {"title": "Nod"}, "borrower": {}, "feesAndFines": {},
            "reminders": {"lastFeeBilled": {"number": 1}, "renewalBlocked": true}, "unknown": 1
        }) else {
            unreachable!("an object")
        };
        assert_eq!(
            Value::Object(stored(&shown)),
            json!({"id": "1", "reminders": {"lastFeeBilled": {"number": 1}}, "unknown": 1})
        );
    }

    #[test]
    fn a_change_keeps_the_creation_metadata() {
        let Value::Object(loan) = json!({"metadata": {"createdDate": "then"}}) else {
            unreachable!("an object")
        };
        let now = time::parse("2024-05-01").expect("a time");
        let by = Uuid::nil();
        assert_eq!(
            Value::Object(versioned(loan, Some(by), now)),
            json!({"metadata": {"createdDate": "then", "updatedDate": "2024-05-01T00:00:00.000+00:00",
                "updatedByUserId": by}})
        );
    }
}
