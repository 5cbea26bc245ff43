//! A lenient tenant at the desk: modules' own fixtures, which leave out what storage requires.

use carrel_platform::ServerOptions;
use carrel_testkit::{Client, TestServer};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

async fn suite() -> (TestServer, Client) {
    let options = ServerOptions { behind_gateway: true, makes_tenants: true, ..ServerOptions::default() };
    let server = TestServer::start_in(options).await;
    let caller = server
        .stranger()
        .with_header("x-okapi-tenant", "test_tenant")
        .with_header("x-okapi-permissions", r#"["circulation.override-renewal-block.post"]"#)
        .with_header("x-okapi-user-id", "79ff2a8b-d9c3-5b39-ad4a-0a84025ab085");
    (server, caller)
}

/// Creates a record and returns its id.
async fn make(caller: &Client, path: &str, mut record: Value) -> Uuid {
    let id = Uuid::new_v4();
    record["id"] = json!(id);
    caller.post(path, &record).await.expect(201);
    id
}

/// A loan whose lost item is billed at actual cost and whose due date has a notice: the loan and the service point.
async fn lent(caller: &Client) -> (Value, Uuid) {
    let desk = make(caller, "/service-points", json!({"name": "Desk", "code": "d"})).await;
    let location = json!({"name": "Stacks", "code": "s", "primaryServicePoint": desk});
    let location = make(caller, "/locations", location).await;
    let owner = json!({"owner": "Main", "servicePointOwner": [{"value": desk, "label": "Desk"}]});
    make(caller, "/owners", owner).await;
    let group = make(caller, "/groups", json!({"group": "staff"})).await;
    let person = json!({"username": "ada", "barcode": "1", "active": true, "patronGroup": group,
        "personal": {"lastName": "Lovelace"}});
    make(caller, "/users", person).await;
    let policy = json!({"name": "l", "loanable": true, "renewable": true,
        "loansPolicy": {"profileId": "Rolling", "period": {"duration": 3, "intervalId": "Weeks"}},
        "renewalsPolicy": {"unlimited": true, "renewFromId": "SYSTEM_DATE"}});
    let loans = make(caller, "/loan-policy-storage/loan-policies", policy).await;
    let requests = make(caller, "/request-policy-storage/request-policies", json!({"name": "r"})).await;
    let notice = json!({"templateId": Uuid::new_v4(), "format": "Email", "realTime": true,
        "sendOptions": {"sendHow": "Upon At", "sendWhen": "Due date"}});
    let notices = json!({"name": "n", "active": true, "loanNotices": [notice]});
    let notices = make(caller, "/patron-notice-policy-storage/patron-notice-policies", notices).await;
    let fines = make(caller, "/overdue-fines-policies", json!({"name": "o"})).await;
    let lost = json!({"name": "i", "chargeAmountItem": {"chargeType": "actualCost", "amount": 10},
        "chargeAmountItemPatron": false, "lostItemReturned": "Charge"});
    let lost = make(caller, "/lost-item-fees-policies", lost).await;
    let rules = format!(
        "priority: t, s, c, b, a, m, g\nfallback-policy: l {loans} r {requests} n {notices} o {fines} i {lost}"
    );
    caller.put("/circulation/rules", &json!({"rulesAsText": rules})).await.expect_status(204);
    let instance = make(caller, "/instance-storage/instances", json!({"title": "Emma"})).await;
    let holdings = json!({"instanceId": instance, "permanentLocationId": location});
    let holdings = make(caller, "/holdings-storage/holdings", holdings).await;
    let book = make(caller, "/material-types", json!({"name": "book"})).await;
    let item = json!({"barcode": "2", "holdingsRecordId": holdings, "materialTypeId": book,
        "status": {"name": "Available"}});
    make(caller, "/item-storage/items", item).await;
    let scan = json!({"itemBarcode": "2", "userBarcode": "1", "servicePointId": desk});
    (caller.post("/circulation/check-out-by-barcode", &scan).await.expect(201), desk)
}

#[tokio::test]
async fn sessions_that_a_suite_marks_as_expired_end() {
    let (_server, caller) = suite().await;
    let patron = Uuid::new_v4();
    let sessions = "/patron-action-session-storage/patron-action-sessions";
    for action in ["Check-out", "Check-in"] {
        let session = json!({"patronId": patron, "loanId": Uuid::new_v4(), "actionType": action});
        make(&caller, sessions, session).await;
    }
    let marked = json!({"patronId": patron, "actionType": "Check-out"});
    caller.post("/patron-action-session-storage/expired-session-patron-ids", &marked).await.expect(201);
    let expire = "/circulation/notice-session-expiration-by-timeout";
    caller.post(expire, &json!({})).await.expect_status(204);
    let left = caller.get(sessions).await.expect(200);
    assert_eq!(
        (&left["totalRecords"], &left["patronActionSessions"][0]["actionType"]),
        (&json!(1), &json!("Check-in"))
    );
}

#[tokio::test]
async fn a_notice_that_is_sent_once_has_an_empty_period() {
    let (_server, caller) = suite().await;
    lent(&caller).await;
    for _ in 0..600 {
        let found = caller.get("/scheduled-notice-storage/scheduled-notices").await.expect(200);
        if let Some(notice) = found["scheduledNotices"].get(0) {
            assert_eq!(notice["noticeConfig"].get("recurringPeriod"), Some(&Value::Null), "{notice}");
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no notice was scheduled");
}

#[tokio::test]
async fn an_actual_cost_without_type_is_recorded_and_its_account_without_patron_reversed() {
    let (_server, caller) = suite().await;
    let (loan, desk) = lent(&caller).await;
    let id = loan["id"].as_str().expect("an id");
    let body = json!({"servicePointId": desk, "declaredLostDateTime": "2026-01-01T00:00:00Z"});
    caller.post(&format!("/circulation/loans/{id}/declare-item-lost"), &body).await.expect_status(204);
    let records = caller.get("/actual-cost-record-storage/actual-cost-records").await.expect(200);
    let record = &records["actualCostRecords"][0];
    assert_eq!(
        (&record["status"], &record["feeFine"]["owner"]),
        (&json!("Open"), &json!("Main")),
        "{records}"
    );
    assert_eq!(record["feeFine"].get("typeId"), None);
    let account = json!({"loanId": id, "amount": 10, "remaining": 10, "status": {"name": "Open"},
        "paymentStatus": {"name": "Outstanding"}, "feeFineType": "Lost item fee (actual cost)"});
    let account = make(&caller, "/accounts", account).await;
    let scan = json!({"itemBarcode": "2", "checkInDate": "2026-01-02T00:00:00Z", "servicePointId": desk});
    caller.post("/circulation/check-in-by-barcode", &scan).await.expect(200);
    let account = caller.get(&format!("/accounts/{account}")).await.expect(200);
    assert_eq!(account["status"]["name"], "Closed", "{account}");
}
