//! Check-in through the public API: where items go, what the desk prints, what stays in the records.

use carrel_testkit::{Book, Desk, LendingLibrary, TestPatron};
use serde_json::{Value, json};

#[tokio::test]
async fn a_book_comes_back_to_its_shelf() {
    let library = LendingLibrary::open().await;
    let (book, patron) = (library.book().await, library.patron().await);
    let loan = library.check_out(&book, &patron).await.expect(201);

    let answer = library.check_in(&book, library.main_desk).await.expect(200);

    assert_eq!(answer["loan"]["status"]["name"], "Closed");
    assert_eq!(answer["loan"]["action"], "checkedin");
    assert_eq!(answer["item"]["status"], json!({"name": "Available"}));
    assert_eq!(answer["inHouseUse"], false);
    let stored = library.look_at(&book).await;
    assert_eq!(stored["status"]["name"], "Available");
    assert_eq!(stored["lastCheckIn"]["servicePointId"], json!(library.main_desk.0));
    let id = loan["id"].as_str().unwrap_or_default();
    let loan = library.admin().get(&format!("/loan-storage/loans/{id}")).await.expect(200);
    assert_eq!(loan["status"]["name"], "Closed");
    assert_eq!(loan["itemStatus"], "Available");
    let history = library.admin().get(&format!("/loan-storage/loan-history?query=loan.id=={id}")).await;
    assert_eq!(history.expect(200)["totalRecords"], 2, "one row of the check-out, one of the check-in");
}

#[tokio::test]
async fn a_scan_takes_two_flights_and_a_third_where_there_is_a_queue() {
    let manner = carrel_platform::tenant::Manner { counts_flights: true, ..Default::default() };
    let library = LendingLibrary::on(carrel_testkit::TestLibrary::start_in(manner).await).await;
    let (book, patron) = (library.book().await, library.patron().await);
    library.check_out(&book, &patron).await.expect(201);
    let flights = async |book| {
        let answer = library.check_in(book, library.main_desk).await;
        answer.expect(200);
        answer.header("x-carrel-flights").map(str::to_owned)
    };
    assert_eq!(
        flights(&book).await.as_deref(),
        Some("2"),
        "facts and changes: look for a query outside them"
    );
    request(&library, &book, &patron, 1, library.main_desk).await;
    assert_eq!(flights(&book).await.as_deref(), Some("3"), "the facts once more with the queue held");
}

#[tokio::test]
async fn a_requested_book_waits_for_its_reader_with_a_slip() {
    let library = LendingLibrary::open().await;
    let (book, borrower, reader) = (library.book().await, library.patron().await, library.patron().await);
    library.check_out(&book, &borrower).await.expect(201);
    let asked = request(&library, &book, &reader, 1, library.main_desk).await;

    let answer = library.check_in(&book, library.main_desk).await.expect(200);

    assert_eq!(answer["item"]["status"]["name"], "Awaiting pickup");
    let slip = &answer["staffSlipContext"];
    assert_eq!(slip["requester"]["barcode"], json!(reader.barcode));
    assert_eq!(slip["request"]["servicePointPickup"], "Main desk");
    assert_eq!(slip["item"]["fromServicePoint"], "Main desk");
    let asked = stored_request(&library, &asked).await;
    assert_eq!(asked["status"], "Open - Awaiting pickup");
    assert!(asked["holdShelfExpirationDate"].is_string(), "{asked}");
}

#[tokio::test]
async fn a_book_for_another_desk_travels_there() {
    let library = LendingLibrary::open().await;
    let (book, reader) = (library.book().await, library.patron().await);
    request(&library, &book, &reader, 1, library.other_desk).await;

    let sent = library.check_in(&book, library.main_desk).await.expect(200);
    assert_eq!(sent["item"]["status"]["name"], "In transit");
    assert_eq!(sent["item"]["inTransitDestinationServicePointId"], json!(library.other_desk.0));
    assert_eq!(sent["staffSlipContext"]["item"]["toServicePoint"], "Other desk");

    let arrived = library.check_in(&book, library.other_desk).await.expect(200);
    assert_eq!(arrived["item"]["status"]["name"], "Awaiting pickup");
    assert!(library.look_at(&book).await.get("inTransitDestinationServicePointId").is_none());
}

#[tokio::test]
async fn every_check_in_leaves_a_record() {
    let library = LendingLibrary::open().await;
    let book = library.book().await;

    let answer = library.check_in(&book, library.main_desk).await.expect(200);

    assert_eq!(answer["inHouseUse"], true);
    assert!(answer.get("loan").is_none());
    let path = format!("/check-in-storage/check-ins?query=itemId=={}", book.id);
    let records = library.admin().get(&path).await.expect(200);
    assert_eq!(records["checkIns"][0]["itemStatusPriorToCheckIn"], "Available");
    assert_eq!(records["checkIns"][0]["requestQueueSize"], 0);
}

#[tokio::test]
async fn an_unknown_barcode_is_refused() {
    let library = LendingLibrary::open().await;
    let nothing = Book { barcode: "nothing".into(), ..library.book().await };
    let answer = library.check_in(&nothing, library.main_desk).await;
    answer.expect(422);
    assert_eq!(answer.refusals(), ["No item with barcode nothing exists"]);
    assert_eq!(answer.json()["errors"][0]["code"], "ITEM_BARCODE_NOT_FOUND");
}

#[tokio::test]
async fn two_desks_that_scan_one_book_close_its_loan_once() {
    let library = LendingLibrary::open().await;
    let (book, patron) = (library.book().await, library.patron().await);
    let loan = library.check_out(&book, &patron).await.expect(201);
    let (here, there) =
        tokio::join!(library.check_in(&book, library.main_desk), library.check_in(&book, library.main_desk));
    let closed =
        [here.expect(200), there.expect(200)].iter().filter(|answer| answer.get("loan").is_some()).count();
    assert_eq!(closed, 1);
    let path =
        format!("/loan-storage/loan-history?query=loan.id=={}", loan["id"].as_str().unwrap_or_default());
    assert_eq!(library.admin().get(&path).await.expect(200)["totalRecords"], 2);
}

/// Stores a hold of the book; gives its id.
async fn request(
    library: &LendingLibrary,
    book: &Book,
    reader: &TestPatron,
    position: u32,
    pickup: Desk,
) -> String {
    let request = json!({"requestLevel": "Item", "requestType": "Hold", "requestDate": "2024-05-01T10:00:00Z",
        "requesterId": reader.id, "itemId": book.id, "instanceId": book.instance, "holdingsRecordId": book.holdings,
        "status": "Open - Not yet filled", "position": position, "fulfillmentPreference": "Hold Shelf",
        "pickupServicePointId": pickup.0});
    let stored = library.create("/request-storage/requests", &request).await;
    stored["id"].as_str().unwrap_or_default().to_owned()
}

async fn stored_request(library: &LendingLibrary, id: &str) -> Value {
    library.admin().get(&format!("/request-storage/requests/{id}")).await.expect(200)
}
