//! From not yet filled to filled: hold shelf, transit, delivery, and who is next.

use carrel_testkit::queues::{placed, positions, waiting};
use carrel_testkit::{Book, LendingLibrary, TestPatron};
use serde_json::{Value, json};
use uuid::Uuid;

/// A book that somebody has, and readers who wait for it.
async fn queue_of<const N: usize>(library: &LendingLibrary) -> (Book, [(TestPatron, Uuid); N]) {
    let book = library.lent_book().await;
    let mut readers = Vec::new();
    for _ in 0..N {
        let reader = library.patron().await;
        let hold = library.hold(&book, &reader).await;
        readers.push((reader, hold));
    }
    (book, readers.try_into().unwrap_or_else(|_| panic!("as many readers as asked for")))
}

#[tokio::test]
async fn a_returned_book_waits_on_the_hold_shelf_for_the_first_reader() {
    let library = LendingLibrary::open().await;
    let (book, [(reader, hold), (other, _)]) = queue_of(&library).await;
    let back = library.check_in(&book, library.main_desk).await.expect(200);
    assert_eq!(back["staffSlipContext"]["requester"]["barcode"], reader.barcode);
    let request = library.request(hold).await;
    assert_eq!(request["status"], "Open - Awaiting pickup");
    assert!(request["holdShelfExpirationDate"].is_string());
    let refused = library.check_out(&book, &other).await;
    assert!(refused.refusals()[0].ends_with("because it has been requested by another patron"));
    library.check_out(&book, &reader).await.expect(201);
    let filled = library.request(hold).await;
    assert_eq!((&filled["status"], filled.get("position")), (&json!("Closed - Filled"), None));
    let queue = library.queue_of(&book).await;
    assert_eq!((waiting(&queue), positions(&queue)), (vec![other.id], vec![1]));
}

#[tokio::test]
async fn every_step_of_a_request_is_announced() {
    let library = LendingLibrary::open().await;
    let (book, [(reader, hold)]) = queue_of(&library).await;
    library.check_in(&book, library.main_desk).await.expect(200);
    library.check_out(&book, &reader).await.expect(201);
    let events = library
        .library
        .database()
        .await
        .query(
            "SELECT payload->'new'->>'status' FROM outbox WHERE topic = 'circulation.request' AND key = $1 ORDER BY id",
            &[&hold.to_string()],
        )
        .await
        .expect("the outbox can be read");
    let told: Vec<String> = events.iter().map(|row| row.get(0)).collect();
    assert_eq!(told, ["Open - Not yet filled", "Open - Awaiting pickup", "Closed - Filled"]);
}

#[tokio::test]
async fn what_is_picked_up_elsewhere_travels() {
    let library = LendingLibrary::open().await;
    let book = library.lent_book().await;
    let reader = library.patron().await;
    let hold = placed(&library.asks_for(&book, &reader, "Hold", library.other_desk).await);
    library.check_in(&book, library.main_desk).await.expect(200);
    assert_eq!(library.request_status(hold).await, "Open - In transit");
    // Scanned once more where it is not picked up, it stays on its way.
    library.check_in(&book, library.main_desk).await.expect(200);
    assert_eq!(library.request_status(hold).await, "Open - In transit");
    library.check_in(&book, library.other_desk).await.expect(200);
    assert_eq!(library.request_status(hold).await, "Open - Awaiting pickup");
    assert_eq!(library.status_of(&book).await, "Awaiting pickup");
}

#[tokio::test]
async fn a_reader_who_names_the_wrong_title_gets_the_book_he_asked_for() {
    let library = LendingLibrary::open().await;
    library.takes_title_requests().await;
    let (book, other_title) = (library.book().await, library.book().await);
    library.check_out(&book, &library.patron().await).await.expect(201);
    let wish = json!({"instanceId": other_title.instance, "holdingsRecordId": other_title.holdings});
    let hold = placed(&library.ask_with("Hold", &book, &library.patron().await, wish).await);
    assert_eq!(library.request(hold).await["instanceId"], book.instance.to_string());
    assert_eq!(positions(&library.queue_of(&book).await), [1]);
    library.check_in(&book, library.main_desk).await.expect(200);
    assert_eq!(library.request_status(hold).await, "Open - Awaiting pickup");
}

#[tokio::test]
async fn a_book_taken_off_the_wrong_shelf_goes_back_to_its_reader() {
    let library = LendingLibrary::open().await;
    let (book, [(_, hold)]) = queue_of(&library).await;
    library.check_in(&book, library.main_desk).await.expect(200);
    library.check_in(&book, library.other_desk).await.expect(200);
    let request = library.request(hold).await;
    assert_eq!(request["status"], "Open - In transit");
    assert_eq!(request.get("holdShelfExpirationDate"), None);
    assert_eq!(
        library.look_at(&book).await["inTransitDestinationServicePointId"],
        library.main_desk.0.to_string()
    );
    library.check_in(&book, library.main_desk).await.expect(200);
    assert!(library.request(hold).await["holdShelfExpirationDate"].is_string());
}

#[tokio::test]
async fn what_is_delivered_waits_for_delivery_and_is_filled_by_lending() {
    let library = LendingLibrary::open().await;
    let book = library.lent_book().await;
    let reader = library.patron().await;
    let wish = json!({"fulfillmentPreference": "Delivery", "deliveryAddressTypeId": Uuid::new_v4(),
        "pickupServicePointId": null});
    let hold = placed(&library.ask_with("Hold", &book, &reader, wish).await);
    library.check_in(&book, library.main_desk).await.expect(200);
    assert_eq!(library.request_status(hold).await, "Open - Awaiting delivery");
    assert_eq!(library.status_of(&book).await, "Awaiting delivery");
    library.check_out(&book, &reader).await.expect(201);
    assert_eq!(library.request_status(hold).await, "Closed - Filled");
}

#[tokio::test]
async fn the_next_in_line_may_have_the_book_that_another_gave_up() {
    let library = LendingLibrary::open().await;
    let (book, [(_, first), (next, second)]) = queue_of(&library).await;
    library.check_in(&book, library.main_desk).await.expect(200);
    library.cancel(first).await.expect(204);
    let given_up = library.request(first).await;
    assert!(given_up["awaitingPickupRequestClosedDate"].is_string());
    // The book stays on the shelf, and nobody else may take it.
    assert_eq!(library.status_of(&book).await, "Awaiting pickup");
    assert_eq!(library.request_status(second).await, "Open - Not yet filled");
    assert_eq!(positions(&library.queue_of(&book).await), [1]);
    let refused = library.check_out(&book, &library.patron().await).await;
    assert!(refused.refusals()[0].ends_with("because it has been requested by another patron"));
    library.check_out(&book, &next).await.expect(201);
    assert_eq!(library.request_status(second).await, "Closed - Filled");
}

#[tokio::test]
async fn a_page_that_is_given_up_leaves_the_book_on_its_shelf() {
    let library = LendingLibrary::open().await;
    let (book, reader) = (library.book().await, library.patron().await);
    let page = placed(&library.asks_for(&book, &reader, "Page", library.main_desk).await);
    assert_eq!(library.status_of(&book).await, "Paged");
    library.cancel(page).await.expect(204);
    assert_eq!(library.status_of(&book).await, "Available");
}

#[tokio::test]
async fn a_page_with_a_hold_behind_it_stays_paged_when_given_up() {
    let library = LendingLibrary::open().await;
    let book = library.book().await;
    let page = placed(&library.asks_for(&book, &library.patron().await, "Page", library.main_desk).await);
    let hold = library.hold(&book, &library.patron().await).await;
    library.cancel(page).await.expect(204);
    assert_eq!(library.status_of(&book).await, "Paged");
    library.check_in(&book, library.main_desk).await.expect(200);
    assert_eq!(library.request_status(hold).await, "Open - Awaiting pickup");
}

#[tokio::test]
async fn a_deleted_request_lets_those_behind_move_up() {
    let library = LendingLibrary::open().await;
    let (book, [(_, first), (second, _), (third, _)]) = queue_of(&library).await;
    library.admin().delete(&format!("/circulation/requests/{first}")).await.expect(204);
    let queue = library.queue_of(&book).await;
    assert_eq!((waiting(&queue), positions(&queue)), (vec![second.id, third.id], vec![1, 2]));
}

#[tokio::test]
async fn what_is_over_stays_over() {
    let library = LendingLibrary::open().await;
    let (book, [(_, hold)]) = queue_of(&library).await;
    let other = library.copy_of(&book).await;
    library.cancel(hold).await.expect(204);
    let again = library.edit_request(hold, json!({"status": "Open - Not yet filled"})).await;
    assert_eq!(again.refusals(), ["The Request has already been closed"]);
    let wish = json!({"destinationItemId": other.id});
    let moved = library.admin().post(&format!("/circulation/requests/{hold}/move"), &wish).await;
    assert_eq!(moved.refusals(), ["The Request has already been closed"]);
}

#[tokio::test]
async fn a_request_moved_to_another_copy_stands_last_there() {
    let library = LendingLibrary::open().await;
    let (book, [(_, first), (second, _)]) = queue_of(&library).await;
    let other = library.copy_of(&book).await;
    library.check_out(&other, &library.patron().await).await.expect(201);
    let there = library.patron().await;
    library.hold(&other, &there).await;
    let wish = json!({"destinationItemId": other.id});
    let moved: Value =
        library.admin().post(&format!("/circulation/requests/{first}/move"), &wish).await.expect(200);
    assert_eq!(moved["position"], 2);
    let (left, joined) = (library.queue_of(&book).await, library.queue_of(&other).await);
    assert_eq!((waiting(&left), positions(&left)), (vec![second.id], vec![1]));
    assert_eq!(positions(&joined), [1, 2]);
    assert_eq!(waiting(&joined)[0], there.id);
}

#[tokio::test]
async fn a_queue_in_another_order() {
    let library = LendingLibrary::open().await;
    let (book, [(first, one), (second, two), (third, three)]) = queue_of(&library).await;
    let path = format!("/circulation/requests/queue/item/{}/reorder", book.id);
    let order = |ids: &[Uuid]| {
        let wishes: Vec<Value> =
            ids.iter().zip(1..).map(|(id, place)| json!({"id": id, "newPosition": place})).collect();
        json!({"reorderedQueue": wishes})
    };
    library.admin().post(&path, &order(&[three, one, two])).await.expect(200);
    assert_eq!(waiting(&library.queue_of(&book).await), [third.id, first.id, second.id]);
    let refused = library.admin().post(&path, &order(&[three, one])).await;
    assert_eq!(
        refused.refusals(),
        ["There is inconsistency between provided reordered queue and existing queue."]
    );
    library.check_in(&book, library.main_desk).await.expect(200);
    let refused = library.admin().post(&path, &order(&[one, three, two])).await;
    assert_eq!(refused.refusals(), ["Requests can not be displaced from position 1 when fulfillment begun."]);
    library.takes_title_requests().await;
    let refused = library.admin().post(&path, &order(&[three, one, two])).await;
    assert_eq!(refused.refusals(), ["Refuse to reorder request queue, TLR feature status is ENABLED."]);
}

#[tokio::test]
async fn who_gets_a_copy_goes_ahead_of_those_who_wait_for_another_one() {
    let library = LendingLibrary::open().await;
    library.takes_title_requests().await;
    let book = library.book().await;
    let other = library.copy_of(&book).await;
    for copy in [&book, &other] {
        library.check_out(copy, &library.patron().await).await.expect(201);
    }
    let (patient, flexible) = (library.patron().await, library.patron().await);
    library.hold(&other, &patient).await;
    placed(&library.asks_for_title(&book, &flexible, "Hold", library.main_desk).await);
    library.check_in(&book, library.main_desk).await.expect(200);
    let queue = library.queue_of_title(&book).await;
    assert_eq!((waiting(&queue), positions(&queue)), (vec![flexible.id, patient.id], vec![1, 2]));
    assert_eq!(queue[0]["status"], "Open - Awaiting pickup");
}
