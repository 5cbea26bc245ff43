//! What placing a request costs: one flight for the facts, one for the changes.

use carrel_platform::tenant::Manner;
use carrel_testkit::{LendingLibrary, TestLibrary};
use serde_json::json;

async fn counting() -> LendingLibrary {
    let manner = Manner { counts_flights: true, ..Manner::default() };
    let library = LendingLibrary::on(TestLibrary::start_in(manner).await).await;
    library.takes_title_requests().await;
    // What is read once and kept is read now.
    let (book, patron) = (library.book().await, library.patron().await);
    library.asks_for(&book, &patron, "Page", library.main_desk).await.expect(201);
    library
}

#[tokio::test]
async fn a_request_of_an_item_takes_two_flights() {
    let library = counting().await;
    let (book, patron) = (library.book().await, library.patron().await);
    let reply = library.asks_for(&book, &patron, "Page", library.main_desk).await;
    reply.expect(201);
    assert_eq!(reply.header("x-carrel-flights"), Some("2"), "facts and changes");
}

#[tokio::test]
async fn a_hold_behind_others_takes_two_flights() {
    let library = counting().await;
    let book = library.lent_book().await;
    for _ in 0..3 {
        let reply = library.asks_for(&book, &library.patron().await, "Hold", library.main_desk).await;
        reply.expect(201);
        assert_eq!(reply.header("x-carrel-flights"), Some("2"));
    }
}

#[tokio::test]
async fn a_request_of_a_title_takes_two_flights() {
    let library = counting().await;
    let (book, patron) = (library.book().await, library.patron().await);
    let reply = library.asks_for_title(&book, &patron, "Page", library.main_desk).await;
    reply.expect(201);
    assert_eq!(reply.header("x-carrel-flights"), Some("2"));
}

#[tokio::test]
async fn a_request_of_whatever_copy_can_be_had_takes_two_flights() {
    let library = counting().await;
    let (book, patron) = (library.lent_book().await, library.patron().await);
    let order = json!({"instanceId": book.instance, "requesterId": patron.id,
        "requestDate": jiff::Timestamp::now().to_string(), "fulfillmentPreference": "Hold Shelf",
        "pickupServicePointId": library.main_desk.0});
    let reply = library.admin().post("/circulation/requests/instances", &order).await;
    reply.expect(201);
    assert_eq!(reply.header("x-carrel-flights"), Some("2"));
}
