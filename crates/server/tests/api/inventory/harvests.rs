//! What discovery systems and OAI-PMH servers fetch: changed titles, deletions, and what is held of titles.

use super::items::another_copy;
use carrel_testkit::{Book, LendingLibrary, Reply};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

const UPDATED: &str = "/inventory-hierarchy/updated-instance-ids";

/// The objects of a harvest, which stand one behind the other.
#[track_caller]
fn harvested(reply: &Reply) -> Vec<Value> {
    reply.expect_status(200);
    let objects = serde_json::Deserializer::from_slice(&reply.body).into_iter::<Value>();
    objects.collect::<Result<_, _>>().expect("a harvest is JSON objects")
}

async fn updated(library: &LendingLibrary, more: &str) -> Vec<Value> {
    harvested(&library.admin().get(&format!("{UPDATED}?{more}")).await)
}

/// Lets time pass, so that what follows is later than all before; gives the point in between.
async fn later() -> Timestamp {
    tokio::time::sleep(Duration::from_millis(5)).await;
    let between = Timestamp::now();
    tokio::time::sleep(Duration::from_millis(5)).await;
    between
}

async fn contents(library: &LendingLibrary, title: Uuid, without_suppressed: bool) -> Value {
    let order = json!({"instanceIds": [title], "skipSuppressedFromDiscoveryRecords": without_suppressed});
    let reply = library.admin().post("/inventory-hierarchy/items-and-holdings", &order).await;
    harvested(&reply).remove(0)
}

/// A book whose location readers may see.
async fn shown_book(library: &LendingLibrary) -> Book {
    let path = format!("/locations/{}", library.location);
    let mut location = library.admin().get(&path).await.expect(200);
    location["isActive"] = json!(true);
    library.admin().put(&path, &location).await.expect(204);
    library.book().await
}

#[tokio::test]
async fn everything_is_harvested_at_first() {
    let library = LendingLibrary::open().await;
    let book = library.book().await;
    let all = updated(&library, "").await;
    assert_eq!(all.len(), 1);
    assert_eq!(
        (&all[0]["instanceId"], &all[0]["source"], &all[0]["deleted"], &all[0]["suppressFromDiscovery"]),
        (&json!(book.instance), &json!("FOLIO"), &json!("false"), &json!("false")),
        "truth values are texts"
    );
    let date = all[0]["updatedDate"].as_str().and_then(|date| date.parse::<Timestamp>().ok());
    assert!(date.is_some(), "{}", all[0]);
    assert_eq!(updated(&library, "source=MARC").await, [Value::Null; 0]);
}

#[tokio::test]
async fn a_title_counts_as_changed_by_its_items_when_asked_so() {
    let library = LendingLibrary::open().await;
    let book = library.book().await;
    library.book().await;
    let since = later().await;
    assert!(updated(&library, &format!("startDate={since}&onlyInstanceUpdateDate=false")).await.is_empty());
    library.copy_of(&book).await;
    let found = updated(&library, &format!("startDate={since}&onlyInstanceUpdateDate=false")).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["instanceId"], json!(book.instance));
    assert!(
        updated(&library, &format!("startDate={since}")).await.is_empty(),
        "by itself it has not changed"
    );
    let until = later().await;
    let mut holdings =
        library.admin().get(&format!("/holdings-storage/holdings/{}", book.holdings)).await.json();
    holdings["notes"] = json!([{"note": "moved"}]);
    library
        .admin()
        .put(&format!("/holdings-storage/holdings/{}", book.holdings), &holdings)
        .await
        .expect(204);
    for (time, number) in [(format!("endDate={since}"), 2), (format!("startDate={until}"), 1)] {
        let found = updated(&library, &format!("{time}&onlyInstanceUpdateDate=false")).await;
        assert_eq!(found.len(), number, "{time}");
    }
}

#[tokio::test]
async fn what_is_gone_is_told() {
    let library = LendingLibrary::open().await;
    let (book, other, third) = (library.book().await, library.book().await, library.book().await);
    let since = later().await;
    let range = format!("startDate={since}&onlyInstanceUpdateDate=false");
    let gone = async |path: String| library.admin().delete(&path).await.expect_status(204);
    gone(format!("/item-storage/items/{}", book.id)).await;
    gone(format!("/inventory/items/{}", other.id)).await;
    gone(format!("/holdings-storage/holdings?query=id=={}", other.holdings)).await;
    let changed = updated(&library, &range).await;
    assert_eq!(changed.len(), 2, "titles of which something is gone have changed: {changed:?}");
    assert!(changed.iter().all(|title| title["deleted"] == "false"));

    gone(format!("/inventory/instances/{}", other.instance)).await;
    gone(format!("/item-storage/items/{}", third.id)).await;
    gone(format!("/holdings-storage/holdings/{}", third.holdings)).await;
    gone(format!("/instance-storage/instances?query=id=={}", third.instance)).await;
    let told = updated(&library, &range).await;
    let mut deleted: Vec<&str> = told
        .iter()
        .filter(|title| title["deleted"] == "true")
        .filter_map(|t| t["instanceId"].as_str())
        .collect();
    deleted.sort_unstable();
    let mut both = [other.instance.to_string(), third.instance.to_string()];
    both.sort();
    assert_eq!(deleted, both);
    assert!(told.iter().all(|title| title["source"] == "FOLIO"), "{told:?}");
    assert_eq!(updated(&library, &format!("{range}&deletedRecordSupport=false")).await.len(), 1);
    assert_eq!(updated(&library, "deletedRecordSupport=true&source=FOLIO").await.len(), 3);
    assert_eq!(updated(&library, "source=MARC").await.len(), 0);
}

#[tokio::test]
async fn a_title_that_came_again_is_not_gone() {
    let library = LendingLibrary::open().await;
    let book = library.book().await;
    let path = format!("/instance-storage/instances/{}", book.instance);
    let title = library.admin().get(&path).await.expect(200);
    library.admin().delete(&format!("/item-storage/items/{}", book.id)).await.expect(204);
    library.admin().delete(&format!("/holdings-storage/holdings/{}", book.holdings)).await.expect(204);
    for _ in 0..2 {
        library.admin().delete(&path).await.expect(204);
        assert_eq!(updated(&library, "").await[0]["deleted"], "true");
        library.create("/instance-storage/instances", &title).await;
        let all = updated(&library, "").await;
        assert_eq!((all.len(), &all[0]["deleted"]), (1, &json!("false")));
    }
}

#[tokio::test]
async fn a_deletion_that_is_refused_leaves_no_note() {
    let library = LendingLibrary::open().await;
    let book = library.book().await;
    library
        .admin()
        .delete(&format!("/instance-storage/instances/{}", book.instance))
        .await
        .expect_status(400);
    library.admin().delete(&format!("/holdings-storage/holdings/{}", book.holdings)).await.expect_status(400);
    assert_eq!(updated(&library, "").await.len(), 1);
    library.admin().delete("/instance-storage/instances").await.expect_status(400);
}

#[tokio::test]
async fn what_readers_may_not_see_is_left_out_unless_asked_for() {
    let library = LendingLibrary::open().await;
    let book = library.book().await;
    let path = format!("/instance-storage/instances/{}", book.instance);
    let mut title = library.admin().get(&path).await.expect(200);
    title["discoverySuppress"] = json!(true);
    library.admin().put(&path, &title).await.expect(204);
    assert!(updated(&library, "").await.is_empty());
    let all = updated(&library, "skipSuppressedFromDiscoveryRecords=false").await;
    assert_eq!(all[0]["suppressFromDiscovery"], "true");
}

#[tokio::test]
async fn a_day_or_a_point_in_time_is_understood_and_nothing_else() {
    let library = LendingLibrary::open().await;
    library.book().await;
    for date in ["2000-01-01", "2000-01-01T00:00:00Z", "2000-01-01T00:00:00.5%2B02:00"] {
        assert_eq!(updated(&library, &format!("startDate={date}")).await.len(), 1, "{date}");
    }
    for path in [UPDATED, "/oai-pmh-view/instances", "/oai-pmh-view/updatedInstanceIds"] {
        let refused = library.admin().get(&format!("{path}?endDate=soon")).await;
        refused.expect_status(400);
        assert!(refused.text().contains("Text 'soon' could not be parsed"), "{}", refused.text());
    }
}

#[tokio::test]
async fn what_is_held_of_a_title_is_told_by_names() {
    let library = LendingLibrary::open().await;
    let book = library.book().await;
    let item_note_type =
        library.admin().get("/item-note-types?limit=1").await.expect(200)["itemNoteTypes"][0].clone();
    let relation = library.admin().get("/electronic-access-relationships?limit=1").await.expect(200);
    let relation = &relation["electronicAccessRelationships"][0];
    let mut copy = another_copy(&library, book.holdings);
    copy["notes"] = json!([
        {"itemNoteTypeId": item_note_type["id"], "note": "signed", "staffOnly": false},
        {"itemNoteTypeId": item_note_type["id"], "note": "secret", "staffOnly": true}]);
    copy["electronicAccess"] =
        json!([{"uri": "http://here", "relationshipId": relation["id"]}, {"uri": "http://there"}]);
    copy["discoverySuppress"] = json!(true);
    library.create("/item-storage/items", &copy).await;

    let title = contents(&library, book.instance, false).await;
    assert_eq!((&title["instanceId"], &title["source"]), (&json!(book.instance), &json!("FOLIO")));
    assert_eq!((&title["modeOfIssuance"], &title["natureOfContent"]), (&json!(""), &json!([])));
    let held = &title["holdings"][0];
    assert_eq!(held["id"], json!(book.holdings));
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
    let shown = items.clone().find(|item| item["barcode"] == copy["barcode"]).expect("the copy is told");
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

    let seen = contents(&library, book.instance, true).await;
    assert_eq!(seen["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn bound_items_are_told_with_each_of_their_titles() {
    let library = LendingLibrary::open().await;
    let (book, other) = (library.book().await, library.book().await);
    let part = json!({"itemId": book.id, "holdingsRecordId": other.holdings});
    library.create("/inventory-storage/bound-with-parts", &part).await;
    let title = contents(&library, other.instance, true).await;
    let items: Vec<(&Value, &Value)> = title["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| (&item["id"], &item["holdingsRecordId"]))
        .collect();
    assert!(items.contains(&(&json!(book.id), &json!(other.holdings))), "{items:?}");
    assert_eq!(items.len(), 2);
}

#[tokio::test]
async fn titles_are_harvested_with_their_items_for_oai_pmh() {
    let library = LendingLibrary::open().await;
    let book = shown_book(&library).await;
    let order = json!({"instanceIds": [book.instance], "skipSuppressedFromDiscoveryRecords": true});
    let reply = library.admin().post("/oai-pmh-view/enrichedInstances", &order).await;
    let enriched = harvested(&reply).remove(0);
    let item = &enriched["itemsandholdingsfields"]["items"][0];
    assert_eq!(enriched["instanceid"], json!(book.instance));
    assert_eq!((&item["id"], &item["holdingsRecordId"]), (&json!(book.id), &json!(book.holdings)));
    assert_eq!(item["location"]["location"]["libraryName"], "Library");
    assert_eq!((&item["location"]["name"], &item["volume"]), (&json!("Stacks"), &Value::Null));

    let all = harvested(&library.admin().get("/oai-pmh-view/instances").await);
    assert_eq!((all.len(), &all[0]["deleted"]), (1, &json!("false")));
    assert_eq!(all[0]["itemsandholdingsfields"]["items"][0]["barcode"], json!(book.barcode));

    let since = later().await;
    let path = format!("/oai-pmh-view/updatedInstanceIds?startDate={since}");
    assert!(harvested(&library.admin().get(&path).await).is_empty());
    library.admin().delete(&format!("/item-storage/items/{}", book.id)).await.expect(204);
    let ids = harvested(&library.admin().get(&path).await);
    assert_eq!(
        (&ids[0]["instanceid"], &ids[0]["suppressfromdiscovery"]),
        (&json!(book.instance), &json!("false"))
    );
    assert!(ids[0].get("source").is_none());
    let empty = harvested(&library.admin().get("/oai-pmh-view/instances").await);
    assert_eq!(empty[0]["itemsandholdingsfields"], "", "a title without items");
}

#[tokio::test]
async fn titles_must_be_named_by_their_ids() {
    let library = LendingLibrary::open().await;
    for path in ["/inventory-hierarchy/items-and-holdings", "/oai-pmh-view/enrichedInstances"] {
        let refusals = library.admin().post(path, &json!({})).await.refusals();
        assert_eq!(refusals, ["must not be null", "must not be null"]);
        let order = json!({"instanceIds": ["17"], "skipSuppressedFromDiscoveryRecords": true});
        library.admin().post(path, &order).await.expect_status(422);
        let order = json!({"instanceIds": [Uuid::new_v4()], "skipSuppressedFromDiscoveryRecords": true});
        library.admin().post(path, &order).await.expect_status(200);
    }
}
