//! Batches of records, stored in one transaction.

use super::items::another_copy;
use carrel_testkit::LendingServer;
use serde_json::{Value, json};
use uuid::Uuid;

const BATCH: &str = "/item-storage/batch/synchronous";

async fn copies(server: &LendingServer, number: usize) -> Vec<Value> {
    let test_item = server.item().await;
    (0..number).map(|_| another_copy(server, test_item.holdings)).collect()
}

#[tokio::test]
async fn a_thousand_items_are_stored_by_one_request() {
    let server = LendingServer::open().await;
    let items = copies(&server, 1_000).await;
    server.admin().post(BATCH, &json!({"items": items})).await.expect(201);

    let query =
        format!("/item-storage/items?query=barcode=={}", items[999]["barcode"].as_str().unwrap_or(""));
    let last = server.admin().get(&query).await.expect(200)["items"][0].clone();
    assert_eq!(last["order"], 1_001);
    assert_eq!(last["effectiveLocationId"], json!(server.location));
    let database = server.server.database().await;
    let row = database
        .query_one("SELECT count(*), count(DISTINCT doc->>'hrid') FROM item", &[])
        .await
        .expect("the items are there");
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (1_001, 1_001));
}

#[tokio::test]
async fn one_invalid_item_refuses_the_whole_batch() {
    let server = LendingServer::open().await;
    for (property, value) in [
        ("barcode", json!("twice")),
        ("materialTypeId", json!(Uuid::new_v4())),
        ("holdingsRecordId", json!(Uuid::new_v4())),
        ("status", Value::Null),
    ] {
        let mut items = copies(&server, 5).await;
        items[0]["barcode"] = json!("twice");
        items[3][property] = value;
        server.admin().post(BATCH, &json!({"items": items})).await.expect(422);
        let found = server.admin().get("/item-storage/items?query=barcode==twice").await.expect(200);
        assert_eq!(found["totalRecords"], 0, "{property}");
    }
}

#[tokio::test]
async fn an_upsert_replaces_a_record_of_the_same_version() {
    let server = LendingServer::open().await;
    let mut items = copies(&server, 3).await;
    let admin = server.admin();
    admin.post(BATCH, &json!({"items": items[..2]})).await.expect(201);
    for item in &mut items {
        item["status"] = json!({"name": "Missing"});
        item["_version"] = json!(1);
    }
    admin.post(BATCH, &json!({"items": items})).await.expect(422);
    let upsert = format!("{BATCH}?upsert=true");
    admin.post(&upsert, &json!({"items": items})).await.expect(201);
    let missing = admin.get("/item-storage/items?query=status.name==Missing").await.expect(200);
    assert_eq!(missing["totalRecords"], 3);
    assert_eq!(admin.post(&upsert, &json!({"items": items})).await.status, 409);
    let unsafe_upsert = "/item-storage/batch/synchronous-unsafe?upsert=true";
    admin.post(unsafe_upsert, &json!({"items": items})).await.expect(201);
}

#[tokio::test]
async fn instances_and_holdings_records_are_stored_in_batches() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let admin = server.admin();
    let instance =
        admin.get(&format!("/instance-storage/instances/{}", test_item.instance)).await.expect(200);
    let titles: Vec<Value> = (0..10)
        .map(|number| {
            json!({"id": Uuid::new_v4(), "title": format!("Title {number}"), "source": "FOLIO",
                "instanceTypeId": instance["instanceTypeId"]})
        })
        .collect();
    admin.post("/instance-storage/batch/synchronous", &json!({"instances": titles})).await.expect(201);
    let record = admin.get(&format!("/holdings-storage/holdings/{}", test_item.holdings)).await.expect(200);
    let records: Vec<Value> = titles
        .iter()
        .map(|title| {
            json!({"instanceId": title["id"], "permanentLocationId": server.location, "sourceId": record["sourceId"]})
        })
        .collect();
    admin.post("/holdings-storage/batch/synchronous", &json!({"holdingsRecords": records})).await.expect(201);
    let query =
        format!("/holdings-storage/holdings?query=instanceId=={}", titles[9]["id"].as_str().unwrap_or(""));
    let stored = admin.get(&query).await.expect(200)["holdingsRecords"][0].clone();
    assert_eq!(stored["effectiveLocationId"], json!(server.location));
    assert!(stored["hrid"].as_str().is_some_and(|hrid| hrid.starts_with("ho")), "{stored}");
}

#[tokio::test]
async fn valid_instances_of_a_batch_are_stored_and_the_others_reported() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let admin = server.admin();
    let known = admin.get(&format!("/instance-storage/instances/{}", test_item.instance)).await.expect(200);
    let title =
        |name: &str| json!({"title": name, "source": "FOLIO", "instanceTypeId": known["instanceTypeId"]});
    let mut second = title("Second");
    second["precedingTitles"] = json!([{"title": "Zeroth"}]);
    let mut twice = title("Twice");
    twice["id"] = json!(test_item.instance);
    let order = json!({"instances": [title("First"), title(" "), second, twice], "totalRecords": 4});
    let reported = admin.post("/inventory/instances/batch", &order).await.expect(201);
    let titles: Vec<&Value> =
        reported["instances"].as_array().into_iter().flatten().map(|instance| &instance["title"]).collect();
    assert_eq!(titles, ["First", "Second"]);
    assert_eq!(reported["instances"][1]["precedingTitles"][0]["title"], "Zeroth");
    assert_eq!(reported["totalRecords"], 2);
    assert_eq!(
        reported["errorMessages"][0],
        "Instance is not valid for further processing: [Title must be provided for an instance: null]"
    );
    assert!(
        reported["errorMessages"][1].as_str().is_some_and(|words| words.contains("already exists")),
        "{reported}"
    );

    let none = admin.post("/inventory/instances/batch", &json!({"instances": [{}]})).await.expect(400);
    assert_eq!((&none["totalRecords"], none["errorMessages"].as_array().map(Vec::len)), (&json!(0), Some(1)));
}
