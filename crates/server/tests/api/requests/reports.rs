//! What staff print and walk with.

use carrel_testkit::queues::placed;
use carrel_testkit::{Book, LendingLibrary, TestPatron};
use serde_json::{Value, json};
use uuid::Uuid;

async fn report(library: &LendingLibrary, path: &str) -> Value {
    library.admin().get(path).await.expect(200)
}

async fn pick_slips(library: &LendingLibrary, desk: carrel_testkit::Desk) -> Value {
    report(library, &format!("/circulation/pick-slips/{}", desk.0)).await
}

async fn paged(library: &LendingLibrary) -> (Book, TestPatron, Uuid) {
    let (book, patron) = (library.book().await, library.patron().await);
    let page = placed(&library.asks_for(&book, &patron, "Page", library.main_desk).await);
    (book, patron, page)
}

#[tokio::test]
async fn a_page_is_on_the_pick_slips_of_the_desk_that_serves_its_shelf() {
    let library = LendingLibrary::open().await;
    let (book, patron, page) = paged(&library).await;
    let slips = pick_slips(&library, library.main_desk).await;
    assert_eq!(slips["totalRecords"], 1);
    let slip = &slips["pickSlips"][0];
    assert_eq!(slip["item"]["barcode"], book.barcode);
    assert_eq!(slip["item"]["status"], "Paged");
    assert_eq!(slip["item"]["effectiveLocationSpecific"], "Stacks");
    assert_eq!(slip["item"]["effectiveLocationPrimaryServicePointName"], "Main desk");
    assert_eq!(slip["requester"]["barcode"], patron.barcode);
    assert_eq!(slip["request"]["requestID"], page.to_string());
    assert_eq!(slip["request"]["servicePointPickup"], "Main desk");
    assert_eq!(pick_slips(&library, library.other_desk).await["totalRecords"], 0);
}

#[tokio::test]
async fn a_page_that_was_fetched_is_on_no_slip() {
    let library = LendingLibrary::open().await;
    let (book, ..) = paged(&library).await;
    library.check_in(&book, library.main_desk).await.expect(200);
    assert_eq!(pick_slips(&library, library.main_desk).await["totalRecords"], 0);
}

#[tokio::test]
async fn pick_slips_come_in_the_order_of_the_shelves() {
    let library = LendingLibrary::open().await;
    for _ in 0..3 {
        paged(&library).await;
    }
    let slips = pick_slips(&library, library.main_desk).await;
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
async fn what_is_no_service_point_has_no_slips() {
    let library = LendingLibrary::open().await;
    assert_eq!(
        report(&library, &format!("/circulation/pick-slips/{}", Uuid::new_v4())).await,
        json!({"pickSlips": [], "totalRecords": 0})
    );
    library.admin().get("/circulation/pick-slips/main").await.expect_status(400);
}

async fn search_slips(library: &LendingLibrary) -> Value {
    report(library, &format!("/circulation/search-slips/{}", library.main_desk.0)).await
}

async fn holds_are_printed(library: &LendingLibrary, enabled: bool) {
    let setting = json!({"id": Uuid::new_v4(), "name": "PRINT_HOLD_REQUESTS",
        "value": {"printHoldRequestsEnabled": enabled}});
    library.admin().post("/circulation/settings", &setting).await.expect(201);
}

#[tokio::test]
async fn holds_are_looked_for_only_where_the_library_prints_them() {
    let library = LendingLibrary::open().await;
    let book = library.lent_book().await;
    library.hold(&book, &library.patron().await).await;
    assert_eq!(search_slips(&library).await, json!({"searchSlips": [], "totalRecords": 0}));
    holds_are_printed(&library, true).await;
    let slips = search_slips(&library).await;
    assert_eq!(slips["totalRecords"], 1);
    assert_eq!(slips["searchSlips"][0]["item"]["barcode"], book.barcode);
    holds_are_printed(&library, false).await;
    assert_eq!(search_slips(&library).await["totalRecords"], 0);
}

#[tokio::test]
async fn a_hold_of_a_title_is_looked_for_where_its_holdings_are() {
    let library = LendingLibrary::open().await;
    library.takes_title_requests().await;
    holds_are_printed(&library, true).await;
    let book = library.lent_book().await;
    placed(&library.asks_for_title(&book, &library.patron().await, "Hold", library.main_desk).await);
    let slips = search_slips(&library).await;
    assert_eq!(slips["totalRecords"], 1);
    let item = &slips["searchSlips"][0]["item"];
    assert!(item["title"].as_str().is_some_and(|title| title.starts_with("Book")));
    assert_eq!(item.get("barcode"), None);
    assert_eq!(item["effectiveLocationPrimaryServicePointName"], "Main desk");
}

async fn clearance(library: &LendingLibrary, desk: carrel_testkit::Desk) -> Value {
    report(library, &format!("/circulation/requests-reports/hold-shelf-clearance/{}", desk.0)).await
}

#[tokio::test]
async fn what_nobody_may_pick_up_any_more_is_to_be_taken_off_the_hold_shelf() {
    let library = LendingLibrary::open().await;
    let (book, _, page) = paged(&library).await;
    library.check_in(&book, library.main_desk).await.expect(200);
    assert_eq!(clearance(&library, library.main_desk).await["totalRecords"], 0);
    library.cancel(page).await.expect(204);
    let report = clearance(&library, library.main_desk).await;
    assert_eq!(report["totalRecords"], 1);
    let request = &report["requests"][0];
    assert_eq!(request["id"], page.to_string());
    assert_eq!(request["status"], "Closed - Cancelled");
    assert_eq!(request["item"]["status"], "Awaiting pickup");
    assert!(request["awaitingPickupRequestClosedDate"].is_string());
    assert_eq!(clearance(&library, library.other_desk).await["totalRecords"], 0);
    // Scanned, it goes back to its shelf and off the list.
    library.check_in(&book, library.main_desk).await.expect(200);
    assert_eq!(clearance(&library, library.main_desk).await["totalRecords"], 0);
}

#[tokio::test]
async fn an_item_given_up_twice_is_listed_once_with_the_last_request() {
    let library = LendingLibrary::open().await;
    let (book, _, first) = paged(&library).await;
    let second = library.hold(&book, &library.patron().await).await;
    library.check_in(&book, library.main_desk).await.expect(200);
    library.cancel(first).await.expect(204);
    library.check_in(&book, library.main_desk).await.expect(200);
    library.time_passes_for(second).await;
    library.requests_expire().await;
    let report = clearance(&library, library.main_desk).await;
    assert_eq!(report["totalRecords"], 1);
    assert_eq!(report["requests"][0]["id"], second.to_string());
    assert_eq!(report["requests"][0]["status"], "Closed - Pickup expired");
}

#[tokio::test]
async fn items_on_their_way_are_listed_with_where_and_for_whom() {
    let library = LendingLibrary::open().await;
    let book = library.lent_book().await;
    placed(&library.asks_for(&book, &library.patron().await, "Hold", library.other_desk).await);
    library.check_in(&book, library.main_desk).await.expect(200);
    let report = report(&library, "/inventory-reports/items-in-transit").await;
    assert_eq!(report["totalRecords"], 1);
    let item = &report["items"][0];
    assert_eq!(item["id"], book.id.to_string());
    assert_eq!(item["status"], json!({"name": "In transit"}));
    assert_eq!(item["inTransitDestinationServicePoint"]["name"], "Other desk");
    assert_eq!(item["request"]["requestType"], "Hold");
    assert_eq!(item["request"]["requestPickupServicePointName"], "Other desk");
    assert_eq!(item["loan"]["checkInServicePoint"]["name"], "Main desk");
    assert_eq!(item["lastCheckIn"]["servicePoint"]["name"], "Main desk");
    assert_eq!(item["location"], json!({"name": "Stacks", "code": "S", "libraryName": "Library"}));
}

#[tokio::test]
async fn nothing_on_its_way_is_an_empty_list() {
    let library = LendingLibrary::open().await;
    library.book().await;
    assert_eq!(
        report(&library, "/inventory-reports/items-in-transit").await,
        json!({"items": [], "totalRecords": 0})
    );
}

#[tokio::test]
async fn a_title_is_shown_with_all_its_copies() {
    let library = LendingLibrary::open().await;
    let book = library.book().await;
    let copy = library.copy_of(&book).await;
    library.check_out(&copy, &library.patron().await).await.expect(201);
    let title =
        report(&library, &format!("/circulation/items-by-instance?query=id=={}", book.instance)).await;
    assert_eq!(title["id"], book.instance.to_string());
    let statuses: Vec<&str> = title["items"]
        .as_array()
        .expect("items")
        .iter()
        .filter_map(|item| item["status"]["name"].as_str())
        .collect();
    assert_eq!(statuses, ["Available", "Checked out"]);
}

#[tokio::test]
async fn a_title_that_is_not_there_is_an_empty_object() {
    let library = LendingLibrary::open().await;
    let path = format!("/circulation/items-by-instance?query=id=={}", Uuid::new_v4());
    assert_eq!(report(&library, &path).await, json!({}));
    library.admin().get("/circulation/items-by-instance").await.expect_status(400);
}

#[tokio::test]
async fn a_request_that_is_over_forgets_who_asked() {
    let library = LendingLibrary::open().await;
    let (_, _, page) = paged(&library).await;
    let path = format!("/request-anonymization/{page}");
    assert_eq!(library.admin().post(&path, &json!({})).await.refusals(), ["requestNotClosed"]);
    library.cancel(page).await.expect(204);
    let done = library.admin().post(&path, &json!({})).await.expect(200);
    assert_eq!(done, json!({"requestId": page, "anonymized": true}));
    let left = library.stored_request(page).await;
    assert_eq!((left.get("requesterId"), left.get("requester")), (None, None));
    library.request(page).await;
}

#[tokio::test]
async fn what_is_no_request_cannot_be_anonymized() {
    let library = LendingLibrary::open().await;
    let refused = library.admin().post("/request-anonymization/me", &json!({})).await;
    assert_eq!(refused.refusals(), ["invalidRequestId"]);
    library
        .admin()
        .post(&format!("/request-anonymization/{}", Uuid::new_v4()), &json!({}))
        .await
        .expect_status(404);
    let timer = "/circulation/scheduled-request-anonymize-processing";
    library.admin().post(timer, &json!({})).await.expect_status(200);
}
