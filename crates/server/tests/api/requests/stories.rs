//! Stories that staff tell.

use carrel_records::time;
use carrel_testkit::queues::{placed, positions, waiting};
use carrel_testkit::{Book, LendingLibrary, alter};
use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};
use uuid::Uuid;

async fn lent_by(library: &LendingLibrary, policy: Value) {
    let mut whole = json!({
        "id": Uuid::new_v4(), "name": "Policy of the story", "loanable": true, "renewable": true,
        "loansPolicy": {"profileId": "Rolling", "period": {"duration": 3, "intervalId": "Weeks"},
            "closedLibraryDueDateManagementId": "CURRENT_DUE_DATE_TIME"},
        "renewalsPolicy": {"unlimited": true, "renewFromId": "SYSTEM_DATE", "differentPeriod": false},
    });
    alter(&mut whole, &policy);
    library.create("/loan-policy-storage/loan-policies", &whole).await;
    let id = whole["id"].as_str().and_then(|id| Uuid::parse_str(id).ok()).expect("an id");
    library.lends_by(&format!("fallback-policy: {}", library.policies(id))).await;
}

fn due(loan: &Value) -> Timestamp {
    loan["dueDate"].as_str().and_then(time::parse).expect("a loan has a due date")
}

#[tokio::test]
async fn a_recall_of_a_loan_on_its_last_day() {
    let library = LendingLibrary::open().await;
    lent_by(
        &library,
        json!({"requestManagement": {"recalls": {
            "minimumGuaranteedLoanPeriod": {"duration": 1, "intervalId": "Weeks"},
            "recallReturnInterval": {"duration": 3, "intervalId": "Days"}}}}),
    )
    .await;
    let (book, borrower, reader) = (library.book().await, library.patron().await, library.patron().await);
    // Lent three weeks ago but for an hour.
    let lent = Timestamp::now().checked_sub(503.hours()).expect("a time");
    let loan =
        library.check_out_with(&book, &borrower, json!({"loanDate": lent.to_string()})).await.expect(201);
    let last_day = due(&loan);
    assert!(last_day > Timestamp::now() && last_day < Timestamp::now() + 24.hours());

    let recall = placed(&library.asks_for(&book, &reader, "Recall", library.main_desk).await);
    let recalled = library.open_loans_of(&borrower).await.remove(0);
    // Three days to return it would be longer than what is left: the loan stays due today.
    assert_eq!(due(&recalled), last_day);
    assert_eq!(recalled["action"], "recallrequested");
    let renewal = json!({"itemBarcode": book.barcode, "userBarcode": borrower.barcode});
    let refused = library.admin().post("/circulation/renew-by-barcode", &renewal).await;
    assert_eq!(refused.refusals(), ["items cannot be renewed when there is an active recall request"]);

    library.check_in(&book, library.main_desk).await.expect(200);
    assert_eq!(library.request_status(recall).await, "Open - Awaiting pickup");
    let refused = library.check_out(&book, &borrower).await;
    assert!(refused.refusals()[0].ends_with("because it has been requested by another patron"));
    let loan = library.check_out(&book, &reader).await.expect(201);
    assert_eq!(library.request_status(recall).await, "Closed - Filled");
    assert!(due(&loan) > Timestamp::now() + 480.hours(), "the next reader has it for three weeks");
    assert!(library.queue_of(&book).await.is_empty());
}

#[tokio::test]
async fn two_copies_three_readers_one_of_them_at_another_branch() {
    let library = LendingLibrary::open().await;
    library.takes_title_requests().await;
    let (main, branch) = (library.main_desk, library.other_desk);
    let one = library.book().await;
    let other = library.copy_of(&one).await;
    for copy in [&one, &other] {
        library.check_out(copy, &library.patron().await).await.expect(201);
    }
    let [first, second, third] = [library.patron().await, library.patron().await, library.patron().await];
    let firsts = placed(&library.asks_for_title(&one, &first, "Hold", main).await);
    let seconds = placed(&library.asks_for_title(&one, &second, "Hold", branch).await);
    let thirds = placed(&library.asks_for_title(&one, &third, "Hold", main).await);

    // The first copy is for the first reader, the second one travels to the branch.
    library.check_in(&other, main).await.expect(200);
    assert_eq!(library.request(firsts).await["itemId"], other.id.to_string());
    let sent = library.check_in(&one, main).await.expect(200);
    assert_eq!(sent["item"]["status"]["name"], "In transit");
    assert_eq!(sent["item"]["inTransitDestinationServicePointId"], branch.0.to_string());
    assert_eq!(library.request_status(seconds).await, "Open - In transit");
    library.check_in(&one, branch).await.expect(200);
    assert_eq!(library.request_status(seconds).await, "Open - Awaiting pickup");
    library.check_out_with(&one, &second, json!({"servicePointId": branch.0})).await.expect(201);
    assert_eq!(waiting(&library.queue_of_title(&one).await), [first.id, third.id]);

    // The first reader does not come.
    library.time_passes_for(firsts).await;
    library.requests_expire().await;
    assert_eq!(positions(&library.queue_of_title(&one).await), [1]);
    library.check_in(&other, main).await.expect(200);
    assert_eq!(library.request_status(thirds).await, "Open - Awaiting pickup");
    library.check_out(&other, &third).await.expect(201);
    assert!(library.queue_of_title(&one).await.is_empty());
}

async fn branch_closes(library: &LendingLibrary) {
    let path = format!("/service-points/{}", library.other_desk.0);
    let mut point = library.admin().get(&path).await.expect(200);
    point["pickupLocation"] = false.into();
    point.as_object_mut().expect("an object").remove("holdShelfExpiryPeriod");
    library.admin().put(&path, &point).await.expect(204);
}

#[tokio::test]
async fn a_pickup_point_that_closes() {
    let library = LendingLibrary::open().await;
    let book = library.lent_book().await;
    let reader = library.patron().await;
    let hold = placed(&library.asks_for(&book, &reader, "Hold", library.other_desk).await);
    branch_closes(&library).await;

    // Nobody asks for anything there any more.
    let refused = library.asks_for(&book, &library.patron().await, "Hold", library.other_desk).await;
    assert_eq!(refused.refusals(), ["Service point is not a pickup location"]);
    let allowed = format!("/circulation/requests/allowed-service-points?operation=replace&requestId={hold}");
    let allowed = library.admin().get(&allowed).await.expect(200);
    let names: Vec<&str> =
        allowed["Hold"].as_array().into_iter().flatten().filter_map(|point| point["name"].as_str()).collect();
    assert!(names.contains(&"Main desk") && !names.contains(&"Other desk"), "{names:?}");

    // Staff let the reader pick it up elsewhere; his place in the queue is his.
    library.edit_request(hold, json!({"pickupServicePointId": library.main_desk.0})).await.expect(204);
    let stored = library.stored_request(hold).await;
    assert_eq!(stored["searchIndex"]["pickupServicePointName"], "Main desk");
    assert_eq!(stored["position"], 1);
    library.check_in(&book, library.main_desk).await.expect(200);
    assert_eq!(library.request_status(hold).await, "Open - Awaiting pickup");
}

#[tokio::test]
async fn a_request_for_a_closed_pickup_point_can_still_be_cancelled() {
    let library = LendingLibrary::open().await;
    let book = library.book().await;
    let page = placed(&library.asks_for(&book, &library.patron().await, "Page", library.other_desk).await);
    branch_closes(&library).await;
    // FOLIO quirk: a new version names a pickup location, also one that only cancels.
    let refused = library.cancel(page).await;
    assert_eq!(refused.refusals(), ["Service point is not a pickup location"]);
    let moved = json!({"pickupServicePointId": library.main_desk.0, "status": "Closed - Cancelled"});
    library.edit_request(page, moved).await.expect(204);
    assert_eq!(library.status_of(&book).await, "Available");
}

async fn asks_for_whatever_copy(library: &LendingLibrary, book: &Book, patron: Uuid) -> Value {
    let order = json!({"instanceId": book.instance, "requesterId": patron,
        "requestDate": Timestamp::now().to_string(), "fulfillmentPreference": "Hold Shelf",
        "pickupServicePointId": library.main_desk.0});
    library.admin().post("/circulation/requests/instances", &order).await.expect(201)
}

#[tokio::test]
async fn a_title_level_page_turned_into_a_hold() {
    let library = LendingLibrary::open().await;
    library.takes_title_requests().await;
    let policy = library.request_policy;
    let pages_and_holds = json!({"id": policy, "name": "No recalls", "requestTypes": ["Page", "Hold"]});
    let path = format!("/request-policy-storage/request-policies/{policy}");
    library.admin().put(&path, &pages_and_holds).await.expect(204);
    let (book, first, second) = (library.book().await, library.patron().await, library.patron().await);

    // The only copy is fetched for the first reader; who asks next gets in line.
    let page = asks_for_whatever_copy(&library, &book, first.id).await;
    assert_eq!((&page["requestType"], &page["requestLevel"]), (&json!("Page"), &json!("Title")));
    assert_eq!(library.status_of(&book).await, "Paged");
    let hold = asks_for_whatever_copy(&library, &book, second.id).await;
    assert_eq!((&hold["requestType"], hold.get("itemId")), (&json!("Hold"), None));
    assert_eq!(positions(&library.queue_of_title(&book).await), [1, 2]);

    // The first reader gives up before anybody has fetched it.
    let page = page["id"].as_str().and_then(|id| Uuid::parse_str(id).ok()).expect("an id");
    library.cancel(page).await.expect(204);
    assert_eq!(library.status_of(&book).await, "Available");
    let hold = hold["id"].as_str().and_then(|id| Uuid::parse_str(id).ok()).expect("an id");
    assert_eq!(library.stored_request(hold).await["position"], 1);

    // Scanned, the copy is the second reader's.
    library.check_in(&book, library.main_desk).await.expect(200);
    let filled = library.request(hold).await;
    assert_eq!(filled["status"], "Open - Awaiting pickup");
    assert_eq!(filled["itemId"], book.id.to_string());
    assert_eq!(filled["item"]["barcode"], book.barcode);
}
