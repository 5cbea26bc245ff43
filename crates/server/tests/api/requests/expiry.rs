//! Requests whose time is over.

use carrel_testkit::queues::{placed, positions};
use carrel_testkit::{Book, LendingLibrary};
use uuid::Uuid;

/// A book that somebody has, and two holds behind it.
async fn two_wait(library: &LendingLibrary) -> (Book, Uuid, Uuid) {
    let book = library.lent_book().await;
    let first = library.hold(&book, &library.patron().await).await;
    let second = library.hold(&book, &library.patron().await).await;
    (book, first, second)
}

#[tokio::test]
async fn a_hold_past_its_date_is_closed_unfilled_and_those_behind_move_up() {
    let library = LendingLibrary::open().await;
    let (book, first, second) = two_wait(&library).await;
    library.time_passes_for(first).await;
    library.requests_expire().await;
    let gone = library.request(first).await;
    assert_eq!(gone["status"], "Closed - Unfilled");
    assert!(gone.get("position").is_none());
    let queue = library.queue_of(&book).await;
    assert_eq!(queue[0]["id"], second.to_string());
    assert_eq!(positions(&queue), [1]);
}

#[tokio::test]
async fn a_request_that_still_has_time_stays() {
    let library = LendingLibrary::open().await;
    let (book, _, _) = two_wait(&library).await;
    library.requests_expire().await;
    assert_eq!(positions(&library.queue_of(&book).await), [1, 2]);
}

#[tokio::test]
async fn what_is_not_picked_up_stays_on_the_shelf_until_staff_scan_it_for_the_next_one() {
    let library = LendingLibrary::open().await;
    let (book, first, second) = two_wait(&library).await;
    library.check_in(&book, library.main_desk).await.expect(200);
    assert_eq!(library.request_status(first).await, "Open - Awaiting pickup");
    library.time_passes_for(first).await;
    library.requests_expire().await;
    let gone = library.request(first).await;
    assert_eq!(gone["status"], "Closed - Pickup expired");
    assert!(gone["awaitingPickupRequestClosedDate"].is_string());
    assert_eq!(library.status_of(&book).await, "Awaiting pickup");
    assert_eq!(library.request_status(second).await, "Open - Not yet filled");
    library.check_in(&book, library.main_desk).await.expect(200);
    assert_eq!(library.request_status(second).await, "Open - Awaiting pickup");
}

#[tokio::test]
async fn the_queue_of_a_title_closes_its_gaps() {
    let library = LendingLibrary::open().await;
    library.takes_title_requests().await;
    let book = library.lent_book().await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        let patron = library.patron().await;
        ids.push(placed(&library.asks_for_title(&book, &patron, "Hold", library.main_desk).await));
    }
    for id in [ids[0], ids[2]] {
        library.time_passes_for(id).await;
    }
    library.requests_expire().await;
    let queue = library.queue_of_title(&book).await;
    assert_eq!(positions(&queue), [1, 2]);
    let left: Vec<&str> = queue.iter().filter_map(|request| request["id"].as_str()).collect();
    assert_eq!(left, [ids[1].to_string(), ids[3].to_string()]);
}

#[tokio::test]
async fn an_end_is_announced_with_what_the_request_was_before() {
    let library = LendingLibrary::open().await;
    let (_, first, _) = two_wait(&library).await;
    library.time_passes_for(first).await;
    library.requests_expire().await;
    let events = library
        .library
        .database()
        .await
        .query(
            "SELECT payload->'old'->>'status', payload->'new'->>'status' FROM outbox
             WHERE topic = 'circulation.request' AND key = $1 ORDER BY id DESC LIMIT 1",
            &[&first.to_string()],
        )
        .await
        .expect("the outbox can be read");
    let told: (String, String) = (events[0].get(0), events[0].get(1));
    assert_eq!(told, ("Open - Not yet filled".to_owned(), "Closed - Unfilled".to_owned()));
}
