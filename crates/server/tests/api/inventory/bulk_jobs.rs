//! Bulk jobs over all instances or items: created, run in the background, canceled, continued after a crash.

use carrel_platform::jobs;
use carrel_testkit::LendingServer;
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

const REINDEX: &str = "/instance-storage/reindex";
const ITERATION: &str = "/instance-storage/instances/iteration";
const MIGRATION: &str = "/inventory-storage/migrations/jobs";

fn id_of(job: &Value) -> &str {
    job["id"].as_str().expect("a bulk job has an id")
}

/// Waits until a bulk job has the status.
async fn until_status(server: &LendingServer, path: &str, job: &Value, status: &str) -> Value {
    let path = format!("{path}/{}", id_of(job));
    let mut seen = Value::Null;
    for _ in 0..600 {
        seen = server.admin().get(&path).await.expect(200);
        if seen["jobStatus"] == status {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("waited in vain for {status}: {seen}");
}

/// Number of events of a topic and type, and of their distinct keys.
async fn announced(server: &LendingServer, topic: &str, kind: &str) -> (i64, i64) {
    let sql = "SELECT count(*), count(DISTINCT key) FROM outbox WHERE topic = $1 AND payload->>'type' = $2
                   AND payload->>'tenant' = 'diku'";
    let row = server.server.database().await.query_one(sql, &[&topic, &kind]).await.expect("events");
    (row.get(0), row.get(1))
}

/// Inserts many instances.
async fn titles(server: &LendingServer, number: i32) {
    let test_item = server.item().await;
    let sql = "INSERT INTO instance (id, doc) SELECT one.id, doc || jsonb_build_object('id', one.id, 'hrid', one.id)
               FROM instance, (SELECT gen_random_uuid() AS id FROM generate_series(1, $1)) one WHERE instance.id = $2";
    server.server.database().await.execute(sql, &[&number, &test_item.instance]).await.expect("titles");
}

#[tokio::test]
async fn a_reindex_publishes_one_event_per_instance() {
    let server = LendingServer::open().await;
    titles(&server, 2_499).await;
    let node = jobs::start(&server.server.node);
    let job = server.admin().post(REINDEX, &json!({})).await.expect(200);
    assert_eq!((&job["jobStatus"], &job["published"]), (&json!("In progress"), &json!(0)));
    let done = until_status(&server, REINDEX, &job, "Ids published").await;
    assert_eq!((&done["published"], &done["resourceName"]), (&json!(2_500), &json!("Instance")));
    assert_eq!(announced(&server, "inventory.instance", "REINDEX").await, (2_500, 2_500));
    let listed = server.admin().get(&format!("{REINDEX}?query=resourceName==Instance")).await.expect(200);
    assert_eq!((&listed["totalRecords"], &listed["reindexJobs"][0]), (&json!(1), &done));
    let finished = server.admin().delete(&format!("{REINDEX}/{}", id_of(&job))).await;
    assert_eq!((finished.status, finished.text().as_str()), (400, "The job has been finished"));
    node.stop().await;
}

#[tokio::test]
async fn a_bulk_job_continues_where_a_dead_node_left_it() {
    let server = LendingServer::open().await;
    titles(&server, 4).await;
    let job = server.admin().post(REINDEX, &json!({})).await.expect(200);
    let database = server.server.database().await;
    let id = Uuid::parse_str(id_of(&job)).expect("an id");
    let left = "INSERT INTO bulk_job_progress (job_id, reached) SELECT $1, id FROM instance ORDER BY id OFFSET 1 LIMIT 1";
    database.execute(left, &[&id]).await.expect("a bulk job that was begun");
    let counted = "UPDATE reindex_job SET doc = doc || '{\"published\": 2}' WHERE id = $1";
    database.execute(counted, &[&id]).await.expect("and counted");
    let node = jobs::start(&server.server.node);
    let done = until_status(&server, REINDEX, &job, "Ids published").await;
    assert_eq!(done["published"], 5);
    assert_eq!(announced(&server, "inventory.instance", "REINDEX").await, (3, 3));
    let rest = database.query_one("SELECT count(*) FROM bulk_job_progress", &[]).await.expect("a number");
    assert_eq!(rest.get::<_, i64>(0), 0);
    node.stop().await;
}

#[tokio::test]
async fn a_canceled_bulk_job_publishes_no_more_events() {
    let server = LendingServer::open().await;
    server.item().await;
    let order = json!({"topicName": "inventory.instance-contribution"});
    for (path, order, pending, status) in [
        (REINDEX, json!({}), "Pending cancel", "Id publishing cancelled"),
        (ITERATION, order, "Cancellation pending", "Cancelled"),
        (MIGRATION, json!({"migrations": ["itemOrderMigration"]}), "Pending cancel", "Cancelled"),
    ] {
        let job = server.admin().post(path, &order).await.json();
        let one = format!("{path}/{}", id_of(&job));
        server.admin().delete(&one).await.expect(204);
        assert_eq!(server.admin().get(&one).await.expect(200)["jobStatus"], pending);
        let node = jobs::start(&server.server.node);
        until_status(&server, path, &job, status).await;
        server.admin().delete(&one).await.expect(204);
        server.admin().delete(&format!("{path}/{}", Uuid::new_v4())).await.expect_status(404);
        node.stop().await;
    }
    assert_eq!(announced(&server, "inventory.instance", "REINDEX").await, (0, 0));
}

#[tokio::test]
async fn an_iteration_publishes_under_its_topic() {
    let server = LendingServer::open().await;
    server.item().await;
    server.item().await;
    let node = jobs::start(&server.server.node);
    let order = json!({"topicName": "inventory.instance-contribution"});
    let job = server.admin().post(ITERATION, &order).await.expect(201);
    assert_eq!(
        job["jobParams"],
        json!({"eventType": "ITERATE", "topicName": "inventory.instance-contribution"})
    );
    let done = until_status(&server, ITERATION, &job, "Completed").await;
    assert_eq!(done["messagesPublished"], 2);
    assert_eq!(announced(&server, "inventory.instance-contribution", "ITERATE").await, (2, 2));
    node.stop().await;
    for order in
        [json!({}), json!({"topicName": "no topic"}), json!({"topicName": "t", "eventType": "DANCE"})]
    {
        server.admin().post(ITERATION, &order).await.expect_status(422);
    }
}

#[tokio::test]
async fn items_get_order_numbers_by_barcode() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let (second, third) = (server.copy_of(&test_item).await, server.copy_of(&test_item).await);
    server.item().await;
    let database = server.server.database().await;
    database.execute("UPDATE item SET doc = doc - 'order'", &[]).await.expect("items of an older release");
    let known = server.admin().get("/inventory-storage/migrations").await.expect(200);
    assert_eq!(known["asyncMigrations"][0]["migrations"], json!(["itemOrderMigration"]));
    let node = jobs::start(&server.server.node);
    let job =
        server.admin().post(MIGRATION, &json!({"migrations": ["itemOrderMigration"]})).await.expect(200);
    let done = until_status(&server, MIGRATION, &job, "Completed").await;
    assert_eq!(done["processed"], json!([{"migrationName": "itemOrderMigration", "count": 2}]));
    assert!(done["finishedDate"].is_string());
    let mut copies = [&test_item, &second, &third];
    copies.sort_by(|a, b| a.barcode.cmp(&b.barcode));
    for (copy, place) in copies.into_iter().zip(1..) {
        assert_eq!(server.look_at(copy).await["order"], place, "{}", copy.barcode);
    }
    let next = server.copy_of(&test_item).await;
    assert_eq!(server.look_at(&next).await["order"], 4);
    let listed = server.admin().get(MIGRATION).await.expect(200);
    assert_eq!(listed["jobs"][0], done);
    let unknown = server.admin().post(MIGRATION, &json!({"migrations": ["a", "b"]})).await;
    assert_eq!(
        (unknown.status, unknown.text().as_str()),
        (400, "One or more migrations are not available. Migrations: a b")
    );
    node.stop().await;
}

#[tokio::test]
async fn records_of_a_range_are_published_in_full() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let every = json!({"from": Uuid::nil(), "to": Uuid::max()});
    let database = server.server.database().await;
    for (kind, id, more) in [
        ("instance", test_item.instance, json!({"isBoundWith": false})),
        ("holdings", test_item.holdings, json!({})),
        ("item", test_item.id, json!({"instanceId": test_item.instance})),
    ] {
        let range = Uuid::new_v4();
        let order = json!({"id": range, "recordType": kind, "recordIdsRange": every});
        server.admin().post("/inventory-reindex-records/publish", &order).await.expect_status(201);
        let sql = "SELECT payload::text FROM outbox WHERE topic = 'inventory.reindex-records' AND key = $1";
        let row = database.query_one(sql, &[&range.to_string()]).await.expect("one event");
        let event: Value = serde_json::from_str(row.get(0)).expect("an event is JSON");
        assert_eq!((&event["recordType"], &event["tenant"]), (&json!(kind), &json!("diku")));
        assert_eq!(event["records"].as_array().map(Vec::len), Some(1), "{event}");
        assert_eq!(event["records"][0]["id"], json!(id));
        for (name, value) in more.as_object().into_iter().flatten() {
            assert_eq!(event["records"][0][name], *value, "{kind} {name}");
        }
    }
    let nothing = json!({"id": Uuid::new_v4(), "recordType": "item",
        "recordIdsRange": {"from": Uuid::nil(), "to": Uuid::nil()}});
    server.admin().post("/inventory-reindex-records/publish", &nothing).await.expect_status(201);
    let wrong = json!({"id": Uuid::new_v4(), "recordType": "shelf", "recordIdsRange": every});
    server.admin().post("/inventory-reindex-records/publish", &wrong).await.expect_status(422);
    server.admin().post("/inventory-reindex-records/publish", &json!({})).await.expect_status(422);
}
