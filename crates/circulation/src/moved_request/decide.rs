//! The next status, dates and position of the request that a returned item fulfills.

use crate::desk::{ItemAtDesk, QueuedRequest, RecordChange, queue};
use crate::request_snapshot as snapshot;
use crate::settings::CirculationSettings;
use carrel_loan_rules::due_date::{HoldShelf, hold_shelf_expiration};
use carrel_loan_rules::request::RequestStatus;
use carrel_records::{Refusal, time};
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

/// The request that the item fulfills.
#[derive(Debug, Clone)]
pub struct MovedRequest {
    pub change: RecordChange,
    /// New positions in its queue.
    pub positions: queue::Moves,
    /// The new status.
    pub status: RequestStatus,
    /// The request as it is then.
    pub request: QueuedRequest,
}

/// Where, by whom and when an item is checked in.
#[derive(Debug, Clone, Copy)]
pub struct TakenIn {
    pub service_point: Uuid,
    pub by: Option<Uuid>,
    pub now: Timestamp,
}

/// The request that an item fulfills, with its next status.
pub fn moved(
    request: &QueuedRequest,
    queue: &[QueuedRequest],
    item: &ItemAtDesk,
    status: RequestStatus,
    taken_in: &TakenIn,
    settings: &CirculationSettings,
) -> Result<MovedRequest, Refusal> {
    let mut change = RecordChange::of(request.id, &request.document);
    if request.item_id() != Some(item.id) {
        change.set("itemId", item.id.to_string());
        if let Some(holdings) = item.holdings_id {
            change.set("holdingsRecordId", holdings.to_string());
        }
        change.set("item", snapshot::item_snapshot(item, settings));
        change.set("searchIndex", search_index(request, item));
    }
    change.set("status", status);
    if status == RequestStatus::AwaitingPickup {
        if request.text("holdShelfExpirationDate").is_empty() {
            let point = settings.service_points.get(&taken_in.service_point);
            let shelf = HoldShelf {
                expiry_period: point.and_then(|point| point.hold_shelf_expiry_period.as_ref()),
                closed_library_date_management: point
                    .and_then(|point| point.hold_shelf_closed_library_date_management.as_deref()),
            };
            let calendar = settings.calendar(taken_in.service_point);
            let expires = hold_shelf_expiration(taken_in.now, &shelf, &settings.zone, &calendar)?;
            change.set("holdShelfExpirationDate", time::format(expires));
        }
    } else {
        change.remove("holdShelfExpirationDate");
    }
    change.signed(taken_in.by, taken_in.now);
    let positions = queue::ahead_of_those_waiting(queue, request.id);
    if let Some((_, position)) = positions.positions.iter().find(|(id, _)| *id == request.id) {
        change.show("position", *position);
    }
    let request = QueuedRequest { document: change.document().clone(), ..request.clone() };
    Ok(MovedRequest { change, positions, status, request })
}

/// The search index of a request that gets its item.
fn search_index(request: &QueuedRequest, item: &ItemAtDesk) -> Value {
    let mut index =
        request.document.get("searchIndex").and_then(Value::as_object).cloned().unwrap_or_default();
    index.extend(snapshot::search_index(item));
    Value::Object(index)
}
