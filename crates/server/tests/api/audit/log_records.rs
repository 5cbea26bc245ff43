//! Log records of other programs.

use carrel_testkit::LendingServer;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn missing_values_of_a_log_record_are_read_from_the_database() {
    let server = LendingServer::open().await;
    let (patron, item) = (server.patron().await, server.item().await);
    let event = json!({"logEventType": "FEE_FINE", "payload": {"action": "Billed", "userId": patron.id,
        "itemId": item.id, "type": "Lost item fee", "feeFineOwner": "Main", "amount": 12.5, "source": "Truesdale, Yanic"}});
    server.admin().post("/audit/handlers/log-record", &event).await.expect_status(204);
    let log =
        server.admin().get("/audit-data/circulation/logs?query=object==%22Fee/Fine%22").await.expect(200);
    let entry = &log["logRecords"][0];
    assert_eq!(
        (&entry["userBarcode"], &entry["source"]),
        (&json!(patron.barcode), &json!("Truesdale, Yanic"))
    );
    assert_eq!(
        entry["items"],
        json!([{"itemBarcode": item.barcode, "itemId": item.id, "holdingId": item.holdings, "instanceId": item.instance}])
    );
    assert_eq!(
        entry["description"],
        "Fee/Fine type: Lost item fee. Fee/Fine owner: Main. Amount: 12.50. manual. Additional information to staff: null"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_log_record_is_accepted_and_discarded() {
    let server = LendingServer::open().await;
    for event in [json!({}), json!({"logEventType": "TEA"}), json!([1])] {
        server.admin().post("/audit/handlers/log-record", &event).await.expect_status(204);
    }
    let log = server.admin().get("/audit-data/circulation/logs").await.expect(200);
    assert_eq!(log["totalRecords"], 0);
}
