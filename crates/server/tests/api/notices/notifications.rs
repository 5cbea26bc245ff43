//! Messages to users of the system.

use carrel_testkit::{ADMIN, TestServer};
use serde_json::json;
use uuid::Uuid;

#[tokio::test]
async fn a_user_finds_their_own_notifications_and_clears_those_seen() {
    let server = TestServer::start().await;
    let note = json!({"recipientId": server.admin_id, "text": "Shelf 3 is full", "link": "/requests"});
    let mut own = server.post("/notify", &note).await.expect(201);
    assert_eq!(own["seen"], false);
    server.post(&format!("/notify/_username/{ADMIN}"), &json!({"text": "Closing at noon"})).await.expect(201);
    server.post("/notify", &json!({"recipientId": Uuid::new_v4(), "text": "For others"})).await.expect(201);
    let found = server.get("/notify/user/_self").await.expect(200);
    assert_eq!(found["totalRecords"], 2);
    assert_eq!(server.get("/notify/user/_self?query=text=noon").await.expect(200)["totalRecords"], 1);
    assert_eq!(server.get("/notify").await.expect(200)["totalRecords"], 3);
    server.delete("/notify/user/_self").await.expect_status(404);
    own["seen"] = true.into();
    let path = format!("/notify/{}", own["id"].as_str().expect("an id"));
    server.put(&path, &own).await.expect_status(204);
    server.delete("/notify/user/_self").await.expect_status(204);
    assert_eq!(server.get("/notify/user/_self").await.expect(200)["totalRecords"], 1);
}

#[tokio::test]
async fn a_notification_needs_a_recipient_who_exists() {
    let server = TestServer::start().await;
    let refused = server.post("/notify", &json!({"text": "Hello"})).await.expect(422);
    assert_eq!(refused["errors"][0]["parameters"][0]["key"], "recipientId");
    let unknown = server.post("/notify/_username/nobody", &json!({"text": "Hello"})).await.expect(400);
    assert_eq!(unknown, "User lookup failed. Can not find user nobody");
}

#[tokio::test]
async fn an_event_that_is_not_configured_stores_nothing() {
    let server = TestServer::start().await;
    let note = json!({"recipientId": server.admin_id, "text": "Hello", "eventConfigName": "NO_SUCH_EVENT"});
    let refused = server.post("/notify", &note).await.expect(400);
    assert_eq!(refused, "Event config with name 'NO_SUCH_EVENT' is not found");
    assert_eq!(server.get("/notify").await.expect(200)["totalRecords"], 0);
}
