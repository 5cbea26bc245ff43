//! Event types, publishers and subscribers.

use super::{PUBLISHER, TYPE, declare_publisher, event, subscribe};
use carrel_testkit::TestServer;
use serde_json::json;

#[tokio::test]
async fn an_event_type_is_declared_once_and_deleted_when_unused() {
    let server = TestServer::start().await;
    let admin = &server.admin;
    declare_publisher(admin).await;
    let same = json!({"eventType": TYPE, "eventTTL": 1});
    admin.post("/pubsub/event-types", &same).await.expect(201);
    let other = json!({"eventType": TYPE, "eventTTL": 2});
    let refused = admin.post("/pubsub/event-types", &other).await;
    refused.expect_status(400);
    assert!(refused.text().contains("already exists, but the content is different"), "{}", refused.text());
    admin.put(&format!("/pubsub/event-types/{TYPE}"), &other).await.expect(200);
    let found = admin.get(&format!("/pubsub/event-types/{TYPE}")).await.expect(200);
    assert_eq!(found["eventTTL"], 2);
    assert_eq!(admin.get("/pubsub/event-types").await.expect(200)["totalRecords"], 1);

    let used = admin.delete(&format!("/pubsub/event-types/{TYPE}")).await;
    used.expect_status(400);
    assert!(used.text().contains(PUBLISHER), "{}", used.text());
    let path = format!("/pubsub/messaging-modules?moduleId={PUBLISHER}&moduleRole=PUBLISHER");
    admin.delete(&path).await.expect_status(204);
    admin.delete(&format!("/pubsub/event-types/{TYPE}")).await.expect_status(204);
    admin.get(&format!("/pubsub/event-types/{TYPE}")).await.expect_status(404);
}

#[tokio::test]
async fn a_publisher_needs_known_event_types() {
    let server = TestServer::start().await;
    let publisher =
        json!({"moduleId": PUBLISHER, "eventDescriptors": [{"eventType": "UNKNOWN", "eventTTL": 1}]});
    let answer = server.admin.post("/pubsub/event-types/declare/publisher", &publisher).await.expect(400);
    assert_eq!(answer["errors"][0]["message"], "Event type 'UNKNOWN' does not exist");
}

#[tokio::test]
async fn a_subscriber_may_come_before_the_publisher() {
    let server = TestServer::start().await;
    let admin = &server.admin;
    subscribe(admin, "mod-reader-1.0.0", TYPE).await;
    declare_publisher(admin).await;
    let path = format!("/pubsub/event-types/{TYPE}/subscribers");
    let listed = admin.get(&path).await.expect(200);
    assert_eq!(listed["messagingModules"][0]["subscriberCallback"], "/events");
    admin.delete(&format!("{path}?moduleId=mod-reader-1.0.0")).await.expect_status(204);
    assert_eq!(admin.get(&path).await.expect(200)["totalRecords"], 0);
}

#[tokio::test]
async fn a_callback_must_be_a_path() {
    let server = TestServer::start().await;
    for callback in ["http://10.0.0.1/", "//10.0.0.1/", "@10.0.0.1/", "events", "/a b", ""] {
        let body = json!({"moduleId": "mod-reader-1.0.0",
            "subscriptionDefinitions": [{"eventType": TYPE, "callbackAddress": callback}]});
        let answer = server.admin.post("/pubsub/event-types/declare/subscriber", &body).await;
        assert_eq!(answer.status, 422, "{callback}");
    }
    let path = format!("/pubsub/event-types/{TYPE}/subscribers");
    assert_eq!(server.admin.get(&path).await.expect(200)["totalRecords"], 0);
}

#[tokio::test]
async fn only_a_registered_publisher_can_publish_and_refusals_are_in_the_history() {
    let server = TestServer::start().await;
    let refused = server.admin.post("/pubsub/publish", &event("{}")).await;
    refused.expect_status(400);
    assert!(refused.text().ends_with("is not registered as PUBLISHER for event type BOOK_BOUND"));
    let path = "/pubsub/history?startDate=2020-01-01&endDate=2099-01-01";
    let history = server.admin.get(path).await.expect(200);
    let states: Vec<&str> = history["auditMessages"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|message| message["state"].as_str())
        .collect();
    assert_eq!(states, ["CREATED", "REJECTED"]);
    server.admin.get("/pubsub/history").await.expect_status(400);
}
