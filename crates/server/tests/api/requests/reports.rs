//! Slips and reports for staff.

use carrel_testkit::queues::placed;
use carrel_testkit::{LendingServer, TestItem, TestPatron};
use serde_json::{Value, json};
use uuid::Uuid;

async fn report(server: &LendingServer, path: &str) -> Value {
    server.admin().get(path).await.expect(200)
}

async fn pick_slips(server: &LendingServer, desk: carrel_testkit::Desk) -> Value {
    report(server, &format!("/circulation/pick-slips/{}", desk.0)).await
}

async fn paged(server: &LendingServer) -> (TestItem, TestPatron, Uuid) {
    let (test_item, patron) = (server.item().await, server.patron().await);
    let page = placed(&server.place_request(&test_item, &patron, "Page", server.main_desk).await);
    (test_item, patron, page)
}

#[tokio::test]
async fn a_page_is_on_the_pick_slips_of_the_desk_that_serves_its_shelf() {
    let server = LendingServer::open().await;
    let (test_item, patron, page) = paged(&server).await;
    let slips = pick_slips(&server, server.main_desk).await;
    assert_eq!(slips["totalRecords"], 1);
    let slip = &slips["pickSlips"][0];
    assert_eq!(slip["item"]["barcode"], test_item.barcode);
    assert_eq!(slip["item"]["status"], "Paged");
    assert_eq!(slip["item"]["effectiveLocationSpecific"], "Stacks");
    assert_eq!(slip["item"]["effectiveLocationPrimaryServicePointName"], "Main desk");
    assert_eq!(slip["requester"]["barcode"], patron.barcode);
    assert_eq!(slip["request"]["requestID"], page.to_string());
    assert_eq!(slip["request"]["servicePointPickup"], "Main desk");
    assert_eq!(pick_slips(&server, server.other_desk).await["totalRecords"], 0);
}

#[tokio::test]
async fn a_fulfilled_page_is_on_no_slip() {
    let server = LendingServer::open().await;
    let (test_item, ..) = paged(&server).await;
    server.check_in(&test_item, server.main_desk).await.expect(200);
    assert_eq!(pick_slips(&server, server.main_desk).await["totalRecords"], 0);
}

#[tokio::test]
async fn pick_slips_come_in_the_order_of_the_shelves() {
    let server = LendingServer::open().await;
    for _ in 0..3 {
        paged(&server).await;
    }
    let slips = pick_slips(&server, server.main_desk).await;
    let orders: Vec<&str> = slips["pickSlips"]
        .as_array()
        .expect("slips")
        .iter()
        .filter_map(|slip| slip["item"]["shelvingOrder"].as_str())
        .collect();
    assert_eq!(orders.len(), 3);
    assert!(orders.is_sorted());
}

#[tokio::test]
async fn an_unknown_service_point_has_no_slips() {
    let server = LendingServer::open().await;
    assert_eq!(
        report(&server, &format!("/circulation/pick-slips/{}", Uuid::new_v4())).await,
        json!({"pickSlips": [], "totalRecords": 0})
    );
    server.admin().get("/circulation/pick-slips/main").await.expect_status(400);
}

async fn search_slips(server: &LendingServer) -> Value {
    report(server, &format!("/circulation/search-slips/{}", server.main_desk.0)).await
}

async fn holds_are_printed(server: &LendingServer, enabled: bool) {
    let setting = json!({"id": Uuid::new_v4(), "name": "PRINT_HOLD_REQUESTS",
        "value": {"printHoldRequestsEnabled": enabled}});
    server.admin().post("/circulation/settings", &setting).await.expect(201);
}

#[tokio::test]
async fn holds_are_on_search_slips_only_if_enabled() {
    let server = LendingServer::open().await;
    let test_item = server.item_on_loan().await;
    server.hold(&test_item, &server.patron().await).await;
    assert_eq!(search_slips(&server).await, json!({"searchSlips": [], "totalRecords": 0}));
    holds_are_printed(&server, true).await;
    let slips = search_slips(&server).await;
    assert_eq!(slips["totalRecords"], 1);
    assert_eq!(slips["searchSlips"][0]["item"]["barcode"], test_item.barcode);
    holds_are_printed(&server, false).await;
    assert_eq!(search_slips(&server).await["totalRecords"], 0);
}

#[tokio::test]
async fn a_title_level_hold_is_on_the_search_slips_of_its_holdings_locations() {
    let server = LendingServer::open().await;
    server.enable_title_requests().await;
    holds_are_printed(&server, true).await;
    let test_item = server.item_on_loan().await;
    placed(&server.place_title_request(&test_item, &server.patron().await, "Hold", server.main_desk).await);
    let slips = search_slips(&server).await;
    assert_eq!(slips["totalRecords"], 1);
    let item = &slips["searchSlips"][0]["item"];
    assert!(item["title"].as_str().is_some_and(|title| title.starts_with("Book")));
    assert_eq!(item.get("barcode"), None);
    assert_eq!(item["effectiveLocationPrimaryServicePointName"], "Main desk");
}

async fn clearance(server: &LendingServer, desk: carrel_testkit::Desk) -> Value {
    report(server, &format!("/circulation/requests-reports/hold-shelf-clearance/{}", desk.0)).await
}

#[tokio::test]
async fn items_of_closed_requests_are_in_the_hold_shelf_clearance_report() {
    let server = LendingServer::open().await;
    let (test_item, _, page) = paged(&server).await;
    server.check_in(&test_item, server.main_desk).await.expect(200);
    assert_eq!(clearance(&server, server.main_desk).await["totalRecords"], 0);
    server.cancel(page).await.expect(204);
    let report = clearance(&server, server.main_desk).await;
    assert_eq!(report["totalRecords"], 1);
    let request = &report["requests"][0];
    assert_eq!(request["id"], page.to_string());
    assert_eq!(request["status"], "Closed - Cancelled");
    assert_eq!(request["item"]["status"], "Awaiting pickup");
    assert!(request["awaitingPickupRequestClosedDate"].is_string());
    assert_eq!(clearance(&server, server.other_desk).await["totalRecords"], 0);
    // After a check-in it is available and no longer listed.
    server.check_in(&test_item, server.main_desk).await.expect(200);
    assert_eq!(clearance(&server, server.main_desk).await["totalRecords"], 0);
}

#[tokio::test]
async fn an_item_with_two_closed_requests_is_listed_once_with_the_last_one() {
    let server = LendingServer::open().await;
    let (test_item, _, first) = paged(&server).await;
    let second = server.hold(&test_item, &server.patron().await).await;
    server.check_in(&test_item, server.main_desk).await.expect(200);
    server.cancel(first).await.expect(204);
    server.check_in(&test_item, server.main_desk).await.expect(200);
    server.time_passes_for(second).await;
    server.requests_expire().await;
    let report = clearance(&server, server.main_desk).await;
    assert_eq!(report["totalRecords"], 1);
    assert_eq!(report["requests"][0]["id"], second.to_string());
    assert_eq!(report["requests"][0]["status"], "Closed - Pickup expired");
}

#[tokio::test]
async fn items_in_transit_are_listed_with_destination_and_request() {
    let server = LendingServer::open().await;
    let test_item = server.item_on_loan().await;
    placed(&server.place_request(&test_item, &server.patron().await, "Hold", server.other_desk).await);
    server.check_in(&test_item, server.main_desk).await.expect(200);
    let report = report(&server, "/inventory-reports/items-in-transit").await;
    assert_eq!(report["totalRecords"], 1);
    let item = &report["items"][0];
    assert_eq!(item["id"], test_item.id.to_string());
    assert_eq!(item["status"], json!({"name": "In transit"}));
    assert_eq!(item["inTransitDestinationServicePoint"]["name"], "Other desk");
    assert_eq!(item["request"]["requestType"], "Hold");
    assert_eq!(item["request"]["requestPickupServicePointName"], "Other desk");
    assert_eq!(item["loan"]["checkInServicePoint"]["name"], "Main desk");
    assert_eq!(item["lastCheckIn"]["servicePoint"]["name"], "Main desk");
    assert_eq!(item["location"], json!({"name": "Stacks", "code": "S", "libraryName": "Library"}));
}

#[tokio::test]
async fn without_items_in_transit_the_list_is_empty() {
    let server = LendingServer::open().await;
    server.item().await;
    assert_eq!(
        report(&server, "/inventory-reports/items-in-transit").await,
        json!({"items": [], "totalRecords": 0})
    );
}

#[tokio::test]
async fn an_instance_is_shown_with_all_its_items() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let copy = server.copy_of(&test_item).await;
    server.check_out(&copy, &server.patron().await).await.expect(201);
    let title =
        report(&server, &format!("/circulation/items-by-instance?query=id=={}", test_item.instance)).await;
    assert_eq!(title["id"], test_item.instance.to_string());
    let statuses: Vec<&str> = title["items"]
        .as_array()
        .expect("items")
        .iter()
        .filter_map(|item| item["status"]["name"].as_str())
        .collect();
    assert_eq!(statuses, ["Available", "Checked out"]);
}

#[tokio::test]
async fn a_missing_instance_is_an_empty_object() {
    let server = LendingServer::open().await;
    let path = format!("/circulation/items-by-instance?query=id=={}", Uuid::new_v4());
    assert_eq!(report(&server, &path).await, json!({}));
    server.admin().get("/circulation/items-by-instance").await.expect_status(400);
}

#[tokio::test]
async fn a_closed_request_is_anonymized() {
    let server = LendingServer::open().await;
    let (_, _, page) = paged(&server).await;
    let path = format!("/request-anonymization/{page}");
    assert_eq!(server.admin().post(&path, &json!({})).await.refusals(), ["requestNotClosed"]);
    server.cancel(page).await.expect(204);
    let done = server.admin().post(&path, &json!({})).await.expect(200);
    assert_eq!(done, json!({"requestId": page, "anonymized": true}));
    let left = server.stored_request(page).await;
    assert_eq!((left.get("requesterId"), left.get("requester")), (None, None));
    server.request(page).await;
}

#[tokio::test]
async fn a_missing_request_cannot_be_anonymized() {
    let server = LendingServer::open().await;
    let refused = server.admin().post("/request-anonymization/me", &json!({})).await;
    assert_eq!(refused.refusals(), ["invalidRequestId"]);
    server
        .admin()
        .post(&format!("/request-anonymization/{}", Uuid::new_v4()), &json!({}))
        .await
        .expect_status(404);
    let timer = "/circulation/scheduled-request-anonymize-processing";
    server.admin().post(timer, &json!({})).await.expect_status(200);
}
