//! Holdings records and their items.

use carrel_testkit::LendingServer;
use serde_json::json;

#[tokio::test]
async fn items_inherit_changes_of_their_holdings_record() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let admin = server.admin();
    let before = admin.get(&format!("/item-storage/items/{}", test_item.id)).await.expect(200);
    let path = format!("/holdings-storage/holdings/{}", test_item.holdings);
    let mut record = admin.get(&path).await.expect(200);
    record["callNumber"] = json!("ZZ 99");
    admin.put(&path, &record).await.expect(204);

    let item = admin.get(&format!("/item-storage/items/{}", test_item.id)).await.expect(200);
    assert_eq!(item["effectiveCallNumberComponents"]["callNumber"], "ZZ 99");
    assert_eq!(item["_version"].as_i64(), before["_version"].as_i64().map(|version| version + 1));

    let mut record = admin.get(&path).await.expect(200);
    record["administrativeNotes"] = json!(["of no interest to items"]);
    admin.put(&path, &record).await.expect(204);
    assert_eq!(admin.get(&format!("/item-storage/items/{}", test_item.id)).await.expect(200), item);
}

#[tokio::test]
async fn a_referenced_record_is_not_deleted() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let admin = server.admin();
    for (path, table) in [
        (format!("/holdings-storage/holdings/{}", test_item.holdings), "item"),
        (format!("/instance-storage/instances/{}", test_item.instance), "holdings_record"),
    ] {
        let answer = admin.delete(&path).await;
        assert_eq!(answer.status, 400);
        assert!(
            answer.text().ends_with(&format!("is still referenced from table {table}.")),
            "{}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn moved_items_and_holdings_records_show_their_new_title() {
    let server = LendingServer::open().await;
    let (test_item, other) = (server.item().await, server.item().await);
    let admin = server.admin();
    let order = json!({"toHoldingsRecordId": other.holdings, "itemIds": [test_item.id, "00000000-0000-4000-8000-000000000000"]});
    let left = admin.post("/inventory/items/move", &order).await.expect(200);
    assert_eq!(left["nonUpdatedIds"], json!(["00000000-0000-4000-8000-000000000000"]));
    let item = admin.get(&format!("/item-storage/items/{}", test_item.id)).await.expect(200);
    assert_eq!((&item["holdingsRecordId"], &item["order"]), (&json!(other.holdings), &json!(2)));

    let order = json!({"toInstanceId": test_item.instance, "holdingsRecordIds": [other.holdings]});
    admin.post("/inventory/holdings/move", &order).await.expect(200);
    let title =
        admin.get(&format!("/instance-storage/instances/{}", test_item.instance)).await.expect(200)["title"]
            .clone();
    let view = admin.get(&format!("/inventory/items/{}", other.id)).await.expect(200);
    assert_eq!(view["title"], title);
}

#[tokio::test]
async fn a_bound_item_shows_all_its_instances() {
    let server = LendingServer::open().await;
    let (test_item, other) = (server.item().await, server.item().await);
    let admin = server.admin();
    let order = json!({"itemId": test_item.id, "boundWithContents": [{"holdingsRecordId": other.holdings}]});
    admin.put("/inventory-storage/bound-withs", &order).await.expect(204);
    let view = admin.get(&format!("/inventory/items/{}", test_item.id)).await.expect(200);
    assert_eq!(view["isBoundWith"], true);
    assert_eq!(view["boundWithTitles"].as_array().map(Vec::len), Some(2));
    let of_other = format!("/inventory/items-by-holdings-id?query=holdingsRecordId=={}", other.holdings);
    assert_eq!(admin.get(&of_other).await.expect(200)["totalRecords"], 2);

    let order = json!({"itemId": test_item.id, "boundWithContents": []});
    admin.put("/inventory-storage/bound-withs", &order).await.expect(204);
    assert_eq!(
        admin.get(&format!("/inventory/items/{}", test_item.id)).await.expect(200)["isBoundWith"],
        false
    );
}

#[tokio::test]
async fn hrids_continue_at_the_number_of_the_settings() {
    let server = LendingServer::open().await;
    let admin = server.admin();
    let path = "/hrid-settings-storage/hrid-settings";
    let mut settings = admin.get(path).await.expect(200);
    assert_eq!(settings["items"]["prefix"], "it");
    settings["items"] = json!({"prefix": "copy", "startNumber": 500});
    settings["commonRetainLeadingZeroes"] = json!(false);
    admin.put(path, &settings).await.expect(204);

    let test_item = server.item().await;
    assert_eq!(
        admin.get(&format!("/item-storage/items/{}", test_item.id)).await.expect(200)["hrid"],
        "copy500"
    );
    assert_eq!(admin.get(path).await.expect(200)["items"]["currentNumber"], 500);
}

#[tokio::test]
async fn ownership_does_not_change_outside_a_consortium() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let order = json!({"toInstanceId": test_item.instance, "holdingsRecordIds": [test_item.holdings],
        "targetLocationId": server.location, "targetTenantId": "elsewhere"});
    let reply = server.admin().post("/inventory/holdings/update-ownership", &order).await;
    assert_eq!((reply.status, reply.text().as_str()), (400, "diku tenant is not in consortia"));
    let reply = server.admin().post("/inventory/items/update-ownership", &json!({})).await;
    assert_eq!(reply.refusals(), ["toHoldingsRecordId is a required field"]);
}
