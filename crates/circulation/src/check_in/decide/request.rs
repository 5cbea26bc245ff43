//! The next status of the request that an item fulfills: hold shelf, in transit or delivery.

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
    /// The request after the check-in.
    /// The new status.
    pub status: RequestStatus,
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

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use crate::check_in::facts::Facts;
    use carrel_loan_rules::request::RequestStatus;
    use carrel_records::ItemStatus;
    use serde_json::json;
    use uuid::Uuid;

    #[test]
    fn a_requested_item_waits_on_the_shelf_of_its_pickup_desk() {
        let queue = vec![request(1, json!({}))];
        let check_in = done(Facts { queue, ..facts("Checked out") }, MAIN_DESK);
        assert_eq!(check_in.state.status, ItemStatus::AwaitingPickup);
        let request = check_in.request.expect("the request moved");
        assert_eq!(request.status, RequestStatus::AwaitingPickup);
        assert_eq!(request.request.text("holdShelfExpirationDate"), "2024-05-13T23:59:59.000+00:00");
    }

    #[test]
    fn a_date_on_the_hold_shelf_is_given_once() {
        let queue = vec![request(
            1,
            json!({"status": "Open - Awaiting pickup", "holdShelfExpirationDate": "2024-05-11T23:59:59.000+00:00"}),
        )];
        let check_in = done(Facts { queue, ..facts("Awaiting pickup") }, MAIN_DESK);
        let request = check_in.request.expect("the request moved");
        assert_eq!(request.request.text("holdShelfExpirationDate"), "2024-05-11T23:59:59.000+00:00");
    }

    #[test]
    fn a_requested_item_travels_to_its_pickup_desk() {
        let queue = vec![request(1, json!({"holdShelfExpirationDate": "2024-05-11"}))];
        let check_in = done(Facts { queue, ..facts("Checked out") }, BRANCH_DESK);
        assert_eq!(check_in.state.in_transit_destination, Some(MAIN_DESK));
        let request = check_in.request.expect("the request moved");
        assert_eq!(request.status, RequestStatus::InTransit);
        assert_eq!(request.request.text("holdShelfExpirationDate"), "");
    }

    #[test]
    fn a_delivery_starts_at_any_desk() {
        let queue =
            vec![request(1, json!({"fulfillmentPreference": "Delivery", "pickupServicePointId": null}))];
        let check_in = done(Facts { queue, ..facts("Checked out") }, BRANCH_DESK);
        assert_eq!(check_in.state.status, ItemStatus::AwaitingDelivery);
        assert_eq!(check_in.request.expect("it moved").status, RequestStatus::AwaitingDelivery);
    }

    #[test]
    fn the_request_that_an_item_fulfills_goes_ahead_of_those_that_still_wait() {
        let other = Uuid::from_u128(77);
        let queue = vec![
            request(1, json!({"itemId": other, "status": "Open - Awaiting pickup"})),
            request(2, json!({"itemId": other})),
            request(3, json!({})),
        ];
        let check_in = done(Facts { queue, ..facts("Checked out") }, MAIN_DESK);
        let moved = check_in.request.expect("it moved");
        assert_eq!(moved.positions.positions, [(Uuid::from_u128(103), 2), (Uuid::from_u128(102), 3)]);
        assert_eq!(moved.request.position(), 2);
    }
}
