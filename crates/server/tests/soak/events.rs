//! Events for other programs need no more memory the more they are.

use super::{number_from, reach, resident_mib};
use carrel_pub_sub::Addresses;
use carrel_testkit::{Subscriber, TestServer};
use serde_json::json;
use std::time::Instant;

const TYPE: &str = "BOOK_BOUND";
const PUBLISHER: &str = "mod-bindery-1.0.0";
const SUBSCRIBER: &str = "mod-reader-1.0.0";
/// Memory may grow by so many MiB between the first tenth and the last.
const GROWTH_MIB: usize = 32;

/// `CARREL_EVENTS` events (a million) of a kilobyte go to one subscriber.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_need_no_more_memory_the_more_they_are() {
    let events = number_from("CARREL_EVENTS", 1_000_000);
    let server = TestServer::start().await;
    let subscriber = Subscriber::counting().await;
    let descriptor = json!({"eventType": TYPE, "eventTTL": 1});
    server.admin.post("/pubsub/event-types", &descriptor).await.expect(201);
    let publisher = json!({"moduleId": PUBLISHER, "eventDescriptors": [descriptor]});
    server.admin.post("/pubsub/event-types/declare/publisher", &publisher).await.expect_status(201);
    let definitions = json!([{"eventType": TYPE, "callbackAddress": "/events"}]);
    let wanted = json!({"moduleId": SUBSCRIBER, "subscriptionDefinitions": definitions});
    server.admin.post("/pubsub/event-types/declare/subscriber", &wanted).await.expect_status(201);
    let database = server.database().await;
    database
        .batch_execute(&format!(
            "INSERT INTO outbox (topic, key, payload, created)
             SELECT 'pubsub.{TYPE}', n::text, json_build_object('eventPayload', repeat('x', 1000)), now()
             FROM generate_series(1, {events}) n"
        ))
        .await
        .expect("events");
    let address = [format!("mod-reader={}", subscriber.url())];
    carrel_pub_sub::configure(&server.node, Addresses::read(&address).expect("an address"));
    carrel_pub_sub::start(&server.node);
    let begun = Instant::now();
    let mut resident = Vec::new();
    for tenth in 1..=10 {
        let share = events * tenth / 10;
        reach(share, || subscriber.count()).await;
        resident.push(resident_mib());
        let rate = share as f64 / begun.elapsed().as_secs_f64();
        println!("{share} events delivered, {rate:.0} a second, {} MiB resident", resident[tenth - 1]);
    }
    carrel_pub_sub::stop(&server.node);
    assert!(resident[9] <= resident[0] + GROWTH_MIB, "memory grows: {resident:?} MiB");
}
