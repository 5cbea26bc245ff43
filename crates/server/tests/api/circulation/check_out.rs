//! Check-out through the public API: answers, refusals, and concurrent check-outs.

use carrel_testkit::LendingServer;
use serde_json::{Value, json};
use std::sync::Arc;

#[tokio::test]
async fn an_available_item_is_checked_out() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);

    let loan = server.check_out(&test_item, &patron).await.expect(201);

    assert_eq!(loan["userId"], json!(patron.id));
    assert_eq!(loan["item"]["status"]["name"], "Checked out");
    assert_eq!(server.status_of(&test_item).await, "Checked out");
    let stored =
        server.admin().get(&format!("/loan-storage/loans/{}", loan["id"].as_str().unwrap_or(""))).await;
    assert_eq!(stored.expect(200)["status"]["name"], "Open");
}

#[tokio::test]
async fn the_answer_has_a_blank_on_both_sides_of_the_colon() {
    let server = LendingServer::open().await;
    let answer = server.check_out(&server.item().await, &server.patron().await).await;
    assert!(
        answer.text().contains("\"id\" : \""),
        "load plans read the id with this pattern: {}",
        answer.text()
    );
}

#[tokio::test]
async fn a_scan_takes_two_round_trips() {
    let options = carrel_platform::ServerOptions { counts_round_trips: true, ..Default::default() };
    let server = LendingServer::on(carrel_testkit::TestServer::start_in(options).await).await;
    let patron = server.patron().await;
    // The first scan of a node reads the settings.
    server.check_out(&server.item().await, &patron).await.expect(201);
    let test_item = server.item().await;
    let answer = server.check_out(&test_item, &patron).await;
    assert_eq!(
        answer.header("x-carrel-round-trips"),
        Some("2"),
        "facts and changes: look for a query outside them"
    );
}

#[tokio::test]
async fn all_refusals_are_reported_in_desk_order() {
    let server = LendingServer::open().await;
    let order = json!({"itemBarcode": "nothing", "userBarcode": "nobody"});
    let answer = server.admin().post("/circulation/check-out-by-barcode", &order).await;
    answer.expect(422);
    assert_eq!(
        answer.refusals(),
        [
            "Check out must be performed at a service point",
            "Could not find user with matching barcode",
            "No item with barcode nothing could be found",
        ]
    );
}

#[tokio::test]
async fn two_desks_and_one_item_make_one_loan() {
    let server = Arc::new(LendingServer::open().await);
    let (test_item, patron) = (server.item().await, server.patron().await);
    let answers = at_once(100, |_| {
        let (server, test_item, patron) = (Arc::clone(&server), test_item.clone(), patron.clone());
        async move { server.check_out(&test_item, &patron).await.status }
    })
    .await;
    assert_eq!(answers.iter().filter(|status| **status == 201).count(), 1, "{answers:?}");
    assert!(
        answers.iter().all(|status| [201, 422].contains(status)),
        "a clear refusal for the others: {answers:?}"
    );
    assert_eq!(server.open_loans_of(&patron).await.len(), 1);
}

#[tokio::test]
async fn concurrent_check_outs_do_not_exceed_the_item_limit() {
    let server = Arc::new(LendingServer::open().await);
    let limited = server.loan_policy_with(json!({"itemLimit": 5})).await;
    let free = server.loan_policy;
    let rules = format!(
        "fallback-policy: {}\nm {}: {}",
        server.policies(free),
        server.material_type,
        server.policies(limited)
    );
    server.lends_by(&rules).await;
    let patron = server.patron().await;
    let mut items = Vec::new();
    for _ in 0..20 {
        items.push(server.item().await);
    }
    let items = Arc::new(items);
    let answers = at_once(20, |number| {
        let (server, items, patron) = (Arc::clone(&server), Arc::clone(&items), patron.clone());
        async move { server.check_out(&items[number], &patron).await.status }
    })
    .await;
    assert_eq!(answers.iter().filter(|status| **status == 201).count(), 5, "{answers:?}");
    assert_eq!(server.open_loans_of(&patron).await.len(), 5);
}

#[tokio::test]
async fn a_changed_rule_applies_to_the_next_scan() {
    let server = LendingServer::open().await;
    let (first, second, patron) = (server.item().await, server.item().await, server.patron().await);
    server.check_out(&first, &patron).await.expect(201);
    let unloanable = server
        .create(
            "/loan-policy-storage/loan-policies",
            &json!({
        "name": "Stay here", "loanable": false, "renewable": false}),
        )
        .await;
    let id = serde_json::from_value(unloanable["id"].clone()).expect("an id");
    server.lends_by(&format!("fallback-policy: {}", server.policies(id))).await;
    let answer = server.check_out(&second, &patron).await;
    answer.expect(422);
    assert_eq!(answer.refusals(), ["Item is not loanable"]);
}

#[tokio::test]
async fn an_override_needs_its_permission() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    server
        .create("/manualblocks", &json!({"type": "Manual", "desc": "Lost card", "staffInformation": "",
            "patronMessage": "", "borrowing": true, "renewals": false, "requests": false, "userId": patron.id}))
        .await;
    let order = json!({"itemBarcode": test_item.barcode, "userBarcode": patron.barcode,
        "servicePointId": server.main_desk.0, "overrideBlocks": {"patronBlock": {}, "comment": "known to us"}});
    let clerk = server.server.staff_with(&["circulation.check-out-by-barcode.post"]).await;

    let refused = clerk.post("/circulation/check-out-by-barcode", &order).await;

    refused.expect(422);
    assert_eq!(refused.refusals(), ["Insufficient override permissions"]);
    let missing = &refused.json()["errors"][0]["overridableBlock"]["missingPermissions"];
    assert_eq!(missing, &json!(["circulation.override-patron-block.post"]));
    let loan = server.admin().post("/circulation/check-out-by-barcode", &order).await.expect(201);
    assert_eq!(loan["action"], "checkedOutThroughOverride");
}

#[tokio::test]
async fn a_dry_run_saves_nothing() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let order = json!({"itemBarcode": test_item.barcode, "userBarcode": patron.barcode,
        "servicePointId": server.main_desk.0});
    let policies = server.admin().post("/circulation/check-out-by-barcode-dry-run", &order).await.expect(201);
    assert_eq!(policies["loanPolicyId"], json!(server.loan_policy));
    assert_eq!(server.status_of(&test_item).await, "Available");
    assert_eq!(server.open_loans_of(&patron).await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_check_out_is_in_history_outbox_and_session() {
    let server = LendingServer::open().await;
    let loan = server.check_out(&server.item().await, &server.patron().await).await.expect(201);
    let database = server.server.database().await;
    for (what, sql) in [
        ("history", "SELECT count(*) FROM audit_loan WHERE loan_id::text = $1"),
        ("outbox", "SELECT count(*) FROM outbox WHERE topic = 'circulation.loan' AND key = $1"),
        ("session", "SELECT count(*) FROM patron_action_session WHERE doc->>'loanId' = $1"),
    ] {
        let id = loan["id"].as_str().unwrap_or_default();
        let rows: i64 = database.query_one(sql, &[&id]).await.expect("a count").get(0);
        assert_eq!(rows, 1, "the {what} row is written in the loan's own transaction");
    }
}

/// Runs tasks concurrently and returns their results.
async fn at_once<T, W>(number: usize, work: impl Fn(usize) -> W) -> Vec<T>
where
    T: Send + 'static,
    W: Future<Output = T> + Send + 'static,
{
    let tasks: Vec<_> = (0..number).map(|place| tokio::spawn(work(place))).collect();
    let mut answers = Vec::with_capacity(number);
    for task in tasks {
        answers.push(task.await.expect("the task did not panic"));
    }
    answers
}

#[tokio::test]
async fn lock_waits_are_counted_by_tenant() {
    let server = LendingServer::open().await;
    server.check_out(&server.item().await, &server.patron().await).await.expect(201);
    let figures = server.admin().get("/admin/check-out-locks").await.expect(200);
    // Concurrent tests have a tenant with the same name.
    assert!(figures["checkOuts"].as_i64() >= Some(1), "{figures}");
    assert_eq!(figures["waitingNow"], 0);
}

#[tokio::test]
async fn a_check_out_body_may_be_empty_but_must_be_valid() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let path = "/circulation/check-out-by-barcode";
    for (body, words) in [
        (json!([]), "The body must be a JSON object"),
        (json!({"loanDate": "yesterday"}), "loanDate must be a date and time in ISO 8601"),
        (json!({"itemBarcode": ["1"]}), "The body is not the JSON expected here"),
    ] {
        let answer = server.admin().post(path, &body).await;
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.text().contains(words), "{}", answer.text());
    }
    let numbers = server.admin().post(path, &json!({"itemBarcode": 36, "userBarcode": 17})).await;
    assert!(numbers.refusals().contains(&"No item with barcode 36 could be found".to_owned()));
    let all_null = json!({"overrideBlocks": null, "loanDate": null, "proxyUserBarcode": null,
        "forceLoanPolicyId": null});
    server.check_out_with(&test_item, &patron, all_null).await.expect(201);
}

/// As in a tenant behind a gateway, where barcodes need not be unique.
#[tokio::test]
async fn every_action_takes_the_same_of_two_items_with_one_barcode() {
    let server = LendingServer::open().await;
    let (one, other) = (server.item().await, server.item().await);
    let database = server.server.database().await;
    let repeat = format!(
        "DROP INDEX item_barcode_key;
         UPDATE item SET doc = jsonb_set(doc, '{{barcode}}', '\"{}\"') WHERE id = '{}'",
        one.barcode, other.id
    );
    database.batch_execute(&repeat).await.expect("the barcode can repeat");
    let first = one.id.min(other.id).to_string();
    for _ in 0..2 {
        let loan = server.check_out(&one, &server.patron().await).await.expect(201);
        assert_eq!(loan["itemId"], first.as_str());
        let answer = server.check_in(&one, server.main_desk).await.expect(200);
        assert_eq!((&answer["loan"]["id"], &answer["item"]["id"]), (&loan["id"], &first.as_str().into()));
    }
}
