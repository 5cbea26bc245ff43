//! Harvests: changed instances, deletions, and holdings records and items of instances.

use super::items::another_copy;
use carrel_testkit::{LendingServer, Reply, TestItem};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

const UPDATED: &str = "/inventory-hierarchy/updated-instance-ids";

/// The concatenated objects of a harvest.
#[track_caller]
fn harvested(reply: &Reply) -> Vec<Value> {
    reply.expect_status(200);
    let objects = serde_json::Deserializer::from_slice(&reply.body).into_iter::<Value>();
    objects.collect::<Result<_, _>>().expect("a harvest is JSON objects")
}

async fn updated(server: &LendingServer, more: &str) -> Vec<Value> {
    harvested(&server.admin().get(&format!("{UPDATED}?{more}")).await)
}

/// Returns an instant between everything before and after this call.
async fn later() -> Timestamp {
    tokio::time::sleep(Duration::from_millis(5)).await;
    let between = Timestamp::now();
    tokio::time::sleep(Duration::from_millis(5)).await;
    between
}

async fn contents(server: &LendingServer, title: Uuid, without_suppressed: bool) -> Value {
    let order = json!({"instanceIds": [title], "skipSuppressedFromDiscoveryRecords": without_suppressed});
    let reply = server.admin().post("/inventory-hierarchy/items-and-holdings", &order).await;
    harvested(&reply).remove(0)
}

/// An item in an active location.
async fn shown_item(server: &LendingServer) -> TestItem {
    let path = format!("/locations/{}", server.location);
    let mut location = server.admin().get(&path).await.expect(200);
    location["isActive"] = json!(true);
    server.admin().put(&path, &location).await.expect(204);
    server.item().await
}

#[tokio::test]
async fn a_harvest_without_dates_has_every_instance() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let all = updated(&server, "").await;
    assert_eq!(all.len(), 1);
    assert_eq!(
        (&all[0]["instanceId"], &all[0]["source"], &all[0]["deleted"], &all[0]["suppressFromDiscovery"]),
        (&json!(test_item.instance), &json!("FOLIO"), &json!("false"), &json!("false")),
        "truth values are texts"
    );
    let date = all[0]["updatedDate"].as_str().and_then(|date| date.parse::<Timestamp>().ok());
    assert!(date.is_some(), "{}", all[0]);
    assert_eq!(updated(&server, "source=MARC").await, [Value::Null; 0]);
}

#[tokio::test]
async fn an_instance_counts_as_changed_by_its_items_on_request() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    server.item().await;
    let since = later().await;
    assert!(updated(&server, &format!("startDate={since}&onlyInstanceUpdateDate=false")).await.is_empty());
    server.copy_of(&test_item).await;
    let found = updated(&server, &format!("startDate={since}&onlyInstanceUpdateDate=false")).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["instanceId"], json!(test_item.instance));
    assert!(updated(&server, &format!("startDate={since}")).await.is_empty(), "by itself it has not changed");
    let until = later().await;
    let mut holdings =
        server.admin().get(&format!("/holdings-storage/holdings/{}", test_item.holdings)).await.json();
    holdings["notes"] = json!([{"note": "moved"}]);
    server
        .admin()
        .put(&format!("/holdings-storage/holdings/{}", test_item.holdings), &holdings)
        .await
        .expect(204);
    for (time, number) in [(format!("endDate={since}"), 2), (format!("startDate={until}"), 1)] {
        let found = updated(&server, &format!("{time}&onlyInstanceUpdateDate=false")).await;
        assert_eq!(found.len(), number, "{time}");
    }
}

#[tokio::test]
async fn deletions_are_harvested() {
    let server = LendingServer::open().await;
    let (test_item, other, third) = (server.item().await, server.item().await, server.item().await);
    let since = later().await;
    let range = format!("startDate={since}&onlyInstanceUpdateDate=false");
    let gone = async |path: String| server.admin().delete(&path).await.expect_status(204);
    gone(format!("/item-storage/items/{}", test_item.id)).await;
    gone(format!("/inventory/items/{}", other.id)).await;
    gone(format!("/holdings-storage/holdings?query=id=={}", other.holdings)).await;
    let changed = updated(&server, &range).await;
    assert_eq!(changed.len(), 2, "titles of which something is gone have changed: {changed:?}");
    assert!(changed.iter().all(|title| title["deleted"] == "false"));

    gone(format!("/inventory/instances/{}", other.instance)).await;
    gone(format!("/item-storage/items/{}", third.id)).await;
    gone(format!("/holdings-storage/holdings/{}", third.holdings)).await;
    gone(format!("/instance-storage/instances?query=id=={}", third.instance)).await;
    let reported = updated(&server, &range).await;
    let mut deleted: Vec<&str> = reported
        .iter()
        .filter(|title| title["deleted"] == "true")
        .filter_map(|t| t["instanceId"].as_str())
        .collect();
    deleted.sort_unstable();
    let mut both = [other.instance.to_string(), third.instance.to_string()];
    both.sort();
    assert_eq!(deleted, both);
    assert!(reported.iter().all(|title| title["source"] == "FOLIO"), "{reported:?}");
    assert_eq!(updated(&server, &format!("{range}&deletedRecordSupport=false")).await.len(), 1);
    assert_eq!(updated(&server, "deletedRecordSupport=true&source=FOLIO").await.len(), 3);
    assert_eq!(updated(&server, "source=MARC").await.len(), 0);
}

#[tokio::test]
async fn an_instance_that_was_created_again_is_not_deleted() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let path = format!("/instance-storage/instances/{}", test_item.instance);
    let title = server.admin().get(&path).await.expect(200);
    server.admin().delete(&format!("/item-storage/items/{}", test_item.id)).await.expect(204);
    server.admin().delete(&format!("/holdings-storage/holdings/{}", test_item.holdings)).await.expect(204);
    for _ in 0..2 {
        server.admin().delete(&path).await.expect(204);
        assert_eq!(updated(&server, "").await[0]["deleted"], "true");
        server.create("/instance-storage/instances", &title).await;
        let all = updated(&server, "").await;
        assert_eq!((all.len(), &all[0]["deleted"]), (1, &json!("false")));
    }
}

#[tokio::test]
async fn a_refused_deletion_is_not_recorded() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    server
        .admin()
        .delete(&format!("/instance-storage/instances/{}", test_item.instance))
        .await
        .expect_status(400);
    server
        .admin()
        .delete(&format!("/holdings-storage/holdings/{}", test_item.holdings))
        .await
        .expect_status(400);
    assert_eq!(updated(&server, "").await.len(), 1);
    server.admin().delete("/instance-storage/instances").await.expect_status(400);
}

#[tokio::test]
async fn suppressed_records_are_left_out_on_request() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let path = format!("/instance-storage/instances/{}", test_item.instance);
    let mut title = server.admin().get(&path).await.expect(200);
    title["discoverySuppress"] = json!(true);
    server.admin().put(&path, &title).await.expect(204);
    assert!(updated(&server, "").await.is_empty());
    let all = updated(&server, "skipSuppressedFromDiscoveryRecords=false").await;
    assert_eq!(all[0]["suppressFromDiscovery"], "true");
}

#[tokio::test]
async fn a_date_or_an_instant_is_accepted_and_nothing_else() {
    let server = LendingServer::open().await;
    server.item().await;
    for date in ["2000-01-01", "2000-01-01T00:00:00Z", "2000-01-01T00:00:00.5%2B02:00"] {
        assert_eq!(updated(&server, &format!("startDate={date}")).await.len(), 1, "{date}");
    }
    for path in [UPDATED, "/oai-pmh-view/instances", "/oai-pmh-view/updatedInstanceIds"] {
        let refused = server.admin().get(&format!("{path}?endDate=soon")).await;
        refused.expect_status(400);
        assert!(refused.text().contains("Text 'soon' could not be parsed"), "{}", refused.text());
    }
}

#[tokio::test]
async fn holdings_records_and_items_are_harvested_with_names() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let item_note_type =
        server.admin().get("/item-note-types?limit=1").await.expect(200)["itemNoteTypes"][0].clone();
    let relation = server.admin().get("/electronic-access-relationships?limit=1").await.expect(200);
    let relation = &relation["electronicAccessRelationships"][0];
    let mut copy = another_copy(&server, test_item.holdings);
    copy["notes"] = json!([
        {"itemNoteTypeId": item_note_type["id"], "note": "signed", "staffOnly": false},
        {"itemNoteTypeId": item_note_type["id"], "note": "secret", "staffOnly": true}]);
    copy["electronicAccess"] =
        json!([{"uri": "http://here", "relationshipId": relation["id"]}, {"uri": "http://there"}]);
    copy["discoverySuppress"] = json!(true);
    server.create("/item-storage/items", &copy).await;

    let title = contents(&server, test_item.instance, false).await;
    assert_eq!((&title["instanceId"], &title["source"]), (&json!(test_item.instance), &json!("FOLIO")));
    assert_eq!((&title["modeOfIssuance"], &title["natureOfContent"]), (&json!(""), &json!([])));
    let held = &title["holdings"][0];
    assert_eq!(held["id"], json!(test_item.holdings));
    assert_eq!(held["location"]["effectiveLocation"]["name"], "Stacks");
    assert_eq!(held["location"]["permanentLocation"]["institutionName"], "Institution");
    assert_eq!(held["location"]["temporaryLocation"], json!({}));
    assert!(
        held["callNumber"]["callNumber"].as_str().is_some_and(|number| number.starts_with("PR")),
        "{held}"
    );
    assert!(held["hrId"].is_string());
    assert_eq!(title["items"].as_array().map(Vec::len), Some(2));
    let items = title["items"].as_array().into_iter().flatten();
    let shown = items.clone().find(|item| item["barcode"] == copy["barcode"]).expect("the copy is listed");
    assert_eq!(shown["notes"], json!([{"note": "signed", "itemNoteTypeName": item_note_type["name"]}]));
    assert_eq!(shown["electronicAccess"][0]["name"], relation["name"]);
    assert_eq!(
        (&shown["electronicAccess"][1]["uri"], &shown["suppressFromDiscovery"]),
        (&json!("http://there"), &json!(true))
    );
    assert_eq!((&shown["status"], &shown["order"]), (&json!("Available"), &json!(2)));
    assert_eq!(shown["location"]["location"]["code"], "S");
    assert!(shown["materialType"].is_string() && shown["permanentLoanType"].is_string(), "{shown}");
    assert!(shown.get("volume").is_none(), "what is absent is left out");

    let seen = contents(&server, test_item.instance, true).await;
    assert_eq!(seen["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn bound_items_are_harvested_with_each_of_their_instances() {
    let server = LendingServer::open().await;
    let (test_item, other) = (server.item().await, server.item().await);
    let part = json!({"itemId": test_item.id, "holdingsRecordId": other.holdings});
    server.create("/inventory-storage/bound-with-parts", &part).await;
    let title = contents(&server, other.instance, true).await;
    let items: Vec<(&Value, &Value)> = title["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| (&item["id"], &item["holdingsRecordId"]))
        .collect();
    assert!(items.contains(&(&json!(test_item.id), &json!(other.holdings))), "{items:?}");
    assert_eq!(items.len(), 2);
}

#[tokio::test]
async fn instances_are_harvested_with_their_items_for_oai_pmh() {
    let server = LendingServer::open().await;
    let test_item = shown_item(&server).await;
    let order = json!({"instanceIds": [test_item.instance], "skipSuppressedFromDiscoveryRecords": true});
    let reply = server.admin().post("/oai-pmh-view/enrichedInstances", &order).await;
    let enriched = harvested(&reply).remove(0);
    let item = &enriched["itemsandholdingsfields"]["items"][0];
    assert_eq!(enriched["instanceid"], json!(test_item.instance));
    assert_eq!((&item["id"], &item["holdingsRecordId"]), (&json!(test_item.id), &json!(test_item.holdings)));
    assert_eq!(item["location"]["location"]["libraryName"], "Library");
    assert_eq!((&item["location"]["name"], &item["volume"]), (&json!("Stacks"), &Value::Null));

    let all = harvested(&server.admin().get("/oai-pmh-view/instances").await);
    assert_eq!((all.len(), &all[0]["deleted"]), (1, &json!("false")));
    assert_eq!(all[0]["itemsandholdingsfields"]["items"][0]["barcode"], json!(test_item.barcode));

    let since = later().await;
    let path = format!("/oai-pmh-view/updatedInstanceIds?startDate={since}");
    assert!(harvested(&server.admin().get(&path).await).is_empty());
    server.admin().delete(&format!("/item-storage/items/{}", test_item.id)).await.expect(204);
    let ids = harvested(&server.admin().get(&path).await);
    assert_eq!(
        (&ids[0]["instanceid"], &ids[0]["suppressfromdiscovery"]),
        (&json!(test_item.instance), &json!("false"))
    );
    assert!(ids[0].get("source").is_none());
    let empty = harvested(&server.admin().get("/oai-pmh-view/instances").await);
    assert_eq!(empty[0]["itemsandholdingsfields"], "", "a title without items");
}

#[tokio::test]
async fn instances_are_named_by_their_ids() {
    let server = LendingServer::open().await;
    for path in ["/inventory-hierarchy/items-and-holdings", "/oai-pmh-view/enrichedInstances"] {
        let refusals = server.admin().post(path, &json!({})).await.refusals();
        assert_eq!(refusals, ["must not be null", "must not be null"]);
        let order = json!({"instanceIds": ["17"], "skipSuppressedFromDiscoveryRecords": true});
        server.admin().post(path, &order).await.expect_status(422);
        let order = json!({"instanceIds": [Uuid::new_v4()], "skipSuppressedFromDiscoveryRecords": true});
        server.admin().post(path, &order).await.expect_status(200);
    }
}
