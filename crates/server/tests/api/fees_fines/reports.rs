//! Reports on fees and fines.

use super::{Fees, SERVICE_POINT, action};
use serde_json::{Value, json};

/// Two accounts, with payments, a waiver, a transfer and a refund of today.
async fn history(fees: &Fees) -> (String, String) {
    let (first, second) = (fees.account(10.0).await, fees.account(5.0).await);
    let mut payment = action("4");
    payment["comments"] = "STAFF : in coins \n PATRON : thank you".into();
    let mut card = action("1.5");
    card["paymentMethod"] = "Credit card".into();
    card["userName"] = "Desk, Dora".into();
    let named = |amount: &str, name: &str| {
        let mut request = action(amount);
        request["paymentMethod"] = name.into();
        request
    };
    for (account, name, request) in [
        (&first, "pay", payment),
        (&second, "pay", card),
        (&second, "waive", named("1", "First offence")),
        (&first, "transfer", named("2", "Bursar")),
        (&first, "refund", named("3", "Overpaid")),
    ] {
        fees.server.post(&format!("/accounts/{account}/{name}"), &request).await.expect(201);
    }
    (first, second)
}

fn total<'a>(stats: &'a Value, list: &str, name: &str) -> Option<(&'a str, &'a str)> {
    let entry = stats[list].as_array()?.iter().find(|entry| entry["name"] == name)?;
    Some((entry["totalAmount"].as_str()?, entry["totalCount"].as_str()?))
}

#[tokio::test]
async fn the_cash_drawer_report_has_the_payments_at_the_service_point() {
    let fees = Fees::open().await;
    history(&fees).await;
    let path = "/feefine-reports/cash-drawer-reconciliation";
    let request = json!({"startDate": "2020-01-01", "createdAt": SERVICE_POINT});
    let report = fees.server.post(path, &request).await.expect(200);
    assert_eq!(report["reportData"].as_array().map(Vec::len), Some(2));
    let stats = &report["reportStats"];
    assert_eq!(total(stats, "byPaymentMethod", "Cash"), Some(("4.00", "1")));
    assert_eq!(total(stats, "byPaymentMethod", "Payment method totals"), Some(("5.50", "2")));
    assert_eq!(total(stats, "bySource", "Desk, Dora"), Some(("1.50", "1")));
    assert_eq!(total(stats, "byFeeFineOwner", "Main desk"), Some(("5.50", "2")));
    let entry = &report["reportData"][0];
    assert_eq!(entry["additionalStaffInfo"], "in coins");
    assert_eq!(entry["additionalPatronInfo"], "thank you");
    assert_eq!(entry["paidAmount"], "4.00");

    let of_dora = json!({"startDate": "2020-01-01", "createdAt": SERVICE_POINT, "sources": ["Desk, Dora"]});
    let report = fees.server.post(path, &of_dora).await.expect(200);
    assert_eq!(report["reportData"].as_array().map(Vec::len), Some(1));
    let sources =
        fees.server.post(&format!("{path}/sources"), &json!({"createdAt": SERVICE_POINT})).await.expect(200);
    assert_eq!(sources["sources"], json!(["Clerk, Carla", "Desk, Dora"]));
    let past = json!({"startDate": "2020-01-01", "endDate": "2020-12-31", "createdAt": SERVICE_POINT});
    assert_eq!(fees.server.post(path, &past).await.expect(200)["reportData"], json!([]));
}

#[tokio::test]
async fn a_refund_is_reported_with_what_was_paid_before_it() {
    let fees = Fees::open().await;
    let (first, _) = history(&fees).await;
    let report =
        fees.server.post("/feefine-reports/refund", &json!({"startDate": "2020-01-01"})).await.expect(200);
    let entries = report["reportData"].as_array().cloned().unwrap_or_default();
    assert_eq!(entries.len(), 1);
    for (name, expected) in [
        ("feeFineId", json!(first)),
        ("patronName", json!("Byron, Ada")),
        ("patronBarcode", json!("77")),
        ("billedAmount", json!("10.00")),
        ("refundAmount", json!("3.00")),
        ("refundAction", json!("Refunded partially")),
        ("refundReason", json!("Overpaid")),
        ("paidAmount", json!("4.00")),
        ("paymentMethod", json!("Cash")),
        ("feeFineOwner", json!("Main desk")),
    ] {
        assert_eq!(entries[0][name], expected, "{name}");
    }
    let other = json!({"startDate": "2020-01-01", "feeFineOwners": [uuid::Uuid::new_v4()]});
    let report = fees.server.post("/feefine-reports/refund", &other).await.expect(200);
    assert_eq!(report["reportData"], json!([]));
}

#[tokio::test]
async fn financial_transactions_are_listed_and_summed() {
    let fees = Fees::open().await;
    history(&fees).await;
    let request = json!({"startDate": "2020-01-01", "feeFineOwner": fees.owner["id"],
        "createdAt": [SERVICE_POINT]});
    let path = "/feefine-reports/financial-transactions-detail";
    let report = fees.server.post(path, &request).await.expect(200);
    let entries = report["reportData"].as_array().cloned().unwrap_or_default();
    let actions: Vec<&str> = entries.iter().filter_map(|entry| entry["action"].as_str()).collect();
    assert_eq!(actions, ["Payment", "Payment", "Waive", "Transfer", "Refund"]);
    assert_eq!(entries[0]["actionCreatedAt"], "Circ Desk 1");
    assert_eq!(entries[0]["patronEmail"], "ada@example.org");
    assert_eq!(entries[2]["waiveReason"], "First offence");
    assert_eq!(entries[3]["transferAccount"], "Bursar");
    let stats = &report["reportStats"];
    assert_eq!(total(stats, "byAction", "Payment"), Some(("5.50", "2")));
    assert_eq!(total(stats, "byWaiveReason", "Waive reason totals"), Some(("1.00", "1")));
    assert_eq!(total(stats, "byRefundReason", "Overpaid"), Some(("3.00", "1")));
    assert_eq!(total(stats, "byTransferAccount", "Bursar"), Some(("2.00", "1")));
}

#[tokio::test]
async fn malformed_periods_are_refused_in_plain_text() {
    let fees = Fees::open().await;
    for (path, request, text) in [
        (
            "/feefine-reports/refund",
            json!({"endDate": "2026-01-01"}),
            "Start date should not be empty when end date is specified",
        ),
        ("/feefine-reports/refund", json!({"startDate": "soon"}), "Invalid startDate or endDate parameter"),
        (
            "/feefine-reports/cash-drawer-reconciliation",
            json!({"startDate": "2026-02-30", "createdAt": SERVICE_POINT}),
            "Invalid startDate or endDate parameter",
        ),
        (
            "/feefine-reports/financial-transactions-detail",
            json!({"startDate": "1/2/2026", "feeFineOwner": fees.owner["id"]}),
            "Invalid startDate or endDate parameter",
        ),
    ] {
        assert_eq!(fees.server.post(path, &request).await.expect(422), text, "{path}");
    }
}

#[tokio::test]
async fn a_reports_request_has_no_other_properties() {
    let fees = Fees::open().await;
    for (path, request, text) in [
        ("refund", json!({"incorrectField": 1}), "Unrecognized field \"incorrectField\""),
        ("refund", json!({"feeFineOwners": ["me"]}), "elements in list must match pattern"),
        ("cash-drawer-reconciliation", json!({"createdAt": SERVICE_POINT}), "must not be null"),
        ("cash-drawer-reconciliation/sources", json!({}), "must not be null"),
        ("financial-transactions-detail", json!({"startDate": "2026-01-01"}), "must not be null"),
    ] {
        let refused = fees.server.post(&format!("/feefine-reports/{path}"), &request).await;
        assert_eq!(refused.refusals(), [text], "{path}");
    }
}
