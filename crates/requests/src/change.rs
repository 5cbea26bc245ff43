//! Writing a changed request: its document, the positions of its queue, the state of its item, its event.

use super::place::apply::{change_status, same_position};
use carrel_circulation::records::requests::REQUEST;
use carrel_loan_rules::request::{self as words, AWAITING_PICKUP, CANCELLED, PICKUP_EXPIRED};
use carrel_loan_rules::request_queue::Moves;
use carrel_platform::database::DatabaseError;
use carrel_platform::http::Caller;
use carrel_platform::record_store::write as records;
use carrel_platform::{Bind, Event, Pipeline, Tenant, outbox};
use carrel_records::{Failure, Refusal, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// What changes with a request.
#[derive(Debug, Clone)]
pub struct Change {
    pub id: Uuid,
    pub before: Map<String, Value>,
    /// The new version; a position in it is written only with [`Change::moves`].
    pub after: Map<String, Value>,
    /// The queue that the request stands in from now on; `None` leaves it in the one where it is.
    pub queue: Option<Uuid>,
    pub moves: Moves,
    /// A queue of an item that the request has left, and the moves of those behind it there.
    pub left: Option<(Uuid, Moves)>,
    /// Items and their new statuses.
    pub items: Vec<(Uuid, &'static str)>,
}

/// Adds the statements of the change; gives the document as stored but for its position.
pub fn write(
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    change: Change,
    caller: &Caller,
    now: Timestamp,
) -> Result<Map<String, Value>, Failure> {
    let Change { id, before, mut after, queue, moves, left, items } = change;
    if caller.lenient {
        // A test suite tells itself when an item on the hold shelf was given up, and leaves it blank where it was not.
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

/// The moment in which an item on the hold shelf is given up by its patron.
pub fn note_end_of_pickup(before: &Map<String, Value>, after: &mut Map<String, Value>, now: Timestamp) {
    let given_up = matches!(words::text(after, "status"), Some(CANCELLED | PICKUP_EXPIRED));
    if given_up && words::text(before, "status") == Some(AWAITING_PICKUP) {
        after.insert("awaitingPickupRequestClosedDate".into(), time::format(now).into());
    } else if let Some(kept) = before.get("awaitingPickupRequestClosedDate") {
        after.insert("awaitingPickupRequestClosedDate".into(), kept.clone());
    }
}

/// Tells which constraint refused a changed request.
pub fn reported(error: DatabaseError, document: &Map<String, Value>) -> Failure {
    let constraint = error.constraint.as_deref().unwrap_or_default();
    if error.is_unique_violation() && constraint.starts_with("request_queue_id") {
        return same_position(document).into();
    }
    if error.is_foreign_key_violation() && constraint.starts_with("request_cancellation_reason") {
        return Refusal::new("Cancellation reason does not exist")
            .with("cancellationReasonId", words::text(document, "cancellationReasonId").unwrap_or_default())
            .code("INVALID_CANCELLATION_REASON")
            .into();
    }
    records::reported(&REQUEST, error, document)
}
