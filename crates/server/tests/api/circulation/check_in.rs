//! Check-in through the public API: the destination of items, slips, and records.

use carrel_testkit::{Desk, LendingServer, TestItem, TestPatron};
use serde_json::{Value, json};

#[tokio::test]
async fn a_returned_item_becomes_available() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let loan = server.check_out(&test_item, &patron).await.expect(201);

    let answer = server.check_in(&test_item, server.main_desk).await.expect(200);

    assert_eq!(answer["loan"]["status"]["name"], "Closed");
    assert_eq!(answer["loan"]["action"], "checkedin");
    assert_eq!(answer["item"]["status"], json!({"name": "Available"}));
    assert_eq!(answer["inHouseUse"], false);
    let stored = server.look_at(&test_item).await;
    assert_eq!(stored["status"]["name"], "Available");
    assert_eq!(stored["lastCheckIn"]["servicePointId"], json!(server.main_desk.0));
    let id = loan["id"].as_str().unwrap_or_default();
    let loan = server.admin().get(&format!("/loan-storage/loans/{id}")).await.expect(200);
    assert_eq!(loan["status"]["name"], "Closed");
    assert_eq!(loan["itemStatus"], "Available");
    let history = server.admin().get(&format!("/loan-storage/loan-history?query=loan.id=={id}")).await;
    assert_eq!(history.expect(200)["totalRecords"], 2, "one row of the check-out, one of the check-in");
}

#[tokio::test]
async fn a_check_in_takes_two_round_trips_and_a_third_for_an_item_with_a_queue() {
    let options = carrel_platform::ServerOptions { counts_round_trips: true, ..Default::default() };
    let server = LendingServer::on(carrel_testkit::TestServer::start_in(options).await).await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    server.check_out(&test_item, &patron).await.expect(201);
    let pipelines = async |test_item| {
        let answer = server.check_in(test_item, server.main_desk).await;
        answer.expect(200);
        answer.header("x-carrel-round-trips").map(str::to_owned)
    };
    assert_eq!(
        pipelines(&test_item).await.as_deref(),
        Some("2"),
        "facts and changes: look for a query outside them"
    );
    request(&server, &test_item, &patron, 1, server.main_desk).await;
    assert_eq!(pipelines(&test_item).await.as_deref(), Some("3"), "the facts again, with the queue locked");
}

#[tokio::test]
async fn a_requested_item_is_put_on_the_hold_shelf_with_a_slip() {
    let server = LendingServer::open().await;
    let (test_item, borrower, reader) = (server.item().await, server.patron().await, server.patron().await);
    server.check_out(&test_item, &borrower).await.expect(201);
    let placed = request(&server, &test_item, &reader, 1, server.main_desk).await;

    let answer = server.check_in(&test_item, server.main_desk).await.expect(200);

    assert_eq!(answer["item"]["status"]["name"], "Awaiting pickup");
    let slip = &answer["staffSlipContext"];
    assert_eq!(slip["requester"]["barcode"], json!(reader.barcode));
    assert_eq!(slip["request"]["servicePointPickup"], "Main desk");
    assert_eq!(slip["item"]["fromServicePoint"], "Main desk");
    let placed = stored_request(&server, &placed).await;
    assert_eq!(placed["status"], "Open - Awaiting pickup");
    assert!(placed["holdShelfExpirationDate"].is_string(), "{placed}");
}

#[tokio::test]
async fn an_item_for_another_service_point_goes_in_transit() {
    let server = LendingServer::open().await;
    let (test_item, reader) = (server.item().await, server.patron().await);
    request(&server, &test_item, &reader, 1, server.other_desk).await;

    let sent = server.check_in(&test_item, server.main_desk).await.expect(200);
    assert_eq!(sent["item"]["status"]["name"], "In transit");
    assert_eq!(sent["item"]["inTransitDestinationServicePointId"], json!(server.other_desk.0));
    assert_eq!(sent["staffSlipContext"]["item"]["toServicePoint"], "Other desk");

    let arrived = server.check_in(&test_item, server.other_desk).await.expect(200);
    assert_eq!(arrived["item"]["status"]["name"], "Awaiting pickup");
    assert!(server.look_at(&test_item).await.get("inTransitDestinationServicePointId").is_none());
}

#[tokio::test]
async fn every_check_in_is_stored_as_a_record() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;

    let answer = server.check_in(&test_item, server.main_desk).await.expect(200);

    assert_eq!(answer["inHouseUse"], true);
    assert!(answer.get("loan").is_none());
    let path = format!("/check-in-storage/check-ins?query=itemId=={}", test_item.id);
    let records = server.admin().get(&path).await.expect(200);
    assert_eq!(records["checkIns"][0]["itemStatusPriorToCheckIn"], "Available");
    assert_eq!(records["checkIns"][0]["requestQueueSize"], 0);
}

#[tokio::test]
async fn an_unknown_barcode_is_refused() {
    let server = LendingServer::open().await;
    let nothing = TestItem { barcode: "nothing".into(), ..server.item().await };
    let answer = server.check_in(&nothing, server.main_desk).await;
    answer.expect(422);
    assert_eq!(answer.refusals(), ["No item with barcode nothing exists"]);
    assert_eq!(answer.json()["errors"][0]["code"], "ITEM_BARCODE_NOT_FOUND");
}

#[tokio::test]
async fn two_desks_that_scan_one_item_close_its_loan_once() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let loan = server.check_out(&test_item, &patron).await.expect(201);
    let (here, there) = tokio::join!(
        server.check_in(&test_item, server.main_desk),
        server.check_in(&test_item, server.main_desk)
    );
    let closed =
        [here.expect(200), there.expect(200)].iter().filter(|answer| answer.get("loan").is_some()).count();
    assert_eq!(closed, 1);
    let path =
        format!("/loan-storage/loan-history?query=loan.id=={}", loan["id"].as_str().unwrap_or_default());
    assert_eq!(server.admin().get(&path).await.expect(200)["totalRecords"], 2);
}

#[tokio::test]
async fn a_lost_and_paid_item_whose_last_loan_was_not_lost_is_refused() {
    let server = LendingServer::open().await;
    let (item, patron) = (server.item().await, server.patron().await);
    let loan = server.check_out(&item, &patron).await.expect(201);
    server.check_in(&item, server.main_desk).await.expect(200);
    let with_status = async |status: &str| {
        let mut record = server.look_at(&item).await;
        record["status"] = json!({"name": status});
        let path = format!("/item-storage/items/{}", item.id);
        server.admin().put(&path, &record).await.expect(204);
    };
    with_status("Lost and paid").await;

    let refused = server.check_in(&item, server.main_desk).await;

    let message = "Last loan for lost item is neither aged to lost nor declared lost";
    assert_eq!(refused.refusals(), [message]);
    assert_eq!(
        refused.expect(422)["errors"][0]["parameters"],
        json!([{"key": "loanId", "value": loan["id"]}])
    );
    assert_eq!(server.status_of(&item).await, "Lost and paid");

    let path = format!("/loan-storage/loans/{}", loan["id"].as_str().unwrap_or_default());
    let mut stored = server.admin().get(&path).await.expect(200);
    stored["declaredLostDate"] = "2026-01-01T10:00:00.000+00:00".into();
    server.admin().put(&path, &stored).await.expect(204);
    server.check_in(&item, server.main_desk).await.expect(200);
    assert_eq!(server.status_of(&item).await, "Available");
}

/// Stores a hold of the item; returns its id.
async fn request(
    server: &LendingServer,
    test_item: &TestItem,
    reader: &TestPatron,
    position: u32,
    pickup: Desk,
) -> String {
    let request = json!({"requestLevel": "Item", "requestType": "Hold", "requestDate": "2024-05-01T10:00:00Z",
        "requesterId": reader.id, "itemId": test_item.id, "instanceId": test_item.instance, "holdingsRecordId": test_item.holdings,
        "status": "Open - Not yet filled", "position": position, "fulfillmentPreference": "Hold Shelf",
        "pickupServicePointId": pickup.0});
    let stored = server.create("/request-storage/requests", &request).await;
    stored["id"].as_str().unwrap_or_default().to_owned()
}

async fn stored_request(server: &LendingServer, id: &str) -> Value {
    server.admin().get(&format!("/request-storage/requests/{id}")).await.expect(200)
}
