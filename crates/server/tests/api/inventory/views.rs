//! Views: records with related records in one answer.

use super::items::another_copy;
use carrel_testkit::{LendingServer, TestItem};
use serde_json::{Value, json};
use uuid::Uuid;

/// Binds the holdings record of another instance into the item.
async fn bound_with(server: &LendingServer, test_item: &TestItem) -> TestItem {
    let other = server.item().await;
    let part = json!({"itemId": test_item.id, "holdingsRecordId": other.holdings});
    server.create("/inventory-storage/bound-with-parts", &part).await;
    other
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(|one| one["id"].as_str()).collect()
}

#[tokio::test]
async fn an_instance_is_shown_with_its_holdings_records_and_items() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let copy = server.copy_of(&test_item).await;
    let path =
        format!("/inventory-view/instances?query=instance.title==Book* and id=={}", test_item.instance);
    let page = server.admin().get(&path).await.expect(200);
    let view = &page["instances"][0];
    assert_eq!((&page["totalRecords"], &page["resultInfo"]["totalRecords"]), (&json!(1), &json!(1)));
    assert_eq!(view["instanceId"], json!(test_item.instance));
    assert_eq!(view["instance"]["id"], json!(test_item.instance));
    assert_eq!(ids(&view["holdingsRecords"]), [test_item.holdings.to_string()]);
    let mut items = [test_item.id.to_string(), copy.id.to_string()];
    items.sort();
    assert_eq!(ids(&view["items"]), items);
    assert_eq!(view["items"][0]["status"]["name"], "Available");
    assert_eq!(view["isBoundWith"], false);
}

#[tokio::test]
async fn bound_items_are_shown_on_request() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let other = bound_with(&server, &test_item).await;
    let of = async |more: &str| {
        let path = format!("/inventory-view/instances?query=id=={}{more}", other.instance);
        server.admin().get(&path).await.expect(200)["instances"][0].clone()
    };
    let plain = of("").await;
    assert_eq!((ids(&plain["items"]).len(), &plain["isBoundWith"]), (1, &json!(true)));
    assert_eq!(ids(&of("&withBoundedItems=true").await["items"]).len(), 2);
}

#[tokio::test]
async fn an_instance_without_holdings_records_has_no_lists() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let mut title =
        server.admin().get(&format!("/instance-storage/instances/{}", test_item.instance)).await.expect(200);
    let id = Uuid::new_v4();
    title["id"] = json!(id);
    title["hrid"] = Value::Null;
    server.create("/instance-storage/instances", &title).await;
    let path = format!("/inventory-view/instances?query=id=={id}&limit=5000");
    let page = server.admin().get(&path).await.expect(200);
    assert!(page["instances"][0].get("items").is_none(), "{page}");
    assert!(page["instances"][0].get("holdingsRecords").is_none(), "{page}");
}

#[tokio::test]
async fn an_instance_set_has_only_the_requested_parts() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let set = async |more: &str| {
        let path =
            format!("/inventory-view/instance-set?limit=10&query=item.barcode=={}{more}", test_item.barcode);
        server.admin().get(&path).await.expect(200)["instanceSets"][0].clone()
    };
    assert_eq!(set("").await, json!({"id": test_item.instance}));
    let all = set("&instance=true&holdingsRecords=true&items=true&precedingTitles=true").await;
    assert_eq!(ids(&all["items"]), [test_item.id.to_string()]);
    assert_eq!(ids(&all["holdingsRecords"]), [test_item.holdings.to_string()]);
    assert_eq!(all["precedingTitles"], json!([]));
    assert!(all["instance"]["title"].is_string() && all.get("succeedingTitles").is_none(), "{all}");
    for limit in ["", "?limit=0", "?limit=11"] {
        let path = format!("/inventory-view/instance-set{limit}");
        server.admin().get(&path).await.expect_status(400);
    }
}

#[tokio::test]
async fn an_instance_set_has_preceding_and_succeeding_titles() {
    let server = LendingServer::open().await;
    let (before, after) = (server.item().await, server.item().await);
    let link = json!({"precedingInstanceId": before.instance, "succeedingInstanceId": after.instance});
    server.create("/preceding-succeeding-titles", &link).await;
    let path = format!(
        "/inventory-view/instance-set?limit=1&query=id=={}&precedingTitles=true&succeedingTitles=true",
        after.instance
    );
    let set = server.admin().get(&path).await.expect(200)["instanceSets"][0].clone();
    assert_eq!(set["precedingTitles"][0]["precedingInstanceId"], json!(before.instance));
    assert_eq!(set["succeedingTitles"], json!([]));
}

#[tokio::test]
async fn an_item_is_shown_with_its_referenced_records() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let path = "/item-storage-dereferenced/items";
    let item = server.admin().get(&format!("{path}/{}", test_item.id)).await.expect(200);
    assert_eq!(item["holdingsRecord"]["id"], json!(test_item.holdings));
    assert_eq!(item["instanceRecord"]["id"], json!(test_item.instance));
    assert_eq!(item["effectiveLocation"]["name"], "Stacks");
    assert_eq!(item["permanentLoanType"]["id"], json!(server.loan_type));
    assert!(item["materialType"]["name"].is_string(), "{item}");
    for name in ["holdingsRecordId", "materialTypeId", "effectiveLocationId", "temporaryLocation"] {
        assert!(item.get(name).is_none(), "{name}");
    }
    let page = server.admin().get(&format!("{path}?query=barcode=={}", test_item.barcode)).await.expect(200);
    assert_eq!((&page["totalRecords"], &page["dereferencedItems"][0]), (&json!(1), &item));
    let none = server.admin().get(&format!("{path}/{}", Uuid::new_v4())).await;
    assert_eq!((none.status, none.text().as_str()), (404, "No item records found matching provided UUID."));
    let no_id = server.admin().get(&format!("{path}/17")).await;
    assert_eq!((no_id.status, no_id.text().as_str()), (400, "Invalid UUID"));
}

#[tokio::test]
async fn ids_of_all_instances_or_holdings_records_are_unlimited() {
    let server = LendingServer::open().await;
    let mut test_items = Vec::new();
    for _ in 0..12 {
        test_items.push(server.item().await);
    }
    let titles = server.admin().get("/record-bulk/ids").await.expect(200);
    assert_eq!((titles["totalRecords"].as_u64(), ids(&titles["ids"]).len()), (Some(12), 12));
    let holdings = server.admin().get("/record-bulk/ids?recordType=HOLDING&limit=5").await.expect(200);
    assert_eq!((holdings["totalRecords"].as_u64(), ids(&holdings["ids"]).len()), (Some(12), 5));
    let path = format!("/record-bulk/ids?query=(items.barcode==\"{}\")", test_items[3].barcode);
    let one = server.admin().get(&path).await.expect(200);
    assert_eq!(ids(&one["ids"]), [test_items[3].instance.to_string()]);
    server.admin().get("/record-bulk/ids?recordType=ITEM").await.expect_status(400);
}

#[tokio::test]
async fn a_summary_counts_what_patrons_see() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let mut hidden = another_copy(&server, test_item.holdings);
    hidden["discoverySuppress"] = json!(true);
    hidden["electronicAccess"] = json!([{"uri": "http://hidden"}]);
    server.create("/item-storage/items", &hidden).await;
    bound_with(&server, &test_item).await;
    let path = format!("/instance-storage/instances/{}/summary", test_item.instance);
    let summary = server.admin().get(&path).await.expect(200);
    assert_eq!(summary["recordCounts"]["items"]["total"], 2);
    assert_eq!(summary["recordCounts"]["items"]["notSuppressedFromDiscovery"], 1);
    assert_eq!(summary["instance"]["id"], json!(test_item.instance));
    assert!(summary["referenceValues"]["instanceType"]["name"].is_string(), "{summary}");
    let all = &summary["aggregates"]["allRecords"];
    assert_eq!(all["electronicAccess"][0]["uri"], "http://hidden");
    assert_eq!(all["referenceValues"]["itemMaterialTypes"][0]["id"], json!(server.material_type));
    let seen = &summary["aggregates"]["notSuppressedFromDiscoveryRecords"];
    assert_eq!(seen["electronicAccess"], json!([]));
    let none = format!("/instance-storage/instances/{}/summary", Uuid::new_v4());
    server.admin().get(&none).await.expect_status(404);
}
