//! Placing a request takes one round trip for the facts and one for the changes.

use carrel_platform::ServerOptions;
use carrel_testkit::{LendingServer, TestServer};
use serde_json::json;

async fn counting() -> LendingServer {
    let options = ServerOptions { counts_round_trips: true, ..ServerOptions::default() };
    let server = LendingServer::on(TestServer::start_in(options).await).await;
    server.enable_title_requests().await;
    // Fills the caches.
    let (item, patron) = (server.item().await, server.patron().await);
    server.place_request(&item, &patron, "Page", server.main_desk).await.expect(201);
    server
}

#[tokio::test]
async fn a_request_of_an_item_takes_two_round_trips() {
    let server = counting().await;
    let (item, patron) = (server.item().await, server.patron().await);
    let reply = server.place_request(&item, &patron, "Page", server.main_desk).await;
    reply.expect(201);
    assert_eq!(reply.header("x-carrel-round-trips"), Some("2"), "facts and changes");
}

#[tokio::test]
async fn a_hold_after_others_takes_two_round_trips() {
    let server = counting().await;
    let item = server.item_on_loan().await;
    for _ in 0..3 {
        let reply = server.place_request(&item, &server.patron().await, "Hold", server.main_desk).await;
        reply.expect(201);
        assert_eq!(reply.header("x-carrel-round-trips"), Some("2"));
    }
}

#[tokio::test]
async fn a_request_of_a_title_takes_two_round_trips() {
    let server = counting().await;
    let (item, patron) = (server.item().await, server.patron().await);
    let reply = server.place_title_request(&item, &patron, "Page", server.main_desk).await;
    reply.expect(201);
    assert_eq!(reply.header("x-carrel-round-trips"), Some("2"));
}

#[tokio::test]
async fn an_instance_level_request_takes_two_round_trips() {
    let server = counting().await;
    let (item, patron) = (server.item_on_loan().await, server.patron().await);
    let order = json!({"instanceId": item.instance, "requesterId": patron.id,
        "requestDate": jiff::Timestamp::now().to_string(), "fulfillmentPreference": "Hold Shelf",
        "pickupServicePointId": server.main_desk.0});
    let reply = server.admin().post("/circulation/requests/instances", &order).await;
    reply.expect(201);
    assert_eq!(reply.header("x-carrel-round-trips"), Some("2"));
}
