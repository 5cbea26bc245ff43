//! Scans that a client sends again because it got no answer, and scans that staff must confirm.

use carrel_testkit::{Client, LendingServer, TestItem, TestPatron};
use serde_json::{Value, json};

fn check_out(server: &LendingServer, test_item: &TestItem, patron: &TestPatron) -> Value {
    json!({"itemBarcode": test_item.barcode, "userBarcode": patron.barcode, "servicePointId": server.main_desk.0})
}

fn check_in(server: &LendingServer, test_item: &TestItem) -> Value {
    json!({"itemBarcode": test_item.barcode, "servicePointId": server.main_desk.0,
        "checkInDate": "2026-11-20T10:00:00.123Z"})
}

fn with_key(server: &LendingServer) -> Client {
    server.admin().with_header("idempotency-key", &uuid::Uuid::new_v4().to_string())
}

const CHECK_OUT: &str = "/circulation/check-out-by-barcode";
const CHECK_IN: &str = "/circulation/check-in-by-barcode";

async fn check_ins_of(server: &LendingServer, test_item: &TestItem) -> Value {
    let path = format!("/check-in-storage/check-ins?query=itemId=={}", test_item.id);
    server.admin().get(&path).await.expect(200)["totalRecords"].clone()
}

#[tokio::test]
async fn a_repeated_check_out_is_answered_with_the_first_loan() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let client = with_key(&server);
    let first = client.post(CHECK_OUT, &check_out(&server, &test_item, &patron)).await;
    let again = client.post(CHECK_OUT, &check_out(&server, &test_item, &patron)).await;
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!(again.expect(201), first.expect(201));
    // Also after the item was returned: the repetition belongs to the closed loan.
    server.check_in(&test_item, server.main_desk).await.expect(200);
    client.post(CHECK_OUT, &check_out(&server, &test_item, &patron)).await.expect(201);
    assert_eq!(server.open_loans_of(&patron).await.len(), 0);
}

#[tokio::test]
async fn two_computers_that_send_one_scan_at_once_make_one_loan() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let client = with_key(&server);
    let body = check_out(&server, &test_item, &patron);
    let (one, other) = tokio::join!(client.post(CHECK_OUT, &body), client.post(CHECK_OUT, &body));
    assert_eq!(one.expect(201)["id"], other.expect(201)["id"]);
    assert_eq!(server.open_loans_of(&patron).await.len(), 1);
}

#[tokio::test]
async fn two_computers_that_send_one_check_in_at_once_make_one_record() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    server.check_out(&test_item, &patron).await.expect(201);
    let client = with_key(&server);
    let body = check_in(&server, &test_item);
    let (one, other) = tokio::join!(client.post(CHECK_IN, &body), client.post(CHECK_IN, &body));
    assert_eq!(one.expect(200), other.expect(200));
    client.post(CHECK_IN, &body).await.expect(200);
    assert_eq!(check_ins_of(&server, &test_item).await, 1);
}

#[tokio::test]
async fn a_key_belongs_to_one_scan() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let (other, client) = (server.item().await, with_key(&server));
    client.post(CHECK_OUT, &check_out(&server, &test_item, &patron)).await.expect(201);
    let refused = client.post(CHECK_OUT, &check_out(&server, &other, &patron)).await;
    assert_eq!(refused.expect(422)["errors"][0]["code"], "IDEMPOTENCY_KEY_REUSED");
    client.post(CHECK_IN, &check_in(&server, &test_item)).await.expect_status(422);
    let unreadable = server.admin().with_header("idempotency-key", "again");
    unreadable.post(CHECK_OUT, &check_out(&server, &other, &patron)).await.expect_status(400);
    assert_eq!(server.open_loans_of(&patron).await.len(), 1);
}

#[tokio::test]
async fn a_refused_scan_leaves_no_key() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    server.check_out(&test_item, &server.patron().await).await.expect(201);
    let client = with_key(&server);
    let body = check_out(&server, &test_item, &patron);
    client.post(CHECK_OUT, &body).await.expect_status(422);
    server.check_in(&test_item, server.main_desk).await.expect(200);
    client.post(CHECK_OUT, &body).await.expect(201);
}

#[tokio::test]
async fn a_scan_with_a_note_is_refused_until_staff_have_read_it() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let cautious = server.admin().with_header("x-carrel-refuse-unconfirmed", "true");
    let mut record = server.look_at(&test_item).await;
    record["circulationNotes"] =
        json!([{"noteType": "Check out", "note": "Count the maps", "staffOnly": true}]);
    server.admin().put(&format!("/item-storage/items/{}", test_item.id), &record).await.expect_status(204);

    let refused = cautious.post(CHECK_OUT, &check_out(&server, &test_item, &patron)).await.expect(422);
    assert_eq!(refused["errors"][0]["code"], "CONFIRMATION_REQUIRED");
    assert_eq!(refused["errors"][0]["parameters"], json!([{"key": "reason", "value": "notes"}]));
    assert_eq!(server.open_loans_of(&patron).await.len(), 0);
    server.check_out(&test_item, &patron).await.expect(201);
    // The check-in needs no confirmation.
    cautious.post(CHECK_IN, &check_in(&server, &test_item)).await.expect(200);
}
