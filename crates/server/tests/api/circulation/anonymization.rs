//! After anonymization, nothing in the tenant's data links the patron with loans or requests.

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

/// Lines that contain one of `people` and one of `things`.
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
    // As at a self-service station, where the patron is the user.
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
async fn after_anonymization_no_notice_links_the_patron_with_the_loan() {
    use super::patron_notices::{notice, notify_by, reader, template};
    let mut server = LendingServer::open().await;
    let text = "{{user.barcode}} {{item.barcode}}";
    let (mail, letter) = (template(&server, "Mail", text).await, template(&server, "Letter", text).await);
    let mut print = notice(letter, "Manual due date change");
    print["format"] = "Print".into();
    notify_by(&mut server, json!([notice(mail, "Renewed"), print]), json!([]), json!([])).await;
    let (patron, item) = (reader(&server, "ada").await, server.item().await);
    let loan =
        server.check_out(&item, &patron).await.expect(201)["id"].as_str().unwrap_or_default().to_owned();
    let renewal = json!({"itemBarcode": item.barcode, "userBarcode": patron.barcode});
    server.admin().post("/circulation/renew-by-barcode", &renewal).await.expect(200);
    let path = format!("/circulation/loans/{loan}/change-due-date");
    server.admin().post(&path, &json!({"dueDate": "2099-05-03T10:00:00Z"})).await.expect_status(204);
    let explained = format!("/admin/patron-notices?loanId={loan}");
    for _ in 0..600 {
        let found = server.admin().get(&explained).await.expect(200);
        if found["notices"].as_array().is_some_and(|notices| notices.len() == 2) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    // As if the mail had been sent.
    let database = server.server.database().await;
    database.batch_execute("DELETE FROM email_delivery").await.expect("the mail is sent");
    server.check_in(&item, server.main_desk).await.expect(200);
    let (patron_id, item_id) = (patron.id.to_string(), item.id.to_string());
    let people = [patron_id.as_str(), patron.barcode.as_str(), "ada@example.org"];
    let things = [loan.as_str(), item_id.as_str(), item.barcode.as_str()];
    let before = links(&dump(&server), &people, &things);
    assert!(before.iter().any(|line| line.contains("ada@example.org")), "the mail is there: {before:#?}");

    let path = format!("/loan-anonymization/by-user/{}", patron.id);
    let answer = server.admin().post(&path, &json!({})).await.expect(200);
    assert_eq!(answer["anonymizedLoans"], json!([loan]));
    assert_eq!(links(&dump(&server), &people, &things), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_anonymization_of_a_request_its_events_and_notices_contain_no_patron() {
    let server = LendingServer::open().await;
    let (patron, item) = (server.patron().await, server.item_on_loan().await);
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
async fn events_are_deleted_after_the_retention_time() {
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

/// A closed loan with an overdue fine, which is still open.
async fn returned_with_a_fine(server: &LendingServer) -> (String, String) {
    let (item, patron) = (server.item().await, server.patron().await);
    let loan = server.check_out_with(&item, &patron, json!({"loanDate": "2024-01-01T00:00:00Z"})).await;
    server.check_in(&item, server.main_desk).await.expect(200);
    let accounts = server.admin().get(&format!("/accounts?query=userId=={}", patron.id)).await.expect(200);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&loan.expect(201)["id"]), text(&accounts["accounts"][0]["id"]))
}

async fn anonymize_by(server: &LendingServer, setting: Value) -> Value {
    let setting = json!({"id": uuid::Uuid::new_v4(), "name": "loan_history", "value": setting});
    server.admin().post("/circulation/settings", &setting).await.expect(201);
    server.admin().post("/circulation/scheduled-anonymize-processing", &json!({})).await.expect(200)
}

async fn pay(server: &LendingServer, account: &str) {
    let payment = json!({"amount": "100.00", "paymentMethod": "cash", "notifyPatron": false,
        "servicePointId": server.main_desk.0, "userName": "Clerk"});
    server.admin().post(&format!("/accounts/{account}/pay"), &payment).await.expect(201);
}

#[tokio::test]
async fn a_loan_with_fees_is_anonymized_once_they_are_all_closed() {
    let server = LendingServer::open().await;
    super::overdue_fines::charge_overdue_fines(&server, json!({})).await;
    let (loan, account) = returned_with_a_fine(&server).await;
    let at_once = json!({"closingType": {"loan": "never", "feeFine": "immediately"}, "treatEnabled": true});
    let kept = anonymize_by(&server, at_once.clone()).await;
    assert_eq!(
        (&kept["anonymizedLoans"], &kept["errors"][0]["message"]),
        (&json!([]), &json!("feesAndFinesOpen"))
    );
    pay(&server, &account).await;
    let after_an_hour = json!({"closingType": {"loan": "immediately", "feeFine": "interval"}, "treatEnabled": true,
        "feeFine": {"duration": 1, "intervalId": "Hours"}});
    let kept = anonymize_by(&server, after_an_hour).await;
    assert_eq!(kept["errors"][0]["message"], "intervalAfterFeesAndFinesCloseNotPassed");
    let never = json!({"closingType": {"loan": "immediately", "feeFine": "never"}, "treatEnabled": true});
    assert_eq!(
        anonymize_by(&server, never).await["errors"][0]["message"],
        "neverAnonymizeLoansWithFeesAndFines"
    );
    let staff = format!("/loan-anonymization/by-user/{}", {
        let stored = server.admin().get(&format!("/loan-storage/loans/{loan}")).await.expect(200);
        stored["userId"].as_str().unwrap_or_default().to_owned()
    });
    let kept = server.admin().post(&staff, &json!({})).await.expect(200);
    assert_eq!(kept["errors"][0]["message"], "haveAssociatedFeesAndFines");

    assert_eq!(anonymize_by(&server, at_once).await["anonymizedLoans"], json!([loan]));
    let stored = server.admin().get(&format!("/loan-storage/loans/{loan}")).await.expect(200);
    assert!(stored.get("userId").is_none());
}

#[tokio::test]
async fn the_job_anonymizes_by_the_setting() {
    use carrel_platform::jobs::{self, Pace};
    let server = LendingServer::open().await;
    super::overdue_fines::charge_overdue_fines(&server, json!({})).await;
    let (with_fine, account) = returned_with_a_fine(&server).await;
    pay(&server, &account).await;
    let interval = json!({"closingType": {"loan": "immediately", "feeFine": "interval"}, "treatEnabled": true,
        "feeFine": {"duration": 1, "intervalId": "Hours"}});
    anonymize_by(&server, interval).await;
    // The fine was settled two hours ago.
    let database = server.server.database().await;
    let settled = "UPDATE feefineactions SET doc = jsonb_set(doc, '{dateAction}', to_jsonb($1::text))";
    let long_ago = (Timestamp::now() - SignedDuration::from_hours(2)).to_string();
    database.execute(settled, &[&long_ago]).await.expect("the actions are older");
    let platform = server.server.node.platform().await.expect("a connection");
    let (tenant, job) = (&server.server.tenant.id, &carrel_circulation::anonymization::JOB);
    jobs::soon(&platform, tenant, job.name).await.expect("a job can be wanted soon");
    let pace = Pace { poll: std::time::Duration::from_millis(50), ..Pace::default() };
    let runner = jobs::start_with(&server.server.node, vec![job], pace);
    for _ in 0..400 {
        let stored = server.admin().get(&format!("/loan-storage/loans/{with_fine}")).await.expect(200);
        if stored.get("userId").is_none() {
            runner.stop().await;
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("the job has not anonymized the loan");
}
