//! Events in a real broker.

mod kafka;
mod line;

use carrel_kafka_bridge::{Login, Mechanism, Message, Options, READER, Sender};
use carrel_testkit::{LendingServer, Scratch, TENANT};
use kafka::{Consumer, Kafka, LARGEST_MESSAGE, PASSWORD, USER};
use line::Line;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use uuid::Uuid;

const LONGEST: Duration = Duration::from_secs(90);

/// One test, as a broker takes seconds to start.
#[tokio::test(flavor = "multi_thread")]
async fn events_reach_a_broker_whatever_breaks() {
    let (folder, line) = (Scratch::named("kafka"), Line::open().await);
    std::fs::create_dir_all(&folder.folder).expect("a folder can be made");
    let kafka = match Kafka::start(&folder.folder, line.port).await {
        Ok(kafka) => kafka,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return;
        }
    };
    line.lead_to(kafka.port);
    let library = LendingServer::open().await;
    let node = &library.server.node;
    let consumer = Consumer::connect(line.port).await;
    let options = Options {
        brokers: vec![format!("127.0.0.1:{}", line.port)],
        prefix: "folio".into(),
        replication: 1,
        okapi_url: Some("http://carrel:9130".into()),
        certificates: None,
        login: None,
    };
    carrel_kafka_bridge::start(node, options.clone());
    // Another node sends for the same tenant; one of them at a time.
    let other = library.server.another_node().await;
    carrel_kafka_bridge::start(&other, options);

    changes_are_sent_as_folio_s_modules_do(&library, &consumer).await;
    a_cut_line_delays_no_desk_and_loses_nothing(&library, &consumer, &line).await;
    an_event_that_no_broker_takes_does_not_stop_the_next(&library, &consumer).await;

    brokers_that_ask_for_tls_and_a_login_get_both(&kafka, &consumer).await;

    carrel_kafka_bridge::stop(node);
    carrel_kafka_bridge::stop(&other);
}

async fn changes_are_sent_as_folio_s_modules_do(library: &LendingServer, consumer: &Consumer) {
    let (patron, item) = (library.patron().await, library.item().await);
    let loan = library.check_out(&item, &patron).await.expect(201);
    library.check_in(&item, library.main_desk).await.expect(200);
    let id = loan["id"].as_str().expect("a loan has an id");
    let loans = events(consumer, "circulation.loan", id, 2).await;
    let kinds: Vec<&Value> = loans.iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["CREATED", "UPDATED"]);
    assert_eq!(loans[0]["data"]["new"]["userId"], json!(patron.id));
    assert_eq!(loans[1]["data"]["old"]["status"]["name"], "Open");
    assert_eq!(loans[1]["data"]["new"]["status"]["name"], "Closed");
    assert_eq!(loans[0]["tenant"], TENANT);

    let path = format!("/item-storage/items/{}", item.id);
    let mut record = library.admin().get(&path).await.expect(200);
    record["copyNumber"] = json!("2");
    library.admin().put(&path, &record).await.expect_status(204);
    let items = events(consumer, "inventory.item", &item.id.to_string(), 2).await;
    let kinds: Vec<&Value> = items.iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["CREATE", "UPDATE"]);
    assert_eq!(items[1]["new"]["copyNumber"], "2");
    assert!(items.iter().all(|event| event["new"]["instanceId"] == json!(item.instance)), "{items:?}");
    let users = events(consumer, "users.users", &patron.id.to_string(), 1).await;
    assert_eq!(users[0]["data"]["new"]["barcode"], patron.barcode);

    let topic = format!("folio.{TENANT}.circulation.loan");
    let record = consumer.records(&topic).await.into_iter().next().expect("a record");
    let header =
        |name: &str| record.headers.get(name).map(|value| String::from_utf8_lossy(value).into_owned());
    assert_eq!(header("x-okapi-tenant").as_deref(), Some(TENANT));
    assert_eq!(header("x-okapi-url").as_deref(), Some("http://carrel:9130"));
}

async fn a_cut_line_delays_no_desk_and_loses_nothing(
    library: &LendingServer,
    consumer: &Consumer,
    line: &Line,
) {
    let user = library.patron().await;
    events(consumer, "users.users", &user.id.to_string(), 1).await;
    line.cut();
    let path = format!("/users/{}", user.id);
    for number in 0..40 {
        let mut record = library.admin().get(&path).await.expect(200);
        record["externalSystemId"] = json!(format!("change-{number}"));
        library.admin().put(&path, &record).await.expect_status(204);
    }
    let database = library.server.database().await;
    until("an attempt has failed and says why", async || {
        let sql = "SELECT last_error FROM outbox_reader WHERE name = $1 AND attempts > 0";
        let rows = database.query(sql, &[&READER]).await.expect("readers");
        rows.iter().any(|row| row.get::<_, Option<String>>(0).is_some())
    })
    .await;
    line.mend();
    let sent = events(consumer, "users.users", &user.id.to_string(), 41).await;
    let names: Vec<&str> =
        sent.iter().filter_map(|event| event["data"]["new"]["externalSystemId"].as_str()).collect();
    let expected: Vec<String> = (0..40).map(|number| format!("change-{number}")).collect();
    assert_eq!(names, expected);
}

async fn an_event_that_no_broker_takes_does_not_stop_the_next(library: &LendingServer, consumer: &Consumer) {
    let database = library.server.database().await;
    let key = Uuid::new_v4().to_string();
    for (kind, size) in [("CREATE", 10), ("UPDATE", LARGEST_MESSAGE), ("DELETE", 10)] {
        let text = "x".repeat(size);
        let payload = json!({"type": kind, "tenant": TENANT, "new": {"text": text}}).to_string();
        let sql = "INSERT INTO outbox (topic, key, payload, created)
                   VALUES ('circulation.request', $1, $2::text::json, now())";
        database.execute(sql, &[&key, &payload]).await.expect("an event");
    }
    let sent = events(consumer, "circulation.request", &key, 2).await;
    let kinds: Vec<&Value> = sent.iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["CREATED", "DELETED"]);
}

async fn brokers_that_ask_for_tls_and_a_login_get_both(kafka: &Kafka, consumer: &Consumer) {
    let certificates = kafka.certificate.to_string_lossy().into_owned();
    let sender = |mechanism: Mechanism, password: &str, certificates: &str| {
        Sender::new(Options {
            brokers: vec![format!("localhost:{}", kafka.secure_port)],
            prefix: "folio".into(),
            replication: 1,
            okapi_url: None,
            certificates: Some(certificates.to_owned()),
            login: Some(Login { mechanism, user: USER.into(), password: password.into() }),
        })
    };
    for mechanism in [Mechanism::Plain, Mechanism::ScramSha256] {
        let key = Uuid::new_v4().to_string();
        let message = Message {
            number: 1,
            topic: "users.userGroup".into(),
            key: key.clone(),
            value: json!({"id": key}).to_string(),
            timestamp: 0,
        };
        let sent = sender(mechanism, PASSWORD, &certificates).send(TENANT, vec![message.clone()]).await;
        assert_eq!(sent, Ok(Vec::new()), "{mechanism:?}");
        let received = events(consumer, "users.userGroup", &key, 1).await;
        assert_eq!(received[0]["id"], json!(key), "{mechanism:?}");
        let refused = sender(mechanism, "wrong", &certificates).send(TENANT, vec![message]).await;
        assert!(refused.is_err(), "{mechanism:?} with a wrong password");
    }
    let distrustful = sender(Mechanism::Plain, PASSWORD, "system");
    let message = Message {
        number: 1,
        topic: "users.userGroup".into(),
        key: "k".into(),
        value: "{}".into(),
        timestamp: 0,
    };
    let refused = distrustful.send(TENANT, vec![message]).await;
    assert!(refused.is_err(), "a broker whose certificate nobody has signed");
}

/// The events with the key, once there are so many different ones.
async fn events(consumer: &Consumer, topic: &str, key: &str, number: usize) -> Vec<Value> {
    let topic = format!("folio.{TENANT}.{topic}");
    let begun = Instant::now();
    loop {
        let mut events: Vec<Value> = consumer
            .records(&topic)
            .await
            .into_iter()
            .filter(|record| record.key.as_deref() == Some(key.as_bytes()))
            .filter_map(|record| serde_json::from_slice(&record.value?).ok())
            .collect();
        let mut ids: Vec<String> =
            events.iter().map(|event| format!("{}{}", event["id"], event["eventId"])).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.len() >= number {
            // What is sent again after a failure repeats the end of what came before.
            let mut seen = std::collections::HashSet::new();
            events.retain(|event| seen.insert(format!("{}{}", event["id"], event["eventId"])));
            return events;
        }
        assert!(begun.elapsed() < LONGEST, "only {} of {number} events of {key} in {topic}", ids.len());
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < LONGEST, "{what}: not within {LONGEST:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
