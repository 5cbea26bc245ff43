//! Events for other programs.

mod declarations;
mod delivery;

use carrel_platform::Node;
use carrel_pub_sub::Addresses;
use carrel_testkit::{Client, Subscriber};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

const TYPE: &str = "BOOK_BOUND";
const PUBLISHER: &str = "mod-bindery-1.0.0";

/// Starts deliveries to `mod-reader`, and to `mod-deaf`, which does not answer.
fn deliver(node: &Arc<Node>, subscriber: &Subscriber) {
    let entries = [format!("mod-reader={}", subscriber.url()), "mod-deaf=http://127.0.0.1:9".to_owned()];
    carrel_pub_sub::configure(node, Addresses::read(&entries).expect("addresses"));
    carrel_pub_sub::start(node);
}

async fn declare_publisher(admin: &Client) {
    let descriptor = json!({"eventType": TYPE, "eventTTL": 1});
    admin.post("/pubsub/event-types", &descriptor).await.expect(201);
    let publisher = json!({"moduleId": PUBLISHER, "eventDescriptors": [descriptor]});
    admin.post("/pubsub/event-types/declare/publisher", &publisher).await.expect_status(201);
}

async fn subscribe(admin: &Client, module: &str, event_type: &str) {
    let definitions = json!([{"eventType": event_type, "callbackAddress": "/events"}]);
    let body = json!({"moduleId": module, "subscriptionDefinitions": definitions});
    admin.post("/pubsub/event-types/declare/subscriber", &body).await.expect_status(201);
}

fn event(payload: &str) -> Value {
    json!({"id": Uuid::new_v4(), "eventType": TYPE, "eventPayload": payload,
        "eventMetadata": {"tenantId": "diku", "eventTTL": 1, "publishedBy": PUBLISHER, "correlationId": "c"}})
}

async fn publish(admin: &Client, payload: &str) -> Value {
    let event = event(payload);
    admin.post("/pubsub/publish", &event).await.expect_status(204);
    event
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..1_200 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("waited a minute in vain: {what}");
}

fn bodies(subscriber: &Subscriber) -> Vec<String> {
    subscriber.accepted().into_iter().map(|callback| callback.body).collect()
}
