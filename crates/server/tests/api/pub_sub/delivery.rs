//! Delivery: at least once, in order, also if nodes or subscribers die.

use super::{TYPE, bodies, declare_publisher, deliver, publish, subscribe, until};
use carrel_testkit::{LendingServer, Subscriber, TestServer};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_published_event_reaches_its_subscriber_and_the_history() {
    let server = TestServer::start().await;
    let subscriber = Subscriber::start().await;
    deliver(&server.node, &subscriber);
    declare_publisher(&server.admin).await;
    subscribe(&server.admin, "mod-reader-1.2.3", TYPE).await;
    let event = publish(&server.admin, "{\"volume\":1}").await;
    until("the event is delivered", async || subscriber.accepted().len() == 1).await;
    let callback = &subscriber.accepted()[0];
    assert_eq!((callback.path.as_str(), callback.body.as_str()), ("/events", "{\"volume\":1}"));

    let id = event["id"].as_str().unwrap_or_default();
    let payload = server.admin.get(&format!("/pubsub/audit-messages/{id}/payload")).await.expect(200);
    assert_eq!(payload, json!({"eventId": id, "content": "{\"volume\":1}"}));
    let path =
        format!("/pubsub/history?startDate=2020-01-01&endDate=2099-01-01&eventId={id}&correlationId=c");
    until("the history has the delivery", async || {
        let history = server.admin.get(&path).await.expect(200);
        let messages = history["auditMessages"].as_array().cloned().unwrap_or_default();
        let states: Vec<&str> = messages.iter().filter_map(|message| message["state"].as_str()).collect();
        states == ["CREATED", "PUBLISHED", "DELIVERED"]
    })
    .await;
    carrel_pub_sub::stop(&server.node);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loan_is_published_like_by_mod_circulation_and_a_dead_subscriber_delays_no_other() {
    let server = LendingServer::open().await;
    let subscriber = Subscriber::start().await;
    deliver(&server.server.node, &subscriber);
    for (module, kind) in [
        ("mod-deaf-1.0.0", "ITEM_CHECKED_OUT"),
        ("mod-nowhere-1.0.0", "ITEM_CHECKED_OUT"),
        ("mod-reader-1.0.0", "ITEM_CHECKED_OUT"),
        ("mod-reader-1.0.0", "ITEM_CHECKED_IN"),
    ] {
        subscribe(server.admin(), module, kind).await;
    }
    let (patron, item) = (server.patron().await, server.item().await);
    let loan = server.check_out(&item, &patron).await.expect(201);
    server.check_in(&item, server.main_desk).await.expect(200);
    until("both events are delivered", async || subscriber.accepted().len() == 2).await;
    for body in bodies(&subscriber) {
        let body: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!((&body["loanId"], &body["userId"]), (&loan["id"], &json!(patron.id)));
    }
    let database = server.server.database().await;
    until("the others wait", async || {
        let sql = "SELECT last_error FROM pubsub_module WHERE next_attempt > now() ORDER BY module_id";
        let rows = database.query(sql, &[]).await.expect("subscriptions");
        let errors: Vec<String> = rows.iter().filter_map(|row| row.get(0)).collect();
        errors.len() == 2
            && errors[0].contains("does not answer")
            && errors[1] == "no address is configured for mod-nowhere-1.0.0"
    })
    .await;
    carrel_pub_sub::stop(&server.server.node);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_wait_in_order_for_a_subscriber_that_is_down() {
    let server = TestServer::start().await;
    let subscriber = Subscriber::start().await;
    subscriber.answer(503);
    deliver(&server.node, &subscriber);
    declare_publisher(&server.admin).await;
    subscribe(&server.admin, "mod-reader-1.0.0", TYPE).await;
    for number in 0..30 {
        publish(&server.admin, &number.to_string()).await;
    }
    until("it was tried", async || subscriber.count() > 0).await;
    subscriber.answer(200);
    until("all are delivered", async || subscriber.accepted().len() >= 30).await;
    let expected: Vec<String> = (0..30).map(|number| number.to_string()).collect();
    assert_eq!(bodies(&subscriber), expected);
    carrel_pub_sub::stop(&server.node);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_refused_five_times_is_skipped() {
    let server = TestServer::start().await;
    let subscriber = Subscriber::start().await;
    subscriber.answer(422);
    deliver(&server.node, &subscriber);
    declare_publisher(&server.admin).await;
    subscribe(&server.admin, "mod-reader-1.0.0", TYPE).await;
    publish(&server.admin, "bad").await;
    let database = server.database().await;
    until("it was refused five times", async || {
        // Ends the pauses between attempts.
        let soon = "UPDATE pubsub_module SET next_attempt = '-infinity'";
        database.batch_execute(soon).await.expect("subscriptions can be changed");
        subscriber.count() >= 5
    })
    .await;
    subscriber.answer(200);
    publish(&server.admin, "good").await;
    until("the next one is delivered", async || bodies(&subscriber).contains(&"good".to_owned())).await;
    assert_eq!(bodies(&subscriber), ["good"]);
    let rejected = "SELECT count(*) FROM pubsub_audit_message WHERE state = 'REJECTED'";
    let count: i64 = database.query_one(rejected, &[]).await.expect("a count").get(0);
    assert_eq!(count, 2, "the first refusal and the last one");
    carrel_pub_sub::stop(&server.node);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_commits_after_a_later_one_is_not_skipped() {
    let server = TestServer::start().await;
    let subscriber = Subscriber::start().await;
    declare_publisher(&server.admin).await;
    subscribe(&server.admin, "mod-reader-1.0.0", TYPE).await;
    let slow = server.database().await;
    slow.batch_execute(&format!(
        "BEGIN; INSERT INTO outbox (topic, key, payload, created)
         VALUES ('pubsub.{TYPE}', 'k', '{{\"eventPayload\": \"slow\"}}', now())"
    ))
    .await
    .expect("an open transaction with the lower number");
    publish(&server.admin, "quick").await;
    deliver(&server.node, &subscriber);
    let tenant = &server.tenant;
    until("the node has looked twice", async || {
        let follow = carrel_platform::outbox::follow::settled(tenant).await.expect("a number");
        let read = server.database().await;
        let last: i64 =
            read.query_one("SELECT last_value FROM outbox_id_seq", &[]).await.expect("a number").get(0);
        assert!(follow < last, "the later event must not be read before the earlier one is settled");
        true
    })
    .await;
    assert_eq!(bodies(&subscriber), Vec::<String>::new());
    slow.batch_execute("COMMIT").await.expect("it commits at last");
    until("both are delivered", async || subscriber.accepted().len() == 2).await;
    assert_eq!(bodies(&subscriber), ["slow", "quick"]);
    carrel_pub_sub::stop(&server.node);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_delivering_node_dies_another_one_continues() {
    const EVENTS: usize = 400;
    let server = TestServer::start().await;
    let other = server.another_node().await;
    let subscriber = Subscriber::start().await;
    declare_publisher(&server.admin).await;
    subscribe(&server.admin, "mod-reader-1.0.0", TYPE).await;
    let database = server.database().await;
    database
        .batch_execute(&format!(
            "INSERT INTO outbox (topic, key, payload, created)
             SELECT 'pubsub.{TYPE}', n::text, json_build_object('eventPayload', n::text), now()
             FROM generate_series(1, {EVENTS}) n"
        ))
        .await
        .expect("events");
    deliver(&server.node, &subscriber);
    until("the first node is in the middle", async || subscriber.count() > 60).await;
    carrel_pub_sub::stop(&server.node);
    deliver(&other, &subscriber);
    // Ends the lease of the dead node.
    let over =
        "UPDATE pubsub_module SET leased_until = now() - interval '1 second' WHERE leased_until IS NOT NULL";
    database.batch_execute(over).await.expect("subscriptions can be changed");
    let last = EVENTS.to_string();
    until("the other node delivers the rest", async || bodies(&subscriber).contains(&last)).await;
    let numbers: Vec<usize> = bodies(&subscriber).iter().filter_map(|body| body.parse().ok()).collect();
    let mut seen = 0;
    for number in &numbers {
        assert!(*number <= seen + 1, "after {seen} came {number}");
        seen = seen.max(*number);
    }
    assert_eq!(seen, EVENTS, "every event was delivered");
    assert!(numbers.len() <= EVENTS + 60, "only what was not yet stored is repeated: {}", numbers.len());
    carrel_pub_sub::stop(&other);
}
