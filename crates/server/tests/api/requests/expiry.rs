//! Expiration of requests.

use carrel_testkit::queues::{placed, positions};
use carrel_testkit::{LendingServer, TestItem};
use uuid::Uuid;

/// An item on loan, and two holds of it.
async fn item_with_two_holds(server: &LendingServer) -> (TestItem, Uuid, Uuid) {
    let item = server.item_on_loan().await;
    let first = server.hold(&item, &server.patron().await).await;
    let second = server.hold(&item, &server.patron().await).await;
    (item, first, second)
}

#[tokio::test]
async fn an_expired_hold_is_closed_unfilled_and_the_following_requests_move_up() {
    let server = LendingServer::open().await;
    let (item, first, second) = item_with_two_holds(&server).await;
    server.time_passes_for(first).await;
    server.requests_expire().await;
    let gone = server.request(first).await;
    assert_eq!(gone["status"], "Closed - Unfilled");
    assert!(gone.get("position").is_none());
    let queue = server.queue_of(&item).await;
    assert_eq!(queue[0]["id"], second.to_string());
    assert_eq!(positions(&queue), [1]);
}

#[tokio::test]
async fn a_request_before_its_expiration_date_stays_open() {
    let server = LendingServer::open().await;
    let (item, _, _) = item_with_two_holds(&server).await;
    server.requests_expire().await;
    assert_eq!(positions(&server.queue_of(&item).await), [1, 2]);
}

#[tokio::test]
async fn an_item_not_picked_up_stays_on_the_hold_shelf_until_it_is_scanned() {
    let server = LendingServer::open().await;
    let (item, first, second) = item_with_two_holds(&server).await;
    server.check_in(&item, server.main_desk).await.expect(200);
    assert_eq!(server.request_status(first).await, "Open - Awaiting pickup");
    server.time_passes_for(first).await;
    server.requests_expire().await;
    let gone = server.request(first).await;
    assert_eq!(gone["status"], "Closed - Pickup expired");
    assert!(gone["awaitingPickupRequestClosedDate"].is_string());
    assert_eq!(server.status_of(&item).await, "Awaiting pickup");
    assert_eq!(server.request_status(second).await, "Open - Not yet filled");
    server.check_in(&item, server.main_desk).await.expect(200);
    assert_eq!(server.request_status(second).await, "Open - Awaiting pickup");
}

#[tokio::test]
async fn the_queue_of_a_title_closes_its_gaps() {
    let server = LendingServer::open().await;
    server.enable_title_requests().await;
    let item = server.item_on_loan().await;
    let mut ids = Vec::new();
    for _ in 0..4 {
        let patron = server.patron().await;
        ids.push(placed(&server.place_title_request(&item, &patron, "Hold", server.main_desk).await));
    }
    for id in [ids[0], ids[2]] {
        server.time_passes_for(id).await;
    }
    server.requests_expire().await;
    let queue = server.queue_of_title(&item).await;
    assert_eq!(positions(&queue), [1, 2]);
    let left: Vec<&str> = queue.iter().filter_map(|request| request["id"].as_str()).collect();
    assert_eq!(left, [ids[1].to_string(), ids[3].to_string()]);
}

#[tokio::test]
async fn the_event_of_an_expired_request_has_its_previous_version() {
    let server = LendingServer::open().await;
    let (_, first, _) = item_with_two_holds(&server).await;
    server.time_passes_for(first).await;
    server.requests_expire().await;
    let events = server
        .server
        .database()
        .await
        .query(
            "SELECT payload->'old'->>'status', payload->'new'->>'status' FROM outbox
             WHERE topic = 'circulation.request' AND key = $1 ORDER BY id DESC LIMIT 1",
            &[&first.to_string()],
        )
        .await
        .expect("the outbox can be read");
    let reported: (String, String) = (events[0].get(0), events[0].get(1));
    assert_eq!(reported, ("Open - Not yet filled".to_owned(), "Closed - Unfilled".to_owned()));
}
