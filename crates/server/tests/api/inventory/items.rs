//! Items through the storage API, and their views.

use carrel_testkit::LendingServer;
use serde_json::{Value, json};
use uuid::Uuid;

/// A new item of the same holdings record, not stored yet.
pub fn another_copy(server: &LendingServer, holdings: Uuid) -> Value {
    json!({"id": Uuid::new_v4(), "holdingsRecordId": holdings, "barcode": Uuid::new_v4(),
        "status": {"name": "Available"}, "materialTypeId": server.material_type,
        "permanentLoanTypeId": server.loan_type})
}

fn path(item: &Value) -> String {
    format!("/item-storage/items/{}", item["id"].as_str().unwrap_or_default())
}

#[tokio::test]
async fn an_item_inherits_location_and_call_number_from_its_holdings_record() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;

    let item = server
        .admin()
        .post("/item-storage/items", &another_copy(&server, test_item.holdings))
        .await
        .expect(201);

    assert_eq!(item["effectiveLocationId"], json!(server.location));
    assert!(item["effectiveCallNumberComponents"]["callNumber"].is_string());
    assert_eq!(item["effectiveShelvingOrder"], item["effectiveCallNumberComponents"]["callNumber"]);
    assert!(item["hrid"].as_str().is_some_and(|hrid| hrid.starts_with("it0000")), "{item}");
    assert_eq!(item["order"], 2, "the book's own copy is the first");
    assert_eq!(server.admin().get(&path(&item)).await.expect(200), item);
}

#[tokio::test]
async fn the_state_of_an_item_is_stored_separately_and_read_with_it() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let mut item = another_copy(&server, test_item.holdings);
    item["status"] = json!({"name": "In transit"});
    item["inTransitDestinationServicePointId"] = json!(server.other_desk.0);
    item["lastCheckIn"] =
        json!({"dateTime": "2024-05-01T10:00:00.000+00:00", "servicePointId": server.main_desk.0});
    server.admin().post("/item-storage/items", &item).await.expect(201);

    let stored = server.admin().get(&path(&item)).await.expect(200);
    for name in ["inTransitDestinationServicePointId", "lastCheckIn"] {
        assert_eq!(stored[name], item[name], "{name}");
    }
    assert_eq!(stored["status"]["name"], "In transit");

    let database = server.server.database().await;
    let row = database
        .query_one("SELECT doc::text FROM item WHERE id = $1::text::uuid", &[&item["id"].as_str()])
        .await
        .expect("the item is there");
    let document: String = row.get(0);
    assert!(!document.contains("In transit") && !document.contains("lastCheckIn"), "{document}");
}

#[tokio::test]
async fn items_are_found_by_their_state() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let mut item = another_copy(&server, test_item.holdings);
    item["status"] = json!({"name": "In transit"});
    item["inTransitDestinationServicePointId"] = json!(server.other_desk.0);
    server.admin().post("/item-storage/items", &item).await.expect(201);

    for query in [
        "status.name==\"In transit\"".to_owned(),
        "status.name<>Available".to_owned(),
        "status.name==(\"In transit\" or Missing)".to_owned(),
        format!("inTransitDestinationServicePointId=={}", server.other_desk.0),
        "status.date>2020-01-01 and status.name=transit".to_owned(),
    ] {
        let found = server.admin().get(&format!("/item-storage/items?query={query}")).await.expect(200);
        assert_eq!(found["totalRecords"], 1, "{query}");
        assert_eq!(found["items"][0]["id"], item["id"], "{query}");
    }
}

#[tokio::test]
async fn a_replacement_needs_the_stored_version() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let admin = server.admin();
    let mut item = admin.get(&format!("/item-storage/items/{}", test_item.id)).await.expect(200);
    item["copyNumber"] = json!("2");
    admin.put(&path(&item), &item).await.expect(204);
    assert_eq!(admin.put(&path(&item), &item).await.status, 409);
    item["_version"] = json!(-1);
    assert_eq!(admin.put(&path(&item), &item).await.status, 409);
}

#[tokio::test]
async fn a_scan_counts_as_a_new_version() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let admin = server.admin();
    let mut item = admin.get(&format!("/item-storage/items/{}", test_item.id)).await.expect(200);
    server.check_out(&test_item, &patron).await.expect(201);

    item["copyNumber"] = json!("2");
    assert_eq!(admin.put(&path(&item), &item).await.status, 409);

    let mut item = admin.get(&path(&item)).await.expect(200);
    assert_eq!(item["status"]["name"], "Checked out");
    item["copyNumber"] = json!("2");
    admin.put(&path(&item), &item).await.expect(204);
    let after = admin.get(&path(&item)).await.expect(200);
    assert_eq!(after["_version"].as_i64(), item["_version"].as_i64().map(|version| version + 1));
    assert_eq!(after["status"], item["status"]);
}

#[tokio::test]
async fn the_status_date_changes_only_with_the_status() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let admin = server.admin();
    let before = admin.get(&format!("/item-storage/items/{}", test_item.id)).await.expect(200);
    let mut item = before.clone();
    item["status"] = json!({"name": "Available", "date": "2001-01-01T00:00:00.000+00:00"});
    admin.put(&path(&item), &item).await.expect(204);
    let mut item = admin.get(&path(&item)).await.expect(200);
    assert_eq!(item["status"], before["status"]);
    item["status"]["name"] = json!("Missing");
    admin.put(&path(&item), &item).await.expect(204);
    let after = admin.get(&path(&item)).await.expect(200);
    assert_ne!(after["status"]["date"], before["status"]["date"]);
}

#[tokio::test]
async fn an_invalid_item_is_refused_with_folios_text() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let admin = server.admin();
    let nothing = Uuid::new_v4();
    for (property, value, words) in [
        ("holdingsRecordId", json!(nothing), "Holdings record does not exist".to_owned()),
        (
            "materialTypeId",
            json!(nothing),
            format!(
                "Cannot set item.materialtypeid = {nothing} because it does not exist in material_type.id."
            ),
        ),
        (
            "barcode",
            json!(test_item.barcode),
            format!(
                "lower(jsonb ->> 'barcode'::text) value already exists in table item: {}",
                test_item.barcode
            ),
        ),
        ("id", json!(test_item.id), format!("id value already exists in table item: {}", test_item.id)),
    ] {
        let mut item = another_copy(&server, test_item.holdings);
        item[property] = value;
        let answer = admin.post("/item-storage/items", &item).await;
        let error = answer.expect(422)["errors"][0].clone();
        assert_eq!(
            (&error["message"], &error["type"], &error["code"]),
            (&json!(words), &json!("1"), &json!("-1"))
        );
    }
    let mut item = admin.get(&format!("/item-storage/items/{}", test_item.id)).await.expect(200);
    item["materialTypeId"] = json!(nothing);
    let answer = admin.put(&path(&item), &item).await;
    answer.expect_status(400);
    assert_eq!(
        answer.text(),
        format!("Cannot set item materialtypeid = {nothing} because it does not exist in material_type.id.")
    );
    let mut item = admin.get(&format!("/item-storage/items/{}", test_item.id)).await.expect(200);
    item["hrid"] = json!("mine");
    let answer = admin.put(&path(&item), &item).await;
    assert_eq!(answer.status, 400);
    assert!(
        answer.text().starts_with("The hrid field cannot be changed: new=mine, old=it"),
        "{}",
        answer.text()
    );
}

#[tokio::test]
async fn every_change_of_an_item_is_published() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let admin = server.admin();
    let mut item =
        admin.post("/item-storage/items", &another_copy(&server, test_item.holdings)).await.expect(201);
    item["volume"] = json!("v.2");
    admin.put(&path(&item), &item).await.expect(204);
    admin.delete(&path(&item)).await.expect(204);

    let database = server.server.database().await;
    let rows = database
        .query(
            "SELECT payload->>'type', payload->'old'->>'instanceId', payload->'new'->>'instanceId'
             FROM outbox WHERE topic = 'inventory.item' AND key = $1 ORDER BY id",
            &[&item["id"].as_str()],
        )
        .await
        .expect("the outbox is there");
    let reported: Vec<(String, Option<String>, Option<String>)> =
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let instance = Some(test_item.instance.to_string());
    assert_eq!(
        reported,
        [
            ("CREATE".to_owned(), None, instance.clone()),
            ("UPDATE".to_owned(), instance.clone(), instance.clone()),
            ("DELETE".to_owned(), instance, None),
        ]
    );
}

#[tokio::test]
async fn the_view_of_an_item_has_title_and_names() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;

    let answer = server.admin().get(&format!("/inventory/items?query=barcode=={}", test_item.barcode)).await;
    let found = answer.expect(200);

    assert!(answer.text().contains("\"id\" : \""), "load plans read the id with this pattern");
    let item = &found["items"][0];
    assert!(item["title"].as_str().is_some_and(|title| title.starts_with("Book ")), "{item}");
    assert_eq!(item["effectiveLocation"], json!({"id": server.location, "name": "Stacks"}));
    assert_eq!(item["materialType"]["id"], json!(server.material_type));
    assert!(item["permanentLoanType"]["name"].is_string());
    assert_eq!(item["isBoundWith"], false);
}

#[tokio::test]
async fn an_item_is_stored_from_its_view() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let admin = server.admin();
    let view = format!("/inventory/items/{}", test_item.id);
    let mut item = admin.get(&view).await.expect(200);
    item["copyNumber"] = json!("7");
    item["circulationNotes"] = json!([{"noteType": "Check in", "note": "Look for the map"}]);
    admin.put(&view, &item).await.expect(204);

    let item = admin.get(&view).await.expect(200);
    assert_eq!(item["copyNumber"], "7");
    assert_eq!(item["circulationNotes"][0]["source"]["id"], json!(server.server.admin_id));

    let mut other = item.clone();
    other["barcode"] = json!("new");
    other.as_object_mut().expect("an object").remove("id");
    other.as_object_mut().expect("an object").remove("hrid");
    let created = admin.post("/inventory/items", &other).await.expect(201);
    assert_eq!(created["barcode"], "new");
    other["barcode"] = json!(test_item.barcode);
    let answer = admin.post("/inventory/items", &other).await;
    assert_eq!(answer.status, 400);
    assert_eq!(
        answer.text(),
        format!("Barcode must be unique, {} is already assigned to another item", test_item.barcode)
    );
}

#[tokio::test]
async fn items_are_retrieved_with_their_tenant() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let pairs = json!({"tenantItemPairs": [
        {"tenantId": "diku", "itemId": test_item.id},
        {"tenantId": "elsewhere", "itemId": test_item.id},
        {"tenantId": "diku", "itemId": Uuid::new_v4()}]});
    let reported = server.admin().post("/inventory/tenant-items", &pairs).await.expect(200);
    assert_eq!(reported["totalRecords"], 1);
    assert_eq!(reported["tenantItems"][0]["tenantId"], "diku");
    assert_eq!(reported["tenantItems"][0]["item"]["barcode"], json!(test_item.barcode));
    server.admin().post("/inventory/tenant-items", &json!({})).await.expect_status(422);
}
