//! Loans through the public API: read with related records, sent as a whole, changed at the desk, stored.

use carrel_testkit::{LendingServer, TestItem, TestPatron};
use serde_json::{Value, json};
use uuid::Uuid;

async fn lent(server: &LendingServer) -> (TestItem, TestPatron, String) {
    let (test_item, patron) = (server.item().await, server.patron().await);
    let loan = server.check_out(&test_item, &patron).await.expect(201);
    (test_item, patron, loan["id"].as_str().expect("a loan has an id").to_owned())
}

async fn history_of(server: &LendingServer, loan: &str) -> Vec<Value> {
    let path = format!("/loan-storage/loan-history?limit=100&query=loan.id=={loan}");
    server.admin().get(&path).await.expect(200)["loansHistory"].as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_page_of_loans_is_read_in_one_round_trip_with_item_patron_and_accounts() {
    let options = carrel_platform::ServerOptions { counts_round_trips: true, ..Default::default() };
    let server = LendingServer::on(carrel_testkit::TestServer::start_in(options).await).await;
    let (_, patron, loan) = lent(&server).await;
    server.check_out(&server.item().await, &patron).await.expect(201);
    let owner = server.create("/owners", &json!({"owner": "Main"})).await;
    let kind = server.create("/feefines", &json!({"feeFineType": "Torn page", "ownerId": owner["id"]})).await;
    for (status, remaining) in [("Open", 1.1), ("Open", 2.2), ("Closed", 5.0)] {
        let account = json!({"amount": 5, "remaining": remaining, "status": {"name": status}, "loanId": loan,
            "paymentStatus": {"name": "Outstanding"}, "userId": patron.id, "feeFineId": kind["id"],
            "ownerId": owner["id"]});
        server.create("/accounts", &account).await;
    }

    let path = format!("/circulation/loans?query=userId=={} sortBy loanDate", patron.id);
    let answer = server.admin().get(&path).await;

    let page = answer.expect(200);
    assert_eq!(page["totalRecords"], 2);
    let first = &page["loans"][0];
    assert_eq!(first["id"], json!(loan));
    assert_eq!(first["item"]["status"]["name"], "Checked out");
    assert_eq!(first["borrower"]["barcode"], json!(patron.barcode));
    assert_eq!(first["checkoutServicePoint"]["name"], "Main desk");
    assert_eq!(first["feesAndFines"]["amountRemainingToPay"], 3.3);
    assert_eq!(page["loans"][1]["feesAndFines"]["amountRemainingToPay"], 0.0);
    // One for the page, and one for the settings version if it was not read within the last two seconds.
    assert!(matches!(answer.header("x-carrel-round-trips"), Some("1" | "2")));
}

#[tokio::test]
async fn an_unknown_loan_is_reported_by_its_id() {
    let server = LendingServer::open().await;
    let id = Uuid::new_v4();
    let answer = server.admin().get(&format!("/circulation/loans/{id}")).await;
    assert_eq!(answer.status, 404);
    assert_eq!(answer.text(), format!("loan record with ID \"{id}\" cannot be found"));
}

#[tokio::test]
async fn a_whole_loan_checks_out_its_item_and_a_second_one_is_refused() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let loan = json!({"userId": patron.id, "itemId": test_item.id, "loanDate": "2024-05-01T10:00:00Z",
        "dueDate": "2024-05-22T10:00:00Z", "status": {"name": "Open"}, "action": "checkedout"});

    let made = server.admin().post("/circulation/loans", &loan).await.expect(201);

    assert_eq!(made["loanPolicy"]["name"], json!(format!("Policy {}", server.loan_policy)));
    assert_eq!(server.status_of(&test_item).await, "Checked out");
    let again = server.admin().post("/circulation/loans", &loan).await;
    assert_eq!(again.refusals(), ["Item is already checked out"]);
    let stored = server.admin().post("/loan-storage/loans", &loan).await;
    assert_eq!(stored.refusals(), ["Cannot have more than one open loan for the same item"]);
}

#[tokio::test]
async fn a_loan_closed_by_replacement_checks_in_its_item() {
    let server = LendingServer::open().await;
    let (test_item, _, id) = lent(&server).await;
    let mut loan = server.admin().get(&format!("/circulation/loans/{id}")).await.expect(200);
    loan["status"] = json!({"name": "Closed"});
    let path = format!("/circulation/loans/{id}");
    let refused = server.admin().put(&path, &loan).await;
    assert_eq!(refused.refusals(), ["A Closed loan must have a Checkin Service Point"]);

    loan["checkinServicePointId"] = json!(server.main_desk.0);
    server.admin().put(&path, &loan).await.expect(204);

    assert_eq!(server.status_of(&test_item).await, "Available");
    let stored = server.admin().get(&format!("/loan-storage/loans/{id}")).await.expect(200);
    assert_eq!(stored["itemStatus"], "Available");
    assert!(stored.get("borrower").is_none(), "what is shown beside a loan is not stored with it");
    let operations: Vec<Value> =
        history_of(&server, &id).await.iter().map(|row| row["operation"].clone()).collect();
    assert_eq!(operations, ["U", "I"]);
}

#[tokio::test]
async fn staff_change_the_due_date_and_add_a_comment() {
    let server = LendingServer::open().await;
    let (_, _, id) = lent(&server).await;
    let change = format!("/circulation/loans/{id}/change-due-date");
    let remark = format!("/circulation/loans/{id}/add-info");
    let refused = server.admin().post(&change, &json!({})).await;
    assert_eq!(refused.refusals(), ["A new due date is required in order to change the due date"]);

    server.admin().post(&change, &json!({"dueDate": "2030-01-01T10:00:00Z"})).await.expect(204);
    let info = json!({"action": "staffInfoAdded", "actionComment": "worn"});
    server.admin().post(&remark, &info).await.expect(204);

    let loan = server.admin().get(&format!("/circulation/loans/{id}")).await.expect(200);
    assert_eq!(loan["dueDate"], "2030-01-01T10:00:00.000+00:00");
    assert_eq!((&loan["action"], &loan["actionComment"]), (&json!("staffInfoAdded"), &json!("worn")));
    assert_eq!(history_of(&server, &id).await.len(), 3);
}

#[tokio::test]
async fn a_claimed_item_declared_missing_closes_the_loan_and_adds_a_note() {
    let server = LendingServer::open().await;
    server.admin().post("/note-types", &json!({"name": "General note"})).await;
    let (test_item, patron, id) = lent(&server).await;
    let claim = json!({"itemClaimedReturnedDateTime": "2024-05-20T10:00:00Z", "comment": "says so"});
    server.admin().post(&format!("/circulation/loans/{id}/claim-item-returned"), &claim).await.expect(204);
    assert_eq!(server.status_of(&test_item).await, "Claimed returned");

    let path = format!("/circulation/loans/{id}/declare-claimed-returned-item-as-missing");
    server.admin().post(&path, &json!({"comment": "looked everywhere"})).await.expect(204);

    assert_eq!(server.status_of(&test_item).await, "Missing");
    let loan = server.admin().get(&format!("/circulation/loans/{id}")).await.expect(200);
    assert_eq!((&loan["status"]["name"], &loan["action"]), (&json!("Closed"), &json!("markedMissing")));
    let notes = server.admin().get("/notes?limit=100").await.expect(200);
    let note = &notes["notes"][0];
    assert_eq!(note["title"], "Claimed returned item marked missing");
    assert_eq!(note["links"], json!([{"id": patron.id, "type": "user"}]));
}

#[tokio::test]
async fn a_closed_loan_without_fees_is_anonymized_with_its_history() {
    let server = LendingServer::open().await;
    let (test_item, patron, closed) = lent(&server).await;
    server.check_in(&test_item, server.main_desk).await.expect(200);
    server.check_out(&server.item().await, &patron).await.expect(201);

    let path = format!("/loan-anonymization/by-user/{}", patron.id);
    let reported = server.admin().post(&path, &json!({})).await.expect(200);

    assert_eq!(reported, json!({"anonymizedLoans": [closed], "errors": []}));
    let stored = server.admin().get(&format!("/loan-storage/loans/{closed}")).await.expect(200);
    assert!(stored.get("userId").is_none());
    let history = history_of(&server, &closed).await;
    assert!(history.len() >= 2 && history.iter().all(|row| row["loan"].get("userId").is_none()));
    assert_eq!(server.open_loans_of(&patron).await.len(), 1, "open loans keep their borrower");
}

#[tokio::test]
async fn a_session_ends_by_timeout() {
    let server = LendingServer::open().await;
    let (gone, here) = (server.patron().await, server.patron().await);
    for patron in [&gone, &here] {
        server.check_out(&server.item().await, patron).await.expect(201);
        server.check_out(&server.item().await, patron).await.expect(201);
    }
    let database = server.server.database().await;
    let minutes_ago = |minutes: i64| {
        (jiff::Timestamp::now() - jiff::SignedDuration::from_mins(minutes))
            .strftime("%Y-%m-%dT%H:%M:%S.000+00:00")
            .to_string()
    };
    // One of the two actions of each patron is old; for one patron both are.
    for (patron, condition) in [
        (&gone, "true"),
        (&here, "id = (SELECT min(id::text)::uuid FROM patron_action_session s WHERE s.patron_id = $1)"),
    ] {
        database
            .execute(
                &format!(
                    "UPDATE patron_action_session SET doc = jsonb_set(doc, '{{metadata,createdDate}}', to_jsonb($2::text))
                     WHERE patron_id = $1 AND {condition}"
                ),
                &[&patron.id, &minutes_ago(4)],
            )
            .await
            .expect("actions of some minutes ago");
    }
    let left = async || -> Vec<Uuid> {
        let rows =
            database.query("SELECT patron_id FROM patron_action_session", &[]).await.expect("sessions");
        rows.iter().map(|row| row.get(0)).collect()
    };
    let path = "/circulation/notice-session-expiration-by-timeout";
    let setting =
        json!({"name": "other_settings", "value": {"checkoutTimeout": true, "checkoutTimeoutDuration": 10}});
    let setting = server.create("/circulation/settings", &setting).await;
    server.admin().post(path, &json!({})).await.expect_status(204);
    assert_eq!(left().await.len(), 4, "ten minutes are not over");

    let setting_path = format!("/circulation/settings/{}", setting["id"].as_str().unwrap_or_default());
    server.admin().delete(&setting_path).await.expect_status(204);
    server.admin().post(path, &json!({})).await.expect_status(204);

    assert_eq!(left().await, [here.id, here.id], "three minutes are over for one of them");
}

#[tokio::test]
async fn any_number_of_forgotten_sessions_ends_in_one_run() {
    let server = LendingServer::open().await;
    let database = server.server.database().await;
    database
        .execute(
            "INSERT INTO patron_action_session (id, doc)
             SELECT id, jsonb_build_object('id', id, 'patronId', gen_random_uuid(), 'loanId', gen_random_uuid(),
                 'actionType', 'Check-in', 'metadata', '{\"createdDate\": \"2024-05-01T00:00:00.000+00:00\"}'::jsonb)
             FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 250)) new",
            &[],
        )
        .await
        .expect("actions of long ago");
    let path = "/circulation/notice-session-expiration-by-timeout";
    server.admin().post(path, &json!({})).await.expect_status(204);
    let left = database.query("SELECT id FROM patron_action_session", &[]).await.expect("sessions");
    assert_eq!(left.len(), 0);
}

#[tokio::test]
async fn a_session_ends_on_request() {
    let server = LendingServer::open().await;
    let (_, patron, _) = lent(&server).await;
    let end = |action: &str| json!({"endSessions": [{"patronId": patron.id, "actionType": action}]});
    let sessions = || async {
        let database = server.server.database().await;
        let rows: i64 = database
            .query_one("SELECT count(*) FROM patron_action_session", &[])
            .await
            .expect("a count")
            .get(0);
        rows
    };
    server.admin().post("/circulation/end-patron-action-session", &end("Check-in")).await.expect(204);
    assert_eq!(sessions().await, 1);
    server.admin().post("/circulation/end-patron-action-session", &end("Check-out")).await.expect(204);
    assert_eq!(sessions().await, 0);
}

#[tokio::test]
async fn each_answer_has_the_names_that_it_has_in_folio() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let admin = server.admin();
    let lent = server.check_out(&test_item, &patron).await.expect(201);
    let id = lent["id"].as_str().unwrap_or_default();
    let order = json!({"itemBarcode": test_item.barcode, "userBarcode": patron.barcode});
    let renewed = admin.post("/circulation/renew-by-barcode", &order).await.expect(200);
    let open = admin.get(&format!("/circulation/loans/{id}")).await.expect(200);
    let back = server.check_in(&test_item, server.main_desk).await.expect(200)["loan"].clone();
    let closed = admin.get(&format!("/circulation/loans/{id}")).await.expect(200);
    // Service points of check-out and check-in, patron group; loan, overdue fine and lost item policy.
    for (loan, shown, named) in [
        (&lent, [false, false, true], [true, true, true]),
        (&renewed, [false, false, false], [true, true, false]),
        (&open, [true, false, true], [true, true, true]),
        (&back, [false, false, false], [false, false, false]),
        (&closed, [true, true, true], [true, true, true]),
    ] {
        let names = ["checkoutServicePoint", "checkinServicePoint", "patronGroupAtCheckout"];
        assert_eq!(names.map(|name| loan.get(name).is_some()), shown, "{loan}");
        let policies = ["loanPolicy", "overdueFinePolicy", "lostItemPolicy"];
        assert_eq!(policies.map(|name| loan[name]["name"].is_string()), named, "{loan}");
        assert_eq!(loan["borrower"]["middleName"], Value::Null);
        for own in ["itemStatus", "patronGroupIdAtCheckout", "agedToLostDelayedBilling"] {
            assert!(loan.get(own).is_none(), "{own}: {loan}");
        }
    }
}
