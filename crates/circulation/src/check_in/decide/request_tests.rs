//! The request that a checked-in item fulfills.

use super::fixtures::*;
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
    let queue = vec![request(1, json!({"fulfillmentPreference": "Delivery", "pickupServicePointId": null}))];
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
