//! Anonymized means anonymized everywhere: nothing in the tenant's data links the patron and what they had.

use carrel_embedded_postgres::own_program;
use carrel_platform::outbox;
use carrel_testkit::LendingServer;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// All rows of the tenant, one a line, as `pg_dump` writes them.
fn dump(server: &LendingServer) -> String {
    let url = server.server.cluster.url(&server.server.database);
    let output = own_program("pg_dump")
        .expect("PostgreSQL's programs are there")
        .args(["--data-only", "--schema", &server.server.tenant.schema, "--dbname", &url])
        .output()
        .expect("pg_dump can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Lines that name one of `people` and one of `things`.
fn links(dump: &str, people: &[&str], things: &[&str]) -> Vec<String> {
    let names = |line: &str, words: &[&str]| words.iter().any(|word| line.contains(word));
    dump.lines().filter(|line| names(line, people) && names(line, things)).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn after_anonymization_nothing_links_the_patron_with_loan_and_item() {
    let server = LendingServer::open().await;
    let (patron, item) = (server.patron().await, server.item().await);
    let loan =
        server.check_out(&item, &patron).await.expect(201)["id"].as_str().unwrap_or_default().to_owned();
    let renewal = json!({"itemBarcode": item.barcode, "userBarcode": patron.barcode});
    server.admin().post("/circulation/renew-by-barcode", &renewal).await.expect(200);
    // As a self-service desk signs it.
    let database = server.server.database().await;
    let sign =
        "UPDATE loan SET doc = jsonb_set(doc, '{metadata,updatedByUserId}', doc->'userId') WHERE id = $1";
    let id: uuid::Uuid = loan.parse().expect("a loan's id");
    database.execute(sign, &[&id]).await.expect("the loan is signed");
    let notice = json!({"loanId": loan, "recipientUserId": patron.id, "nextRunTime": "2030-01-01T00:00:00Z",
        "triggeringEvent": "Due date", "noticeConfig": {"timing": "Upon At", "templateId": patron.id, "format": "Email"}});
    server.create("/scheduled-notice-storage/scheduled-notices", &notice).await;
    server.check_in(&item, server.main_desk).await.expect(200);

    let (patron_id, item_id) = (patron.id.to_string(), item.id.to_string());
    let people = [patron_id.as_str(), patron.barcode.as_str()];
    let things = [loan.as_str(), item_id.as_str()];
    let before = links(&dump(&server), &people, &things);
    assert!(before.len() > 5, "loan, history, sessions, notice, events: {before:#?}");

    let path = format!("/loan-anonymization/by-user/{}", patron.id);
    let answer = server.admin().post(&path, &json!({})).await.expect(200);
    assert_eq!(answer["anonymizedLoans"], json!([loan]));
    assert_eq!(links(&dump(&server), &people, &things), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_anonymization_of_a_request_its_events_and_notices_name_nobody() {
    let server = LendingServer::open().await;
    let (patron, item) = (server.patron().await, server.lent_book().await);
    let request = server.hold(&item, &patron).await;
    server.cancel(request).await;
    let notice = json!({"requestId": request, "recipientUserId": patron.id, "nextRunTime": "2030-01-01T00:00:00Z",
        "triggeringEvent": "Hold expiration",
        "noticeConfig": {"timing": "Upon At", "templateId": patron.id, "format": "Email"}});
    server.create("/scheduled-notice-storage/scheduled-notices", &notice).await;
    // As if the patron had requested it with others at once.
    let database = server.server.database().await;
    let batch = uuid::Uuid::new_v4();
    let rows = "WITH batch AS (INSERT INTO patron_batch (id, requester_id, doc, is_done) VALUES ($1, $2, '{}', true))
         INSERT INTO patron_batch_line (batch_id, place, item_id, pickup_id, request_id, status)
         VALUES ($1, 1, $3, $3, $4, 'Completed')";
    database.execute(rows, &[&batch, &patron.id, &item.id, &request]).await.expect("a batch");

    server.admin().post(&format!("/request-anonymization/{request}"), &Value::Null).await.expect(200);

    let (patron_id, item_id, request_id) = (patron.id.to_string(), item.id.to_string(), request.to_string());
    let dump = dump(&server);
    let found = links(&dump, &[&patron_id, &patron.barcode], &[&item_id, &request_id]);
    assert_eq!(found, Vec::<String>::new());
    assert!(!dump.contains(&batch.to_string()), "a batch links its requester with its items");
}

#[tokio::test]
async fn events_are_deleted_when_their_time_is_over() {
    let server = LendingServer::open().await;
    server.check_out(&server.item().await, &server.patron().await).await.expect(201);
    let database = server.server.database().await;
    let count = || async {
        let row = database.query_one("SELECT count(*) FROM outbox", &[]).await.expect("a count");
        row.get::<_, i64>(0)
    };
    let young = count().await;
    // More than one statement deletes.
    database
        .batch_execute(
            "INSERT INTO outbox (topic, key, payload, created)
             SELECT 'inventory.item', n::text, '{}', now() - interval '8 days' FROM generate_series(1, 12000) n",
        )
        .await
        .expect("old events can be written");
    let tenant = &server.server.tenant;
    let long_ago = Timestamp::now() - outbox::RETENTION - SignedDuration::from_hours(2 * 24);
    assert_eq!(outbox::prune(tenant, long_ago).await.expect("nothing is that old"), 0);
    let deleted =
        outbox::prune(tenant, Timestamp::now() - outbox::RETENTION).await.expect("they are deleted");
    assert_eq!((deleted, count().await), (12_000, young));
    assert!(server.server.node.jobs().iter().any(|job| job.name == "outbox-retention"));
}
