//! Marking an item by hand.

use carrel_testkit::LendingServer;
use serde_json::json;

#[tokio::test]
async fn an_available_item_is_marked_missing_once() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let path = format!("/inventory/items/{}/mark-missing", test_item.id);
    let view = server.admin().post(&path, &json!({})).await.expect(200);
    assert_eq!(view["status"]["name"], "Missing");
    assert_eq!(server.status_of(&test_item).await, "Missing");
    let answer = server.admin().post(&path, &json!({})).await;
    answer.expect(422);
    assert_eq!(answer.refusals(), ["Item is not allowed to be marked as Missing"]);
}

#[tokio::test]
async fn a_checked_out_item_is_not_marked_missing() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    server.check_out(&test_item, &patron).await.expect(201);
    let path = format!("/inventory/items/{}/mark-missing", test_item.id);
    server.admin().post(&path, &json!({})).await.expect(422);
    assert_eq!(server.status_of(&test_item).await, "Checked out");
}

#[tokio::test]
async fn the_request_of_an_item_marked_missing_is_reopened() {
    let server = LendingServer::open().await;
    let patron = server.patron().await;
    for (shelf_until, status) in [
        ("2999-01-01T00:00:00.000+00:00", "Open - Not yet filled"),
        ("2001-01-01T00:00:00.000+00:00", "Open - Awaiting pickup"),
    ] {
        let test_item = server.item().await;
        let admin = server.admin();
        let request = json!({"requestLevel": "Item", "requestType": "Hold", "requestDate": "2024-01-01T00:00:00.000+00:00",
            "requesterId": patron.id, "instanceId": test_item.instance, "holdingsRecordId": test_item.holdings, "itemId": test_item.id,
            "status": "Open - Awaiting pickup", "position": 1, "fulfillmentPreference": "Hold Shelf",
            "pickupServicePointId": server.main_desk.0, "holdShelfExpirationDate": shelf_until});
        let request = admin.post("/request-storage/requests", &request).await.expect(201);
        admin.post(&format!("/inventory/items/{}/mark-missing", test_item.id), &json!({})).await.expect(200);
        let path = format!("/request-storage/requests/{}", request["id"].as_str().unwrap_or_default());
        assert_eq!(admin.get(&path).await.expect(200)["status"], status);
        let events = server
            .server
            .database()
            .await
            .query(
                "SELECT 1 FROM outbox WHERE topic = 'circulation.request' AND key = $1
                     AND payload->'new'->>'status' = 'Open - Not yet filled'
                     AND payload->'old'->>'status' = 'Open - Awaiting pickup'",
                &[&request["id"].as_str()],
            )
            .await
            .expect("the outbox can be read");
        assert_eq!(events.len(), usize::from(status == "Open - Not yet filled"));
    }
}
