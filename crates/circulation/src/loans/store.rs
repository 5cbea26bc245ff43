//! The statements that change a loan, each with its history row and its event.

use super::history;
use crate::desk::RecordChange;
use crate::desk::record_change::LOAN;
use carrel_platform::{Bind, Event, Pipeline, outbox};
use carrel_records::{Failure, Refusal, json_text, metadata};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// The document with new `metadata`.
pub fn versioned(mut document: Map<String, Value>, by: Option<Uuid>, now: Timestamp) -> Map<String, Value> {
    metadata::change(document.entry("metadata").or_insert(Value::Null), by, now);
    document
}

/// Adds a new loan; returns the index of the statement that fails for a second open loan of the item.
pub fn insert(
    pipeline: &mut Pipeline,
    tenant: &str,
    id: Uuid,
    document: &Map<String, Value>,
    now: Timestamp,
) -> usize {
    let text = stored_text(document);
    let step =
        pipeline.add("INSERT INTO loan (id, doc) VALUES ($1, $2)", vec![id.into(), Bind::Json(text.clone())]);
    history::write(pipeline, "I", &text, now);
    let event = Event::created(tenant, &text).to_string();
    outbox::announce(pipeline, "circulation.loan", id.to_string(), event, now);
    step
}

/// Adds the replacement of a locked loan; returns the index of its statement.
pub fn replace(
    pipeline: &mut Pipeline,
    tenant: &str,
    id: Uuid,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    cause: &'static str,
    now: Timestamp,
) -> usize {
    let text = stored_text(new);
    let step =
        pipeline.add("UPDATE loan SET doc = $2 WHERE id = $1", vec![id.into(), Bind::Json(text.clone())]);
    history::write(pipeline, "U", &text, now);
    let event = Event::updated(tenant, &json_text(old), &text).because(cause).to_string();
    outbox::announce(pipeline, "circulation.loan", id.to_string(), event, now);
    step
}

/// Adds a change of some fields of a loan.
pub fn change(pipeline: &mut Pipeline, tenant: &str, change: &RecordChange, now: Timestamp) {
    change.apply(pipeline, &LOAN);
    let text = change.text();
    history::write(pipeline, "U", &text, now);
    change.announce(pipeline, "circulation.loan", tenant, &text, now);
}

/// What circulation shows with a loan but storage does not keep.
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
    // FOLIO quirk: why a due date was changed is shown once, in the answer of the action that changed it.
    "dueDateChangedByHold",
    "dueDateChangedByNearExpireUser",
];

/// The document without display-only fields, in JSON.
pub fn stored_text(document: &Map<String, Value>) -> String {
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

/// The refusal of a second open loan.
pub fn already_lent(item_id: &str) -> Failure {
    Refusal::new("Cannot have more than one open loan for the same item")
        .with("itemId", item_id)
        .of_storage()
        .into()
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
