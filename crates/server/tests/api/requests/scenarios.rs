//! Scenarios from library practice.

use carrel_records::time;
use carrel_testkit::queues::{placed, positions, waiting};
use carrel_testkit::{LendingServer, TestItem, alter};
use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};
use uuid::Uuid;

async fn lent_by(server: &LendingServer, policy: Value) {
    let mut whole = json!({
        "id": Uuid::new_v4(), "name": "Policy of the story", "loanable": true, "renewable": true,
        "loansPolicy": {"profileId": "Rolling", "period": {"duration": 3, "intervalId": "Weeks"},
            "closedLibraryDueDateManagementId": "CURRENT_DUE_DATE_TIME"},
        "renewalsPolicy": {"unlimited": true, "renewFromId": "SYSTEM_DATE", "differentPeriod": false},
    });
    alter(&mut whole, &policy);
    server.create("/loan-policy-storage/loan-policies", &whole).await;
    let id = whole["id"].as_str().and_then(|id| Uuid::parse_str(id).ok()).expect("an id");
    server.lends_by(&format!("fallback-policy: {}", server.policies(id))).await;
}

fn due(loan: &Value) -> Timestamp {
    loan["dueDate"].as_str().and_then(time::parse).expect("a loan has a due date")
}

#[tokio::test]
async fn a_recall_of_a_loan_on_its_last_day() {
    let server = LendingServer::open().await;
    lent_by(
        &server,
        json!({"requestManagement": {"recalls": {
            "minimumGuaranteedLoanPeriod": {"duration": 1, "intervalId": "Weeks"},
            "recallReturnInterval": {"duration": 3, "intervalId": "Days"}}}}),
    )
    .await;
    let (test_item, borrower, reader) = (server.item().await, server.patron().await, server.patron().await);
    // Checked out three weeks less an hour ago.
    let lent = Timestamp::now().checked_sub(503.hours()).expect("a time");
    let loan =
        server.check_out_with(&test_item, &borrower, json!({"loanDate": lent.to_string()})).await.expect(201);
    let last_day = due(&loan);
    assert!(last_day > Timestamp::now() && last_day < Timestamp::now() + 24.hours());

    let recall = placed(&server.place_request(&test_item, &reader, "Recall", server.main_desk).await);
    let recalled = server.open_loans_of(&borrower).await.remove(0);
    // The minimum of three days is longer than the remaining time: the loan stays due today.
    assert_eq!(due(&recalled), last_day);
    assert_eq!(recalled["action"], "recallrequested");
    let renewal = json!({"itemBarcode": test_item.barcode, "userBarcode": borrower.barcode});
    let refused = server.admin().post("/circulation/renew-by-barcode", &renewal).await;
    assert_eq!(refused.refusals(), ["items cannot be renewed when there is an active recall request"]);

    server.check_in(&test_item, server.main_desk).await.expect(200);
    assert_eq!(server.request_status(recall).await, "Open - Awaiting pickup");
    let refused = server.check_out(&test_item, &borrower).await;
    assert!(refused.refusals()[0].ends_with("because it has been requested by another patron"));
    let loan = server.check_out(&test_item, &reader).await.expect(201);
    assert_eq!(server.request_status(recall).await, "Closed - Filled");
    assert!(due(&loan) > Timestamp::now() + 480.hours(), "the next reader has it for three weeks");
    assert!(server.queue_of(&test_item).await.is_empty());
}

#[tokio::test]
async fn two_items_for_three_patrons_at_two_branches() {
    let server = LendingServer::open().await;
    server.enable_title_requests().await;
    let (main, branch) = (server.main_desk, server.other_desk);
    let one = server.item().await;
    let other = server.copy_of(&one).await;
    for copy in [&one, &other] {
        server.check_out(copy, &server.patron().await).await.expect(201);
    }
    let [first, second, third] = [server.patron().await, server.patron().await, server.patron().await];
    let firsts = placed(&server.place_title_request(&one, &first, "Hold", main).await);
    let seconds = placed(&server.place_title_request(&one, &second, "Hold", branch).await);
    let thirds = placed(&server.place_title_request(&one, &third, "Hold", main).await);

    // The first item is for the first patron, the second one goes in transit to the branch.
    server.check_in(&other, main).await.expect(200);
    assert_eq!(server.request(firsts).await["itemId"], other.id.to_string());
    let sent = server.check_in(&one, main).await.expect(200);
    assert_eq!(sent["item"]["status"]["name"], "In transit");
    assert_eq!(sent["item"]["inTransitDestinationServicePointId"], branch.0.to_string());
    assert_eq!(server.request_status(seconds).await, "Open - In transit");
    server.check_in(&one, branch).await.expect(200);
    assert_eq!(server.request_status(seconds).await, "Open - Awaiting pickup");
    server.check_out_with(&one, &second, json!({"servicePointId": branch.0})).await.expect(201);
    assert_eq!(waiting(&server.queue_of_title(&one).await), [first.id, third.id]);

    // The first patron does not pick up the item.
    server.time_passes_for(firsts).await;
    server.requests_expire().await;
    assert_eq!(positions(&server.queue_of_title(&one).await), [1]);
    server.check_in(&other, main).await.expect(200);
    assert_eq!(server.request_status(thirds).await, "Open - Awaiting pickup");
    server.check_out(&other, &third).await.expect(201);
    assert!(server.queue_of_title(&one).await.is_empty());
}

async fn branch_closes(server: &LendingServer) {
    let path = format!("/service-points/{}", server.other_desk.0);
    let mut point = server.admin().get(&path).await.expect(200);
    point["pickupLocation"] = false.into();
    point.as_object_mut().expect("an object").remove("holdShelfExpiryPeriod");
    server.admin().put(&path, &point).await.expect(204);
}

#[tokio::test]
async fn a_pickup_service_point_is_closed() {
    let server = LendingServer::open().await;
    let test_item = server.item_on_loan().await;
    let reader = server.patron().await;
    let hold = placed(&server.place_request(&test_item, &reader, "Hold", server.other_desk).await);
    branch_closes(&server).await;

    // No new request can have this pickup service point.
    let refused = server.place_request(&test_item, &server.patron().await, "Hold", server.other_desk).await;
    assert_eq!(refused.refusals(), ["Service point is not a pickup location"]);
    let allowed = format!("/circulation/requests/allowed-service-points?operation=replace&requestId={hold}");
    let allowed = server.admin().get(&allowed).await.expect(200);
    let names: Vec<&str> =
        allowed["Hold"].as_array().into_iter().flatten().filter_map(|point| point["name"].as_str()).collect();
    assert!(names.contains(&"Main desk") && !names.contains(&"Other desk"), "{names:?}");

    // Staff change the pickup service point; the queue position is kept.
    server.edit_request(hold, json!({"pickupServicePointId": server.main_desk.0})).await.expect(204);
    let stored = server.stored_request(hold).await;
    assert_eq!(stored["searchIndex"]["pickupServicePointName"], "Main desk");
    assert_eq!(stored["position"], 1);
    server.check_in(&test_item, server.main_desk).await.expect(200);
    assert_eq!(server.request_status(hold).await, "Open - Awaiting pickup");
}

#[tokio::test]
async fn a_request_with_a_closed_pickup_service_point_can_be_cancelled() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let page =
        placed(&server.place_request(&test_item, &server.patron().await, "Page", server.other_desk).await);
    branch_closes(&server).await;
    // FOLIO quirk: a new version needs a pickup location, even if it only cancels the request.
    let refused = server.cancel(page).await;
    assert_eq!(refused.refusals(), ["Service point is not a pickup location"]);
    let moved = json!({"pickupServicePointId": server.main_desk.0, "status": "Closed - Cancelled"});
    server.edit_request(page, moved).await.expect(204);
    assert_eq!(server.status_of(&test_item).await, "Available");
}

async fn places_instance_level_request(server: &LendingServer, test_item: &TestItem, patron: Uuid) -> Value {
    let order = json!({"instanceId": test_item.instance, "requesterId": patron,
        "requestDate": Timestamp::now().to_string(), "fulfillmentPreference": "Hold Shelf",
        "pickupServicePointId": server.main_desk.0});
    server.admin().post("/circulation/requests/instances", &order).await.expect(201)
}

#[tokio::test]
async fn a_title_level_page_turned_into_a_hold() {
    let server = LendingServer::open().await;
    server.enable_title_requests().await;
    let policy = server.request_policy;
    let pages_and_holds = json!({"id": policy, "name": "No recalls", "requestTypes": ["Page", "Hold"]});
    let path = format!("/request-policy-storage/request-policies/{policy}");
    server.admin().put(&path, &pages_and_holds).await.expect(204);
    let (test_item, first, second) = (server.item().await, server.patron().await, server.patron().await);

    // The only item is paged for the first patron; the next requester is added to the queue.
    let page = places_instance_level_request(&server, &test_item, first.id).await;
    assert_eq!((&page["requestType"], &page["requestLevel"]), (&json!("Page"), &json!("Title")));
    assert_eq!(server.status_of(&test_item).await, "Paged");
    let hold = places_instance_level_request(&server, &test_item, second.id).await;
    assert_eq!((&hold["requestType"], hold.get("itemId")), (&json!("Hold"), None));
    assert_eq!(positions(&server.queue_of_title(&test_item).await), [1, 2]);

    // The first patron cancels before the item is retrieved.
    let page = page["id"].as_str().and_then(|id| Uuid::parse_str(id).ok()).expect("an id");
    server.cancel(page).await.expect(204);
    assert_eq!(server.status_of(&test_item).await, "Available");
    let hold = hold["id"].as_str().and_then(|id| Uuid::parse_str(id).ok()).expect("an id");
    assert_eq!(server.stored_request(hold).await["position"], 1);

    // After a check-in, the item is for the second patron.
    server.check_in(&test_item, server.main_desk).await.expect(200);
    let filled = server.request(hold).await;
    assert_eq!(filled["status"], "Open - Awaiting pickup");
    assert_eq!(filled["itemId"], test_item.id.to_string());
    assert_eq!(filled["item"]["barcode"], test_item.barcode);
}

#[tokio::test]
async fn a_title_level_request_with_a_malformed_holdings_record_id_can_be_cancelled() {
    let server = LendingServer::open().await;
    server.enable_title_requests().await;
    let test_item = server.item().await;
    let page = placed(
        &server.place_title_request(&test_item, &server.patron().await, "Page", server.main_desk).await,
    );
    let cancel =
        json!({"status": "Closed - Cancelled", "holdingsRecordId": "not-a-uuid", "itemId": test_item.id});
    server.edit_request(page, cancel).await.expect_status(204);
    let stored = server.stored_request(page).await;
    assert_eq!(stored["status"], "Closed - Cancelled");
    assert_eq!(stored["holdingsRecordId"], json!(test_item.holdings), "the item says which");
}

#[tokio::test]
async fn refusals_of_a_move_or_an_edit_are_not_counted() {
    let server = LendingServer::open().await;
    let (test_item, other) = (server.item_on_loan().await, server.item().await);
    let hold = server.hold(&test_item, &server.patron().await).await;
    let path = format!("/circulation/requests/{hold}/move");
    let moved = server.admin().post(&path, &json!({"destinationItemId": other.id})).await.expect(422);
    let edited = server.edit_request(hold, json!({"requestDate": null})).await.expect(422);
    for refused in [moved, edited] {
        let keys: Vec<&String> = refused.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["errors"]);
    }
}
