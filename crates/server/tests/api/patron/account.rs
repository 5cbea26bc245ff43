//! The patron's account.

use super::counting_server;
use carrel_testkit::{LendingServer, TestPatron};
use serde_json::{Value, json};
use uuid::Uuid;

/// Charges the patron, with this remaining amount.
async fn owes(server: &LendingServer, patron: &TestPatron, remaining: f64, item: Option<Uuid>) {
    let mut account = json!({"id": Uuid::new_v4(), "amount": 9.5, "remaining": remaining, "userId": patron.id,
        "status": {"name": "Open"}, "paymentStatus": {"name": "Paid partially"}, "feeFineType": "Overdue fine",
        "feeFineId": Uuid::new_v4(), "ownerId": Uuid::new_v4()});
    if let Some(item) = item {
        account["itemId"] = item.to_string().into();
    }
    server.create("/accounts", &account).await;
}

#[tokio::test]
async fn a_patrons_account_has_totals_and_is_read_in_one_round_trip() {
    let server = counting_server().await;
    let (lent, wanted, patron) = (server.item().await, server.item().await, server.patron().await);
    server.check_out(&lent, &patron).await.expect(201);
    let placed = server.patron_places_hold(&wanted, &patron).await.expect(201);
    owes(&server, &patron, 4.1, Some(lent.id)).await;
    owes(&server, &patron, 0.2, None).await;
    let euro = json!({"locale": "en-US", "currency": "EUR", "timezone": "UTC"});
    server.admin().put("/locale", &euro).await.expect(201);

    // The first call after a change of settings reads the caller's permissions again.
    server.account_of(&patron, "").await.expect(200);

    let answer = server.account_of(&patron, "").await;

    assert_eq!(
        answer.expect(200),
        json!({"totalCharges": {"amount": 4.3, "isoCurrencyCode": "EUR"}, "totalChargesCount": 2, "totalLoans": 1,
            "totalHolds": 1, "charges": [], "holds": [], "batches": [], "loans": []})
    );
    assert_eq!(answer.header("x-carrel-round-trips"), Some("1"));
    let all = "includeLoans=true&includeHolds=true&includeCharges=true&sortBy=metadata.createdDate";
    let account = server.account_of(&patron, all).await.expect(200);
    assert_eq!(account["holds"], json!([placed]));
    assert_eq!(account["loans"][0]["item"]["itemId"], json!(lent.id));
    assert_eq!(account["loans"][0]["item"]["instanceId"], json!(lent.instance));
    assert_eq!(account["loans"][0]["overdue"], false);
    let charges = &account["charges"];
    assert_eq!(charges[0]["chargeAmount"], json!({"amount": 4.1, "isoCurrencyCode": "EUR"}));
    assert_eq!(charges[0]["item"], account["loans"][0]["item"]);
    assert_eq!(
        (&charges[0]["state"], &charges[0]["reason"]),
        (&json!("Paid partially"), &json!("Overdue fine"))
    );
    assert_eq!(charges[1]["item"], Value::Null, "owed for nothing in particular");
}

#[tokio::test]
async fn lists_are_sorted_and_paged() {
    let server = LendingServer::open().await;
    let patron = server.patron().await;
    for day in ["2024-01-02", "2024-01-03", "2024-01-01"] {
        let then = json!({"loanDate": format!("{day}T00:00:00Z")});
        server.check_out_with(&server.item().await, &patron, then).await.expect(201);
    }
    let parameters = "includeLoans=true&sortBy=loanDate/sort.descending&limit=1&offset=1";
    let account = server.account_of(&patron, parameters).await.expect(200);
    assert_eq!(account["totalLoans"], 3);
    assert_eq!(account["loans"].as_array().map(Vec::len), Some(1));
    assert_eq!(account["loans"][0]["loanDate"], "2024-01-02T00:00:00.000+00:00");
    assert_eq!(account["loans"][0]["overdue"], true);
    let none = server.account_of(&patron, "includeLoans=true&limit=0").await.expect(200);
    assert_eq!((&none["totalLoans"], &none["loans"]), (&json!(3), &json!([])));
}

#[tokio::test]
async fn invalid_parameters_of_the_account_are_refused() {
    let server = LendingServer::open().await;
    let patron = server.patron().await;
    let stranger = TestPatron { id: Uuid::new_v4(), barcode: String::new() };
    let answer = server.account_of(&stranger, "").await;
    assert_eq!((answer.status, answer.text().as_str()), (404, "Not found"));
    let answer = server.account_of(&patron, "sortBy=)").await;
    assert_eq!(answer.expect(422)["errors"][0]["code"], "BAD_REQUEST");
    assert_eq!(server.account_of(&patron, "limit=-1").await.status, 400);
}

#[tokio::test]
async fn batches_are_reported_only_if_enabled() {
    let server = LendingServer::open().await;
    let patron = server.patron().await;
    let key = "isMultiItemRequestingFeatureEnabled";
    let answer = server.account_of(&patron, "includeBatches=true").await;
    assert_eq!(answer.expect(422)["errors"][0]["code"], "not_found_error");
    assert_eq!(answer.refusals(), [format!("Setting entity not found by key: {key}")]);

    let mut setting =
        json!({"id": Uuid::new_v4(), "scope": "mod-patron", "key": key, "value": {"enabled": false}});
    let mut stored = server.create("/patron/settings", &setting).await;
    let answer = server.account_of(&patron, "includeBatches=true").await;
    assert_eq!(answer.refusals(), [format!("Patron setting {key} is not enabled")]);

    stored["value"] = json!({"enabled": true});
    let path = format!("/patron/settings/{}", setting["id"].take().as_str().unwrap_or_default());
    server.admin().put(&path, &stored).await.expect(204);
    assert_eq!(server.account_of(&patron, "includeBatches=true").await.expect(200)["batches"], json!([]));
}

#[tokio::test]
async fn routes_that_exist_only_in_the_descriptor_answer_like_the_module() {
    let server = LendingServer::open().await;
    server.admin().get("/patron/account").await.expect_status(405);
    server.admin().put("/patron/account/by-email/ada@example.org", &json!({})).await.expect_status(404);
}
