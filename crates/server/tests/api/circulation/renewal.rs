//! Renewal through the public API.

use carrel_testkit::{LendingServer, TestItem, TestPatron};
use serde_json::{Value, json};

fn by_barcode(test_item: &TestItem, patron: &TestPatron) -> Value {
    json!({"itemBarcode": test_item.barcode, "userBarcode": patron.barcode})
}

#[tokio::test]
async fn a_patron_keeps_an_item_for_longer_in_two_round_trips() {
    let options = carrel_platform::ServerOptions { counts_round_trips: true, ..Default::default() };
    let server = LendingServer::on(carrel_testkit::TestServer::start_in(options).await).await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let loan = server.check_out(&test_item, &patron).await.expect(201);

    let answer = server.admin().post("/circulation/renew-by-barcode", &by_barcode(&test_item, &patron)).await;

    let renewed = answer.expect(200);
    assert_eq!(renewed["id"], loan["id"]);
    assert_eq!((&renewed["action"], &renewed["renewalCount"]), (&json!("renewed"), &json!(1)));
    assert!(renewed["dueDate"].as_str() > loan["dueDate"].as_str());
    assert!(renewed["dueDate"].as_str().is_some_and(|due| due.ends_with('Z')), "{}", renewed["dueDate"]);
    assert_eq!(answer.header("x-carrel-round-trips"), Some("2"), "facts and changes");
    let by_id = json!({"itemId": test_item.id, "userId": patron.id});
    let again = server.admin().post("/circulation/renew-by-id", &by_id).await.expect(200);
    assert_eq!(again["renewalCount"], 2);
}

#[tokio::test]
async fn a_renewal_for_another_patrons_loan_is_refused() {
    let server = LendingServer::open().await;
    let (test_item, patron, other) = (server.item().await, server.patron().await, server.patron().await);
    server.check_out(&test_item, &patron).await.expect(201);
    let answer = server.admin().post("/circulation/renew-by-barcode", &by_barcode(&test_item, &other)).await;
    assert_eq!(answer.refusals(), ["Cannot renew item checked out to different user"]);
    let unknown = json!({"itemBarcode": "nothing", "userBarcode": patron.barcode});
    let answer = server.admin().post("/circulation/renew-by-barcode", &unknown).await;
    assert_eq!(answer.refusals(), ["No item with barcode nothing exists"]);
}

#[tokio::test]
async fn a_lost_item_is_renewed_by_override() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let loan = server.check_out(&test_item, &patron).await.expect(201);
    let mut item = server.look_at(&test_item).await;
    item["status"] = json!({"name": "Declared lost"});
    server.admin().put(&format!("/item-storage/items/{}", test_item.id), &item).await.expect(204);
    let refused =
        server.admin().post("/circulation/renew-by-barcode", &by_barcode(&test_item, &patron)).await;
    assert_eq!(refused.refusals(), ["item is Declared lost"]);

    let mut order = by_barcode(&test_item, &patron);
    order["overrideBlocks"] = json!({"renewalBlock": {}, "comment": "found under the bed"});
    let clerk = server.server.staff_with(&["circulation.renew-by-barcode.post"]).await;
    let refused = clerk.post("/circulation/renew-by-barcode", &order).await;
    assert_eq!(refused.refusals(), ["Insufficient override permissions"]);
    let renewed = server.admin().post("/circulation/renew-by-barcode", &order).await.expect(200);

    assert_eq!(renewed["action"], "renewedThroughOverride");
    assert_eq!(server.status_of(&test_item).await, "Checked out");
    let history = format!("/loan-storage/loan-history?query=loan.id=={}", loan["id"].as_str().unwrap_or(""));
    let rows = server.admin().get(&history).await.expect(200);
    assert_eq!(rows["loansHistory"][0]["loan"]["actionComment"], "found under the bed");
}
