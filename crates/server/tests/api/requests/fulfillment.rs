//! Fulfillment of requests: hold shelf, transit, delivery, and the next request.

use carrel_testkit::queues::{placed, positions, waiting};
use carrel_testkit::{LendingServer, TestItem, TestPatron};
use serde_json::{Value, json};
use uuid::Uuid;

/// An item on loan, and patrons with holds of it.
async fn queue_of<const N: usize>(server: &LendingServer) -> (TestItem, [(TestPatron, Uuid); N]) {
    let test_item = server.item_on_loan().await;
    let mut readers = Vec::new();
    for _ in 0..N {
        let reader = server.patron().await;
        let hold = server.hold(&test_item, &reader).await;
        readers.push((reader, hold));
    }
    (test_item, readers.try_into().unwrap_or_else(|_| panic!("as many readers as requested")))
}

#[tokio::test]
async fn a_returned_item_is_put_on_the_hold_shelf_for_the_first_patron() {
    let server = LendingServer::open().await;
    let (test_item, [(reader, hold), (other, _)]) = queue_of(&server).await;
    let back = server.check_in(&test_item, server.main_desk).await.expect(200);
    assert_eq!(back["staffSlipContext"]["requester"]["barcode"], reader.barcode);
    let request = server.request(hold).await;
    assert_eq!(request["status"], "Open - Awaiting pickup");
    assert!(request["holdShelfExpirationDate"].is_string());
    let refused = server.check_out(&test_item, &other).await;
    assert!(refused.refusals()[0].ends_with("because it has been requested by another patron"));
    server.check_out(&test_item, &reader).await.expect(201);
    let filled = server.request(hold).await;
    assert_eq!((&filled["status"], filled.get("position")), (&json!("Closed - Filled"), None));
    let queue = server.queue_of(&test_item).await;
    assert_eq!((waiting(&queue), positions(&queue)), (vec![other.id], vec![1]));
}

#[tokio::test]
async fn every_status_change_of_a_request_is_published() {
    let server = LendingServer::open().await;
    let (test_item, [(reader, hold)]) = queue_of(&server).await;
    server.check_in(&test_item, server.main_desk).await.expect(200);
    server.check_out(&test_item, &reader).await.expect(201);
    let events = server
        .server
        .database()
        .await
        .query(
            "SELECT payload->'new'->>'status' FROM outbox WHERE topic = 'circulation.request' AND key = $1 ORDER BY id",
            &[&hold.to_string()],
        )
        .await
        .expect("the outbox can be read");
    let reported: Vec<String> = events.iter().map(|row| row.get(0)).collect();
    assert_eq!(reported, ["Open - Not yet filled", "Open - Awaiting pickup", "Closed - Filled"]);
}

#[tokio::test]
async fn an_item_with_another_pickup_service_point_goes_in_transit() {
    let server = LendingServer::open().await;
    let test_item = server.item_on_loan().await;
    let reader = server.patron().await;
    let hold = placed(&server.place_request(&test_item, &reader, "Hold", server.other_desk).await);
    server.check_in(&test_item, server.main_desk).await.expect(200);
    assert_eq!(server.request_status(hold).await, "Open - In transit");
    // Scanned again at another service point, it stays in transit.
    server.check_in(&test_item, server.main_desk).await.expect(200);
    assert_eq!(server.request_status(hold).await, "Open - In transit");
    server.check_in(&test_item, server.other_desk).await.expect(200);
    assert_eq!(server.request_status(hold).await, "Open - Awaiting pickup");
    assert_eq!(server.status_of(&test_item).await, "Awaiting pickup");
}

#[tokio::test]
async fn a_request_with_the_wrong_instance_is_placed_for_its_item() {
    let server = LendingServer::open().await;
    server.enable_title_requests().await;
    let (test_item, other_title) = (server.item().await, server.item().await);
    server.check_out(&test_item, &server.patron().await).await.expect(201);
    let request_body = json!({"instanceId": other_title.instance, "holdingsRecordId": other_title.holdings});
    let hold =
        placed(&server.place_request_with("Hold", &test_item, &server.patron().await, request_body).await);
    assert_eq!(server.request(hold).await["instanceId"], test_item.instance.to_string());
    assert_eq!(positions(&server.queue_of(&test_item).await), [1]);
    server.check_in(&test_item, server.main_desk).await.expect(200);
    assert_eq!(server.request_status(hold).await, "Open - Awaiting pickup");
}

#[tokio::test]
async fn an_awaiting_item_scanned_elsewhere_goes_in_transit_to_its_pickup_service_point() {
    let server = LendingServer::open().await;
    let (test_item, [(_, hold)]) = queue_of(&server).await;
    server.check_in(&test_item, server.main_desk).await.expect(200);
    server.check_in(&test_item, server.other_desk).await.expect(200);
    let request = server.request(hold).await;
    assert_eq!(request["status"], "Open - In transit");
    assert_eq!(request.get("holdShelfExpirationDate"), None);
    assert_eq!(
        server.look_at(&test_item).await["inTransitDestinationServicePointId"],
        server.main_desk.0.to_string()
    );
    server.check_in(&test_item, server.main_desk).await.expect(200);
    assert!(server.request(hold).await["holdShelfExpirationDate"].is_string());
}

#[tokio::test]
async fn a_delivery_request_awaits_delivery_and_is_filled_by_check_out() {
    let server = LendingServer::open().await;
    let test_item = server.item_on_loan().await;
    let reader = server.patron().await;
    let request_body = json!({"fulfillmentPreference": "Delivery", "deliveryAddressTypeId": Uuid::new_v4(),
        "pickupServicePointId": null});
    let hold = placed(&server.place_request_with("Hold", &test_item, &reader, request_body).await);
    server.check_in(&test_item, server.main_desk).await.expect(200);
    assert_eq!(server.request_status(hold).await, "Open - Awaiting delivery");
    assert_eq!(server.status_of(&test_item).await, "Awaiting delivery");
    server.check_out(&test_item, &reader).await.expect(201);
    assert_eq!(server.request_status(hold).await, "Closed - Filled");
}

#[tokio::test]
async fn a_cancelled_pickup_makes_the_item_available_to_the_next_requester() {
    let server = LendingServer::open().await;
    let (test_item, [(_, first), (next, second)]) = queue_of(&server).await;
    server.check_in(&test_item, server.main_desk).await.expect(200);
    server.cancel(first).await.expect(204);
    let given_up = server.request(first).await;
    assert!(given_up["awaitingPickupRequestClosedDate"].is_string());
    // The item stays on the hold shelf, and no other patron can check it out.
    assert_eq!(server.status_of(&test_item).await, "Awaiting pickup");
    assert_eq!(server.request_status(second).await, "Open - Not yet filled");
    assert_eq!(positions(&server.queue_of(&test_item).await), [1]);
    let refused = server.check_out(&test_item, &server.patron().await).await;
    assert!(refused.refusals()[0].ends_with("because it has been requested by another patron"));
    server.check_out(&test_item, &next).await.expect(201);
    assert_eq!(server.request_status(second).await, "Closed - Filled");
}

#[tokio::test]
async fn a_cancelled_page_makes_its_item_available() {
    let server = LendingServer::open().await;
    let (test_item, reader) = (server.item().await, server.patron().await);
    let page = placed(&server.place_request(&test_item, &reader, "Page", server.main_desk).await);
    assert_eq!(server.status_of(&test_item).await, "Paged");
    server.cancel(page).await.expect(204);
    assert_eq!(server.status_of(&test_item).await, "Available");
}

#[tokio::test]
async fn a_cancelled_page_with_a_hold_after_it_keeps_the_item_paged() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let page =
        placed(&server.place_request(&test_item, &server.patron().await, "Page", server.main_desk).await);
    let hold = server.hold(&test_item, &server.patron().await).await;
    server.cancel(page).await.expect(204);
    assert_eq!(server.status_of(&test_item).await, "Paged");
    server.check_in(&test_item, server.main_desk).await.expect(200);
    assert_eq!(server.request_status(hold).await, "Open - Awaiting pickup");
}

#[tokio::test]
async fn a_deleted_request_lets_the_following_ones_move_up() {
    let server = LendingServer::open().await;
    let (test_item, [(_, first), (second, _), (third, _)]) = queue_of(&server).await;
    server.admin().delete(&format!("/circulation/requests/{first}")).await.expect(204);
    let queue = server.queue_of(&test_item).await;
    assert_eq!((waiting(&queue), positions(&queue)), (vec![second.id, third.id], vec![1, 2]));
}

#[tokio::test]
async fn a_closed_request_cannot_be_changed() {
    let server = LendingServer::open().await;
    let (test_item, [(_, hold)]) = queue_of(&server).await;
    let other = server.copy_of(&test_item).await;
    server.cancel(hold).await.expect(204);
    let again = server.edit_request(hold, json!({"status": "Open - Not yet filled"})).await;
    assert_eq!(again.refusals(), ["The Request has already been closed"]);
    let request_body = json!({"destinationItemId": other.id});
    let moved = server.admin().post(&format!("/circulation/requests/{hold}/move"), &request_body).await;
    assert_eq!(moved.refusals(), ["The Request has already been closed"]);
}

#[tokio::test]
async fn a_moved_request_is_last_in_the_new_queue() {
    let server = LendingServer::open().await;
    let (test_item, [(_, first), (second, _)]) = queue_of(&server).await;
    let other = server.copy_of(&test_item).await;
    server.check_out(&other, &server.patron().await).await.expect(201);
    let there = server.patron().await;
    server.hold(&other, &there).await;
    let request_body = json!({"destinationItemId": other.id});
    let moved: Value =
        server.admin().post(&format!("/circulation/requests/{first}/move"), &request_body).await.expect(200);
    assert_eq!(moved["position"], 2);
    let (left, joined) = (server.queue_of(&test_item).await, server.queue_of(&other).await);
    assert_eq!((waiting(&left), positions(&left)), (vec![second.id], vec![1]));
    assert_eq!(positions(&joined), [1, 2]);
    assert_eq!(waiting(&joined)[0], there.id);
}

#[tokio::test]
async fn a_queue_can_be_reordered() {
    let server = LendingServer::open().await;
    let (test_item, [(first, one), (second, two), (third, three)]) = queue_of(&server).await;
    let path = format!("/circulation/requests/queue/item/{}/reorder", test_item.id);
    let order = |ids: &[Uuid]| {
        let positions: Vec<Value> =
            ids.iter().zip(1..).map(|(id, place)| json!({"id": id, "newPosition": place})).collect();
        json!({"reorderedQueue": positions})
    };
    server.admin().post(&path, &order(&[three, one, two])).await.expect(200);
    assert_eq!(waiting(&server.queue_of(&test_item).await), [third.id, first.id, second.id]);
    let refused = server.admin().post(&path, &order(&[three, one])).await;
    assert_eq!(
        refused.refusals(),
        ["There is inconsistency between provided reordered queue and existing queue."]
    );
    server.check_in(&test_item, server.main_desk).await.expect(200);
    let refused = server.admin().post(&path, &order(&[one, three, two])).await;
    assert_eq!(refused.refusals(), ["Requests can not be displaced from position 1 when fulfillment begun."]);
    server.enable_title_requests().await;
    let refused = server.admin().post(&path, &order(&[three, one, two])).await;
    assert_eq!(refused.refusals(), ["Refuse to reorder request queue, TLR feature status is ENABLED."]);
}

#[tokio::test]
async fn a_fulfilled_title_level_request_moves_ahead_of_unfilled_ones() {
    let server = LendingServer::open().await;
    server.enable_title_requests().await;
    let test_item = server.item().await;
    let other = server.copy_of(&test_item).await;
    for copy in [&test_item, &other] {
        server.check_out(copy, &server.patron().await).await.expect(201);
    }
    let (patient, flexible) = (server.patron().await, server.patron().await);
    server.hold(&other, &patient).await;
    placed(&server.place_title_request(&test_item, &flexible, "Hold", server.main_desk).await);
    server.check_in(&test_item, server.main_desk).await.expect(200);
    let queue = server.queue_of_title(&test_item).await;
    assert_eq!((waiting(&queue), positions(&queue)), (vec![flexible.id, patient.id], vec![1, 2]));
    assert_eq!(queue[0]["status"], "Open - Awaiting pickup");
}
