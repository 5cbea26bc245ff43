//! The circulation log says what was done, when, where and by whom.

use carrel_testkit::LendingServer;
use serde_json::{Value, json};

/// Entries that a query finds, newest first.
async fn entries(server: &LendingServer, query: &str) -> Vec<Value> {
    let path = format!("/audit-data/circulation/logs?limit=100&query={query} sortby date/sort.descending");
    let answer = server.admin().get(&path.replace(' ', "%20").replace('"', "%22")).await.expect(200);
    answer["logRecords"].as_array().expect("a list").clone()
}

fn actions(entries: &[Value]) -> Vec<String> {
    let mut actions: Vec<String> = entries
        .iter()
        .map(|entry| {
            format!("{}: {}", entry["object"].as_str().unwrap_or(""), entry["action"].as_str().unwrap_or(""))
        })
        .collect();
    actions.sort();
    actions
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loan_leaves_its_check_out_and_its_return_in_the_log() {
    let server = LendingServer::open().await;
    let (patron, item) = (server.patron().await, server.item().await);
    let loan = server.check_out(&item, &patron).await.expect(201);
    let log = entries(&server, &format!("userBarcode==\"{}\"", patron.barcode)).await;
    assert_eq!(actions(&log), ["Loan: Checked out"]);
    let entry = &log[0];
    let shown = server.look_at(&item).await;
    let holdings = server
        .admin()
        .get(&format!("/holdings-storage/holdings/{}", shown["holdingsRecordId"].as_str().unwrap_or("")))
        .await
        .expect(200);
    assert_eq!(
        entry["items"],
        json!([{"itemBarcode": item.barcode, "itemId": item.id, "holdingId": shown["holdingsRecordId"],
            "instanceId": holdings["instanceId"], "loanId": loan["id"]}])
    );
    assert_eq!(entry["linkToIds"], json!({"userId": patron.id}));
    assert_eq!(entry["servicePointId"], loan["checkoutServicePointId"]);
    assert_eq!(entry["description"], "Checked out to proxy: no.");
    assert!(entry["source"].as_str().is_some_and(|name| !name.is_empty()), "{entry}");

    server.check_in(&item, server.main_desk).await.expect(200);
    let log = entries(&server, &format!("items==\"*{}*\"", item.barcode)).await;
    assert_eq!(actions(&log), ["Loan: Checked out", "Loan: Closed loan", "N/A: Checked in"]);
    let closed = log.iter().find(|entry| entry["action"] == "Closed loan").expect("an entry");
    assert!(
        closed["description"].as_str().is_some_and(|text| text.starts_with("Item status: Available")),
        "{closed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_found_by_each_of_its_fields() {
    let server = LendingServer::open().await;
    let (patron, item, other) = (server.patron().await, server.item().await, server.item().await);
    let loan = server.check_out(&item, &patron).await.expect(201);
    server.check_in(&other, server.main_desk).await.expect(200);
    let desk = server.main_desk.0;
    for (query, found) in [
        (format!("userBarcode=\"{}\"", patron.barcode), 1),
        (format!("userBarcode==\"*{}*\"", patron.barcode), 1),
        (format!("items=\"{}\"", item.barcode), 1),
        (format!("items==\"*{}*\"", other.barcode), 1),
        (format!("items=/@loanId {}", loan["id"].as_str().unwrap_or("")), 1),
        ("object==Loan".into(), 1),
        ("object==(\"Loan\" or \"N/A\")".into(), 2),
        ("action==(\"Checked out\" or \"Closed loan\")".into(), 1),
        (format!("servicePointId=={desk}"), 2),
        ("description==\"*proxy*\"".into(), 1),
        (format!("linkToIds.userId=={}", patron.id), 1),
        ("date>=\"2020-01-01T00:00:00.000Z\" and date<=\"2020-12-31T00:00:00.000Z\"".into(), 0),
        ("date>=\"2020-01-01T00:00:00.000Z\"".into(), 2),
        ("cql.allRecords=1".into(), 2),
    ] {
        assert_eq!(entries(&server, &query).await.len(), found, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_check_out_leaves_nothing() {
    let server = LendingServer::open().await;
    let (patron, item) = (server.patron().await, server.lent_book().await);
    server.check_out(&item, &patron).await.expect_status(422);
    assert_eq!(entries(&server, &format!("userBarcode==\"{}\"", patron.barcode)).await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_anonymized_loan_keeps_its_entries_without_the_patron() {
    let server = LendingServer::open().await;
    let (patron, item) = (server.patron().await, server.item().await);
    server.check_out(&item, &patron).await.expect(201);
    server.check_in(&item, server.main_desk).await.expect(200);
    let path = format!("/loan-anonymization/by-user/{}", patron.id);
    server.admin().post(&path, &json!({})).await.expect(200);
    let log = entries(&server, &format!("items==\"*{}*\"", item.barcode)).await;
    assert_eq!(
        actions(&log),
        ["Loan: Anonymize", "Loan: Checked out", "Loan: Closed loan", "N/A: Checked in"]
    );
    for entry in &log {
        assert_eq!((&entry["userBarcode"], &entry["linkToIds"]), (&json!("-"), &json!({})), "{entry}");
    }
    // A second run finds nothing to do.
    server
        .admin()
        .post("/anonymize-storage-loans", &json!({"loanIds": [log[0]["items"][0]["loanId"]]}))
        .await
        .expect(200);
    assert_eq!(entries(&server, &format!("items==\"*{}*\"", item.barcode)).await.len(), 4);
}
