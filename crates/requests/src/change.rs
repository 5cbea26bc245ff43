//! Writes a changed request: its document, the positions of its queue, the state of its items, its event.

use carrel_circulation::records::requests::REQUEST;
use carrel_inventory::item_state::{self, StateChange};
use carrel_loan_rules::request::{self, RequestStatus};
use carrel_loan_rules::request_queue::PositionChanges;
use carrel_platform::database::DatabaseError;
use carrel_platform::http::Caller;
use carrel_platform::record_store::write as records;
use carrel_platform::{Bind, Event, Pipeline, Tenant, outbox};
use carrel_records::{Failure, ItemStatus, Refusal, RefusalCode, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// All changes of a new version of a request.
#[derive(Debug, Clone)]
pub struct Change {
    pub id: Uuid,
    pub before: Map<String, Value>,
    /// The new version; its position is written only with [`Change::moves`].
    pub after: Map<String, Value>,
    /// The queue of the new version; `None` leaves it unchanged.
    pub queue: Option<Uuid>,
    pub moves: PositionChanges,
    /// The queue of an item that the request leaves, and the new positions in it.
    pub left: Option<(Uuid, PositionChanges)>,
    /// Items and their new statuses.
    pub items: Vec<(Uuid, ItemStatus)>,
}

/// Adds the statements of the change; returns the stored document, without its position.
pub fn write(
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    change: Change,
    caller: &Caller,
    now: Timestamp,
) -> Result<Map<String, Value>, Failure> {
    let Change { id, before, mut after, queue, moves, left, items } = change;
    if caller.profile.stored_as_sent {
        // Test suites write this date themselves and send a blank one if there is none.
        after.retain(|key, value| key != "awaitingPickupRequestClosedDate" || *value != "");
    } else {
        note_end_of_pickup(&before, &mut after, now);
    }
    let before = Value::Object(before);
    let ready = records::prepare_replacement(&REQUEST, id, after, &before, caller, now)?;
    let text = Value::Object(ready.document.clone()).to_string();
    pipeline.change(
        "UPDATE request SET doc = $2, queue_id = coalesce($3, queue_id) WHERE id = $1",
        vec![id.into(), Bind::Json(text.clone()), queue.into()],
    );
    let event = Event::updated(&tenant.id, &before, &text);
    outbox::announce(pipeline, "circulation.request", id.to_string(), event.to_string(), now);
    if let Some((queue, moves)) = left {
        carrel_circulation::desk::queue::renumber(pipeline, Some(queue), &moves);
    }
    carrel_circulation::desk::queue::renumber(pipeline, queue, &moves);
    for (item, status) in items {
        change_status(pipeline, Some(item), Some(status), now);
    }
    Ok(ready.document)
}

/// Records when a request on the hold shelf was cancelled or expired.
pub fn note_end_of_pickup(before: &Map<String, Value>, after: &mut Map<String, Value>, now: Timestamp) {
    let given_up =
        matches!(request::status(after), Some(RequestStatus::Cancelled | RequestStatus::PickupExpired));
    if given_up && request::status(before) == Some(RequestStatus::AwaitingPickup) {
        after.insert("awaitingPickupRequestClosedDate".into(), time::format(now).into());
    } else if let Some(kept) = before.get("awaitingPickupRequestClosedDate") {
        after.insert("awaitingPickupRequestClosedDate".into(), kept.clone());
    }
}

/// The failure for a violated constraint.
pub fn constraint_failure(error: DatabaseError, document: &Map<String, Value>) -> Failure {
    let constraint = error.constraint.as_deref().unwrap_or_default();
    if error.is_unique_violation() && constraint.starts_with("request_queue_id") {
        return same_position(document).into();
    }
    if error.is_foreign_key_violation() && constraint.starts_with("request_cancellation_reason") {
        return Refusal::new("Cancellation reason does not exist")
            .with("cancellationReasonId", request::text(document, "cancellationReasonId").unwrap_or_default())
            .code(RefusalCode::InvalidCancellationReason)
            .into();
    }
    records::constraint_failure(&REQUEST, error, document)
}

/// The refusal of two requests with one position in a queue.
pub fn same_position(document: &Map<String, Value>) -> Refusal {
    let at = |key: &str| match document.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    Refusal::new("Cannot have more than one request with the same position in the queue")
        .with("itemId", at("itemId"))
        .with("position", at("position"))
}

/// Adds the change of an item's status, if there is one.
pub fn change_status(
    pipeline: &mut Pipeline,
    item: Option<Uuid>,
    becomes: Option<ItemStatus>,
    now: jiff::Timestamp,
) {
    if let (Some(item), Some(status)) = (item, becomes) {
        let change = StateChange { status, in_transit_destination: None, last_check_in: None };
        item_state::change(pipeline, item, &change, now);
    }
}
