//! Instances in the form of mod-search.

use carrel_testkit::LendingServer;
use serde_json::json;

#[tokio::test]
async fn instances_are_found_by_title_barcode_and_keyword() {
    let server = LendingServer::open().await;
    let item = server.item().await;
    let path = format!("/instance-storage/instances/{}", item.instance);
    let mut instance = server.admin().get(&path).await.expect(200);
    instance["title"] = "Walden, or life in the woods".into();
    server.admin().put(&path, &instance).await.expect(204);
    for query in [
        "title all \"woods walden\"".to_owned(),
        "keyword all \"walden\"".to_owned(),
        format!("items.barcode==\"{}\"", item.barcode),
        format!("id=={}", item.instance),
    ] {
        let found = server.admin().get(&format!("/search/instances?query={query}")).await.expect(200);
        assert_eq!(found["totalRecords"], 1, "{query}");
        let instance = &found["instances"][0];
        assert_eq!(instance["id"], json!(item.instance), "{query}");
        assert_eq!(instance["tenantId"], "diku");
        assert_eq!(instance["shared"], false);
        assert_eq!(instance["discoverySuppress"], false);
        assert_eq!(instance["items"], json!([]), "items are shown on request");
        assert!(instance.get("hrid").is_none());
    }
    let path = format!("/search/instances?expandAll=true&query=id=={}", item.instance);
    let expanded = server.admin().get(&path).await.expect(200)["instances"][0].clone();
    assert!(expanded["hrid"].is_string());
    assert_eq!(expanded["items"][0]["id"], json!(item.id));
    assert_eq!(expanded["holdings"][0]["id"], json!(item.holdings));
    server.admin().get("/search/instances").await.expect_status(400);
    server.admin().get("/search/instances?query=id=*&limit=501").await.expect_status(400);
}
