//! The circulation log: actions with their time, service point and user.

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
async fn a_loan_has_its_check_out_and_its_check_in_in_the_log() {
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
async fn the_log_can_be_queried_by_each_of_its_fields() {
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
async fn a_refused_check_out_is_not_logged() {
    let server = LendingServer::open().await;
    let (patron, item) = (server.patron().await, server.item_on_loan().await);
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
    // A second run changes nothing.
    server
        .admin()
        .post("/anonymize-storage-loans", &json!({"loanIds": [log[0]["items"][0]["loanId"]]}))
        .await
        .expect(200);
    assert_eq!(entries(&server, &format!("items==\"*{}*\"", item.barcode)).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_a_loan_are_in_the_log() {
    let server = LendingServer::open().await;
    let (patron, item) = (server.patron().await, server.item().await);
    let loan =
        server.check_out(&item, &patron).await.expect(201)["id"].as_str().unwrap_or_default().to_owned();
    let renewal = json!({"itemBarcode": item.barcode, "userBarcode": patron.barcode});
    server.admin().post("/circulation/renew-by-barcode", &renewal).await.expect(200);
    for (action, body) in [
        ("change-due-date", json!({"dueDate": "2031-05-01T10:00:00Z"})),
        ("add-info", json!({"action": "staffInfoAdded", "actionComment": "worn"})),
        ("add-info", json!({"action": "patronInfoAdded", "actionComment": "called"})),
        (
            "claim-item-returned",
            json!({"itemClaimedReturnedDateTime": "2030-05-01T10:00:00Z", "comment": "so"}),
        ),
        ("declare-claimed-returned-item-as-missing", json!({"comment": "gone"})),
    ] {
        let path = format!("/circulation/loans/{loan}/{action}");
        server.admin().post(&path, &body).await.expect_status(204);
    }
    let log = entries(&server, &format!("items=/@loanId {loan}")).await;
    assert_eq!(
        actions(&log),
        [
            "Loan: Changed due date",
            "Loan: Changed due date",
            "Loan: Checked out",
            "Loan: Claimed returned",
            "Loan: Marked as missing",
            "Loan: Patron info added",
            "Loan: Renewed",
            "Loan: Staff info added"
        ]
    );
    assert!(log.iter().all(|entry| entry["userBarcode"] == json!(patron.barcode)), "{log:#?}");
    let description = |action: &str| {
        log.iter().find(|entry| entry["action"] == action).expect("an entry")["description"].clone()
    };
    assert_eq!(description("Marked as missing"), "Additional information: gone");
    assert_eq!(description("Staff info added"), "worn");
    let due = entries(&server, "description==\"New due date: 2031-05-01T10:00:00.000Z*\"").await;
    assert_eq!(due.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_requests_are_in_the_log() {
    let server = LendingServer::open().await;
    let (borrower, first, second) = (server.patron().await, server.patron().await, server.patron().await);
    let item = server.item().await;
    server.check_out(&item, &borrower).await.expect(201);
    let recall = server.place_request(&item, &first, "Recall", server.main_desk).await;
    let recall = carrel_testkit::queues::placed(&recall);
    let hold = server.hold(&item, &second).await;
    let order = json!({"reorderedQueue": [{"id": hold, "newPosition": 1}, {"id": recall, "newPosition": 2}]});
    let path = format!("/circulation/requests/queue/item/{}/reorder", item.id);
    server.admin().post(&path, &order).await.expect(200);
    server.edit_request(hold, json!({"requestExpirationDate": "2030-01-01"})).await;
    server.cancel(hold).await;
    let log = entries(&server, &format!("linkToIds.requestId=={hold}")).await;
    assert_eq!(
        actions(&log),
        ["Request: Cancelled", "Request: Created", "Request: Edited", "Request: Queue position reordered"]
    );
    assert!(log.iter().all(|entry| entry["userBarcode"] == json!(second.barcode)), "{log:#?}");
    assert!(log.iter().all(|entry| entry["items"][0]["itemBarcode"] == json!(item.barcode)), "{log:#?}");
    let recalled = entries(&server, "action==\"Recall requested\"").await;
    assert_eq!((recalled.len(), &recalled[0]["userBarcode"]), (1, &json!(borrower.barcode)));

    let path = format!("/request-anonymization/{hold}");
    server.admin().post(&path, &Value::Null).await.expect(200);
    let log = entries(&server, &format!("linkToIds.requestId=={hold}")).await;
    assert!(
        log.iter().all(|entry| entry["userBarcode"] == "-" && entry["linkToIds"].get("userId").is_none())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_request_is_in_the_log_as_an_action_of_the_system() {
    let server = LendingServer::open().await;
    let (patron, item) = (server.patron().await, server.item_on_loan().await);
    let hold = server.hold(&item, &patron).await;
    server.time_passes_for(hold).await;
    server.requests_expire().await;
    let log = entries(&server, &format!("linkToIds.requestId=={hold} and action==Expired")).await;
    assert_eq!((log.len(), &log[0]["source"]), (1, &json!("System")));
}

#[tokio::test(flavor = "multi_thread")]
async fn creation_change_and_deletion_of_a_manual_block_are_in_the_log() {
    let server = LendingServer::open().await;
    let patron = server.patron().await;
    let block = json!({"type": "Manual", "desc": "owes", "staffInformation": "ask", "borrowing": true,
        "renewals": false, "requests": true, "userId": patron.id});
    let mut block = server.create("/manualblocks", &block).await;
    let path = format!("/manualblocks/{}", block["id"].as_str().unwrap_or_default());
    block["desc"] = "owes more".into();
    server.admin().put(&path, &block).await.expect_status(204);
    server.admin().delete(&path).await.expect_status(204);
    let log = entries(&server, &format!("userBarcode==\"{}\"", patron.barcode)).await;
    assert_eq!(actions(&log), ["Manual Block: Created", "Manual Block: Deleted", "Manual Block: Modified"]);
    let created = log.iter().find(|entry| entry["action"] == "Created").expect("an entry");
    assert_eq!(
        created["description"],
        "Block actions: borrowing, requests. Description: owes. Staff only information: ask."
    );
    assert_eq!(created["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn charges_and_payments_are_in_the_log() {
    let server = LendingServer::open().await;
    let (patron, item) = (server.patron().await, server.item().await);
    let owner = server.create("/owners", &json!({"owner": "Main"})).await["id"].clone();
    let kind =
        server.create("/feefines", &json!({"feeFineType": "Fine", "ownerId": owner})).await["id"].clone();
    let account = json!({"amount": 5.0, "remaining": 5.0, "status": {"name": "Open"},
        "paymentStatus": {"name": "Outstanding"}, "userId": patron.id, "itemId": item.id, "feeFineId": kind,
        "feeFineType": "Fine", "feeFineOwner": "Main", "ownerId": owner, "barcode": item.barcode});
    let account = server.create("/accounts", &account).await["id"].as_str().unwrap_or_default().to_owned();
    let charge = json!({"accountId": account, "userId": patron.id, "typeAction": "Fine", "amountAction": 5.0,
        "balance": 5.0, "source": "Truesdale, Yanic", "comments": "STAFF : torn"});
    server.create("/feefineactions", &charge).await;
    let payment = json!({"amount": "2.00", "notifyPatron": false, "servicePointId": server.main_desk.0,
        "userName": "Truesdale, Yanic", "paymentMethod": "Cash"});
    server.admin().post(&format!("/accounts/{account}/pay"), &payment).await.expect(201);
    let log = entries(&server, &format!("items==\"*{}*\"", item.barcode)).await;
    assert_eq!(actions(&log), ["Fee/Fine: Billed", "Fee/Fine: Paid partially"]);
    for entry in &log {
        assert_eq!(
            (&entry["userBarcode"], &entry["source"]),
            (&json!(patron.barcode), &json!("Truesdale, Yanic"))
        );
        assert_eq!(entry["linkToIds"]["feeFineId"], json!(account));
        assert_eq!(entry["items"][0]["instanceId"], json!(item.instance));
    }
    let paid = log.iter().find(|entry| entry["action"] == "Paid partially").expect("an entry");
    let description = paid["description"].as_str().unwrap_or_default();
    assert!(
        description.starts_with("Fee/Fine type: Fine. Amount: 2.00. Balance: 3.00. Payment method: Cash."),
        "{description}"
    );
}

#[tokio::test]
async fn entries_of_one_scan_are_listed_in_their_order() {
    let server = LendingServer::open().await;
    let patron = server.patron().await;
    for _ in 0..4 {
        let item = server.item().await;
        server.check_out(&item, &patron).await.expect(201);
        server.check_in(&item, server.main_desk).await.expect(200);
        let log = server.admin().get("/audit-data/circulation/logs?limit=1000").await.expect(200);
        let log = log["logRecords"].as_array().cloned().unwrap_or_default();
        let last: Vec<&Value> = log.iter().rev().take(2).map(|entry| &entry["action"]).collect();
        assert_eq!(last, ["Closed loan", "Checked in"]);
    }
}
