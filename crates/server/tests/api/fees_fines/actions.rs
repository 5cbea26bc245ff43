//! Actions on accounts: changes, answers, refusals.

use super::{Fees, SERVICE_POINT, action, bulk};
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test]
async fn a_part_is_paid_and_then_the_rest() {
    let fees = Fees::open().await;
    let account = fees.account(10.0).await;
    let path = format!("/accounts/{account}/pay");
    let mut request = action("3.5");
    request["comments"] = "STAFF : in coins".into();
    request["transactionInfo"] = "check 5".into();
    let paid = fees.server.post(&path, &request).await.expect(201);
    assert_eq!(
        (&paid["accountId"], &paid["amount"], &paid["remainingAmount"]),
        (&json!(account), &json!("3.50"), &json!("6.50"))
    );
    let record = &paid["feefineactions"][0];
    for (name, expected) in [
        ("typeAction", json!("Paid partially")),
        ("amountAction", json!(3.5)),
        ("balance", json!(6.5)),
        ("comments", json!("STAFF : in coins")),
        ("transactionInformation", json!("check 5")),
        ("createdAt", json!(SERVICE_POINT)),
        ("source", json!("Clerk, Carla")),
        ("paymentMethod", json!("Cash")),
        ("notify", json!(false)),
        ("accountId", json!(account)),
        ("userId", json!(fees.patron)),
    ] {
        assert_eq!(record[name], expected, "{name}");
    }
    let stored = fees.stored(&account).await;
    assert_eq!(stored["remaining"], 6.5);
    assert_eq!(stored["status"]["name"], "Open");
    assert_eq!(stored["paymentStatus"]["name"], "Paid partially");

    let paid = fees.server.post(&path, &action("6.50")).await.expect(201);
    assert_eq!(paid["remainingAmount"], "0.00");
    let stored = fees.stored(&account).await;
    assert_eq!(stored["status"]["name"], "Closed");
    assert_eq!(stored["paymentStatus"]["name"], "Paid fully");
    assert_eq!(fees.records_of(&account).await.len(), 2);
}

#[tokio::test]
async fn waiving_and_transferring_have_statuses_of_their_own() {
    let fees = Fees::open().await;
    for (name, expected) in [("waive", "Waived fully"), ("transfer", "Transferred fully")] {
        let account = fees.account(2.0).await;
        fees.server.post(&format!("/accounts/{account}/{name}"), &action("2")).await.expect(201);
        assert_eq!(fees.stored(&account).await["paymentStatus"]["name"], expected);
    }
}

#[tokio::test]
async fn refusals_come_in_order_and_change_nothing() {
    let fees = Fees::open().await;
    let (open, closed) = (fees.account(1.0).await, fees.account(1.0).await);
    fees.server.post(&format!("/accounts/{closed}/pay"), &action("1")).await.expect(201);
    for (account, amount, message) in [
        (&closed, "much", "Invalid amount entered"),
        (&closed, "0", "Amount must be positive"),
        (&closed, "-1", "Amount must be positive"),
        (&closed, "1", "Fee/fine is already closed"),
        (&open, "1.01", "Requested amount exceeds remaining amount"),
    ] {
        for name in ["pay", "waive", "transfer"] {
            let check = format!("/accounts/{account}/check-{name}");
            let refused = fees.server.post(&check, &json!({"amount": amount})).await.expect(422);
            assert_eq!(
                refused,
                json!({"accountId": account, "amount": amount, "allowed": false, "errorMessage": message}),
                "{name}"
            );
            let refused =
                fees.server.post(&format!("/accounts/{account}/{name}"), &action(amount)).await.expect(422);
            assert_eq!(
                refused,
                json!({"accountId": account, "amount": amount, "errorMessage": message}),
                "{name}"
            );
        }
    }
    assert_eq!(fees.stored(&open).await["remaining"], 1.0);
    assert!(fees.records_of(&open).await.is_empty());
}

#[tokio::test]
async fn an_unknown_account_is_reported_before_anything_else() {
    let fees = Fees::open().await;
    let (known, unknown) = (fees.account(1.0).await, Uuid::new_v4().to_string());
    let message = format!("Fee/fine ID {unknown} not found");
    for name in ["pay", "waive", "transfer", "refund", "cancel", "check-pay", "check-refund"] {
        let single = fees.server.post(&format!("/accounts/{unknown}/{name}"), &action("nothing")).await;
        assert_eq!(single.expect(404), message.as_str(), "{name}");
        let body = bulk(&[&known, &unknown], "nothing");
        let several = fees.server.post(&format!("/accounts-bulk/{name}"), &body).await;
        assert_eq!(several.expect(404), message.as_str(), "{name}");
    }
}

#[tokio::test]
async fn a_check_returns_the_remaining_amount() {
    let fees = Fees::open().await;
    let account = fees.account(10.0).await;
    let checked = fees
        .server
        .post(&format!("/accounts/{account}/check-pay"), &json!({"amount": "2.5"}))
        .await
        .expect(200);
    assert_eq!(
        checked,
        json!({"accountId": account, "amount": "2.50", "allowed": true, "remainingAmount": "7.50"})
    );
    assert_eq!(fees.stored(&account).await["remaining"], 10.0);
    let body = json!({"accountIds": [account], "amount": "2.5"});
    let checked = fees.server.post("/accounts-bulk/check-waive", &body).await.expect(200);
    assert_eq!(
        checked,
        json!({"accountIds": [account], "amount": "2.5", "allowed": true, "remainingAmount": "7.50"})
    );
}

#[tokio::test]
async fn an_amount_is_divided_among_several_accounts() {
    let fees = Fees::open().await;
    let (small, large, middle) = (fees.account(1.0).await, fees.account(9.0).await, fees.account(4.0).await);
    let body = bulk(&[&small, &large, &middle], "10");
    let paid = fees.server.post("/accounts-bulk/pay", &body).await.expect(201);
    assert_eq!(paid["amount"], "10.00");
    assert_eq!(paid["accountIds"], json!([small, large, middle]));
    assert!(paid.get("remainingAmount").is_none());
    let mut remaining = Vec::new();
    for account in [&small, &large, &middle] {
        remaining.push(fees.stored(account).await["remaining"].clone());
    }
    assert_eq!(remaining, [json!(0.0), json!(4.0), json!(0.0)]);
    assert_eq!(paid["feefineactions"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn a_refund_is_credited_first_and_owed_again() {
    let fees = Fees::open().await;
    let account = fees.account(10.0).await;
    let mut transfer = action("6");
    transfer["paymentMethod"] = "Bursar".into();
    fees.server.post(&format!("/accounts/{account}/pay"), &action("4")).await.expect(201);
    fees.server.post(&format!("/accounts/{account}/transfer"), &transfer).await.expect(201);

    let path = format!("/accounts/{account}/refund");
    let mut request = action("5");
    request["paymentMethod"] = "Overpaid".into();
    let refunded = fees.server.post(&path, &request).await.expect(201);
    assert_eq!((&refunded["amount"], &refunded["remainingAmount"]), (&json!("5.00"), &json!("5.00")));
    let lines: Vec<Value> = refunded["feefineactions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|it| json!([it["typeAction"], it["amountAction"], it["balance"], it["transactionInformation"]]))
        .collect();
    assert_eq!(
        lines,
        [
            json!(["Credited fully", 4.0, 0.0, "Refund to patron"]),
            json!(["Credited partially", 1.0, 0.0, "Refund to Bursar"]),
            json!(["Refunded fully", 4.0, 4.0, "Refunded to patron"]),
            json!(["Refunded partially", 1.0, 5.0, "Refunded to Bursar"]),
        ]
    );
    let stored = fees.stored(&account).await;
    assert_eq!((&stored["status"]["name"], &stored["remaining"]), (&json!("Open"), &json!(5.0)));

    let message = "Refund amount must be greater than zero and less than or equal to Selected amount";
    let refused = fees.server.post(&path, &action("5.01")).await.expect(422);
    assert_eq!(refused["errorMessage"], message);
    let check = format!("/accounts/{account}/check-refund");
    let checked = fees.server.post(&check, &json!({"amount": "1"})).await.expect(200);
    assert_eq!(checked["remainingAmount"], "4.00");
}

#[tokio::test]
async fn a_cancelled_account_is_closed_with_the_given_reason() {
    let fees = Fees::open().await;
    let account = fees.account(10.0).await;
    let path = format!("/accounts/{account}/cancel");
    let mut request =
        json!({"notifyPatron": false, "servicePointId": SERVICE_POINT, "userName": "Clerk, Carla"});
    request["cancellationReason"] = "Paid fully".into();
    fees.server.post(&path, &request).await.expect_status(422);
    request["cancellationReason"] = "Cancelled item returned".into();
    let cancelled = fees.server.post(&path, &request).await.expect(201);
    assert!(cancelled.get("amount").is_none());
    assert_eq!(cancelled["remainingAmount"], "0.00");
    let record = &cancelled["feefineactions"][0];
    assert_eq!((&record["typeAction"], &record["balance"]), (&json!("Cancelled item returned"), &json!(0.0)));
    let stored = fees.stored(&account).await;
    assert_eq!(stored["paymentStatus"]["name"], "Cancelled item returned");
    assert_eq!(stored["status"]["name"], "Closed");
    let refused = fees.server.post(&path, &request).await.expect(422);
    assert_eq!(refused, json!({"accountId": account, "errorMessage": "Fee/fine is already closed"}));
}

#[tokio::test]
async fn a_settled_fee_of_a_loan_is_announced_with_its_balance() {
    let fees = Fees::open().await;
    let loan = Uuid::new_v4().to_string();
    let account = fees.account_with(3.0, json!({"loanId": loan})).await;
    fees.server.post(&format!("/accounts/{account}/pay"), &action("1")).await.expect(201);
    fees.server.post(&format!("/accounts/{account}/waive"), &action("2")).await.expect(201);
    let database = fees.server.database().await;
    let sql =
        "SELECT topic, payload::text FROM library_diku.outbox WHERE topic LIKE 'feesfines.%' ORDER BY id";
    let rows = database.query(sql, &[]).await.expect("the outbox can be read");
    let events: Vec<(String, Value)> = rows
        .iter()
        .map(|row| (row.get(0), serde_json::from_str(&row.get::<_, String>(1)).expect("JSON")))
        .collect();
    let balances: Vec<&Value> = events
        .iter()
        .filter(|(topic, _)| topic == "feesfines.FEE_FINE_BALANCE_CHANGED")
        .map(|(_, payload)| &payload["balance"])
        .collect();
    assert_eq!(balances, [&json!(3.0), &json!(2.0), &json!(0.0)]);
    let (topic, payload) = events.last().expect("an event");
    assert_eq!(topic, "feesfines.LOAN_RELATED_FEE_FINE_CLOSED");
    assert_eq!(*payload, json!({"loanId": loan}));
}

#[tokio::test]
async fn actions_need_their_permissions() {
    let fees = Fees::open().await;
    let account = fees.account(1.0).await;
    let clerk = fees.server.staff_with(&["feesfines.accounts.check-pay.post"]).await;
    clerk.post(&format!("/accounts/{account}/check-pay"), &json!({"amount": "1"})).await.expect_status(200);
    clerk.post(&format!("/accounts/{account}/pay"), &action("1")).await.expect_status(403);
}
