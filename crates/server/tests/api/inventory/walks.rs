//! Runs over all titles or items: asked for, done in the background, cancelled, taken up where they stood.

use carrel_platform::jobs;
use carrel_testkit::LendingLibrary;
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

const REINDEX: &str = "/instance-storage/reindex";
const ITERATION: &str = "/instance-storage/instances/iteration";
const MIGRATION: &str = "/inventory-storage/migrations/jobs";

fn id_of(job: &Value) -> &str {
    job["id"].as_str().expect("a walk has an id")
}

/// Waits until a walk says so.
async fn until_it_says(library: &LendingLibrary, path: &str, job: &Value, status: &str) -> Value {
    let path = format!("{path}/{}", id_of(job));
    let mut seen = Value::Null;
    for _ in 0..600 {
        seen = library.admin().get(&path).await.expect(200);
        if seen["jobStatus"] == status {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("waited in vain for {status}: {seen}");
}

/// Number of events of a topic that name a type, and of their keys.
async fn announced(library: &LendingLibrary, topic: &str, kind: &str) -> (i64, i64) {
    let sql = "SELECT count(*), count(DISTINCT key) FROM outbox WHERE topic = $1 AND payload->>'type' = $2
                   AND payload->>'tenant' = 'diku'";
    let row = library.library.database().await.query_one(sql, &[&topic, &kind]).await.expect("events");
    (row.get(0), row.get(1))
}

/// Titles beside those that tests make one by one.
async fn titles(library: &LendingLibrary, number: i32) {
    let book = library.book().await;
    let sql = "INSERT INTO instance (id, doc) SELECT one.id, doc || jsonb_build_object('id', one.id, 'hrid', one.id)
               FROM instance, (SELECT gen_random_uuid() AS id FROM generate_series(1, $1)) one WHERE instance.id = $2";
    library.library.database().await.execute(sql, &[&number, &book.instance]).await.expect("titles");
}

#[tokio::test]
async fn every_title_is_announced_once_for_a_reindex() {
    let library = LendingLibrary::open().await;
    titles(&library, 2_499).await;
    let node = jobs::start(&library.library.library);
    let job = library.admin().post(REINDEX, &json!({})).await.expect(200);
    assert_eq!((&job["jobStatus"], &job["published"]), (&json!("In progress"), &json!(0)));
    let done = until_it_says(&library, REINDEX, &job, "Ids published").await;
    assert_eq!((&done["published"], &done["resourceName"]), (&json!(2_500), &json!("Instance")));
    assert_eq!(announced(&library, "inventory.instance", "REINDEX").await, (2_500, 2_500));
    let listed = library.admin().get(&format!("{REINDEX}?query=resourceName==Instance")).await.expect(200);
    assert_eq!((&listed["totalRecords"], &listed["reindexJobs"][0]), (&json!(1), &done));
    let finished = library.admin().delete(&format!("{REINDEX}/{}", id_of(&job))).await;
    assert_eq!((finished.status, finished.text().as_str()), (400, "The job has been finished"));
    node.stop().await;
}

#[tokio::test]
async fn a_walk_goes_on_where_a_dead_node_left_it() {
    let library = LendingLibrary::open().await;
    titles(&library, 4).await;
    let job = library.admin().post(REINDEX, &json!({})).await.expect(200);
    let database = library.library.database().await;
    let id = Uuid::parse_str(id_of(&job)).expect("an id");
    let left = "INSERT INTO walk (job_id, reached) SELECT $1, id FROM instance ORDER BY id OFFSET 1 LIMIT 1";
    database.execute(left, &[&id]).await.expect("a walk that was begun");
    let counted = "UPDATE reindex_job SET doc = doc || '{\"published\": 2}' WHERE id = $1";
    database.execute(counted, &[&id]).await.expect("and counted");
    let node = jobs::start(&library.library.library);
    let done = until_it_says(&library, REINDEX, &job, "Ids published").await;
    assert_eq!(done["published"], 5);
    assert_eq!(announced(&library, "inventory.instance", "REINDEX").await, (3, 3));
    let rest = database.query_one("SELECT count(*) FROM walk", &[]).await.expect("a number");
    assert_eq!(rest.get::<_, i64>(0), 0);
    node.stop().await;
}

#[tokio::test]
async fn a_cancelled_walk_announces_nothing_more() {
    let library = LendingLibrary::open().await;
    library.book().await;
    let order = json!({"topicName": "inventory.instance-contribution"});
    for (path, order, pending, status) in [
        (REINDEX, json!({}), "Pending cancel", "Id publishing cancelled"),
        (ITERATION, order, "Cancellation pending", "Cancelled"),
        (MIGRATION, json!({"migrations": ["itemOrderMigration"]}), "Pending cancel", "Cancelled"),
    ] {
        let job = library.admin().post(path, &order).await.json();
        let one = format!("{path}/{}", id_of(&job));
        library.admin().delete(&one).await.expect(204);
        assert_eq!(library.admin().get(&one).await.expect(200)["jobStatus"], pending);
        let node = jobs::start(&library.library.library);
        until_it_says(&library, path, &job, status).await;
        library.admin().delete(&one).await.expect(204);
        library.admin().delete(&format!("{path}/{}", Uuid::new_v4())).await.expect_status(404);
        node.stop().await;
    }
    assert_eq!(announced(&library, "inventory.instance", "REINDEX").await, (0, 0));
}

#[tokio::test]
async fn titles_are_announced_under_the_topic_that_an_iteration_names() {
    let library = LendingLibrary::open().await;
    library.book().await;
    library.book().await;
    let node = jobs::start(&library.library.library);
    let order = json!({"topicName": "inventory.instance-contribution"});
    let job = library.admin().post(ITERATION, &order).await.expect(201);
    assert_eq!(
        job["jobParams"],
        json!({"eventType": "ITERATE", "topicName": "inventory.instance-contribution"})
    );
    let done = until_it_says(&library, ITERATION, &job, "Completed").await;
    assert_eq!(done["messagesPublished"], 2);
    assert_eq!(announced(&library, "inventory.instance-contribution", "ITERATE").await, (2, 2));
    node.stop().await;
    for order in
        [json!({}), json!({"topicName": "no topic"}), json!({"topicName": "t", "eventType": "DANCE"})]
    {
        library.admin().post(ITERATION, &order).await.expect_status(422);
    }
}

#[tokio::test]
async fn items_get_their_places_by_barcode() {
    let library = LendingLibrary::open().await;
    let book = library.book().await;
    let (second, third) = (library.copy_of(&book).await, library.copy_of(&book).await);
    library.book().await;
    let database = library.library.database().await;
    database.execute("UPDATE item SET doc = doc - 'order'", &[]).await.expect("items of an older release");
    let known = library.admin().get("/inventory-storage/migrations").await.expect(200);
    assert_eq!(known["asyncMigrations"][0]["migrations"], json!(["itemOrderMigration"]));
    let node = jobs::start(&library.library.library);
    let job =
        library.admin().post(MIGRATION, &json!({"migrations": ["itemOrderMigration"]})).await.expect(200);
    let done = until_it_says(&library, MIGRATION, &job, "Completed").await;
    assert_eq!(done["processed"], json!([{"migrationName": "itemOrderMigration", "count": 2}]));
    assert!(done["finishedDate"].is_string());
    let mut copies = [&book, &second, &third];
    copies.sort_by(|a, b| a.barcode.cmp(&b.barcode));
    for (copy, place) in copies.into_iter().zip(1..) {
        assert_eq!(library.look_at(copy).await["order"], place, "{}", copy.barcode);
    }
    let next = library.copy_of(&book).await;
    assert_eq!(library.look_at(&next).await["order"], 4);
    let listed = library.admin().get(MIGRATION).await.expect(200);
    assert_eq!(listed["jobs"][0], done);
    let unknown = library.admin().post(MIGRATION, &json!({"migrations": ["a", "b"]})).await;
    assert_eq!(
        (unknown.status, unknown.text().as_str()),
        (400, "One or more migrations are not available. Migrations: a b")
    );
    node.stop().await;
}

#[tokio::test]
async fn records_of_a_range_are_told_whole() {
    let library = LendingLibrary::open().await;
    let book = library.book().await;
    let every = json!({"from": Uuid::nil(), "to": Uuid::max()});
    let database = library.library.database().await;
    for (kind, id, more) in [
        ("instance", book.instance, json!({"isBoundWith": false})),
        ("holdings", book.holdings, json!({})),
        ("item", book.id, json!({"instanceId": book.instance})),
    ] {
        let range = Uuid::new_v4();
        let order = json!({"id": range, "recordType": kind, "recordIdsRange": every});
        library.admin().post("/inventory-reindex-records/publish", &order).await.expect_status(201);
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
    library.admin().post("/inventory-reindex-records/publish", &nothing).await.expect_status(201);
    let wrong = json!({"id": Uuid::new_v4(), "recordType": "shelf", "recordIdsRange": every});
    library.admin().post("/inventory-reindex-records/publish", &wrong).await.expect_status(422);
    library.admin().post("/inventory-reindex-records/publish", &json!({})).await.expect_status(422);
}
