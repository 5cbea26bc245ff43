//! Tags: the labels that staff can attach to records.

use carrel_testkit::TestServer;
use serde_json::{Value, json};
use uuid::Uuid;

fn labels(page: &Value) -> Vec<&str> {
    let tags = page["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
    tags.iter().filter_map(|tag| tag["label"].as_str()).collect()
}

#[tokio::test]
async fn a_new_tenant_has_two_tags() {
    let server = TestServer::start().await;
    let page = server.get("/tags?query=cql.allRecords=1 sortBy label").await.expect(200);
    assert_eq!(labels(&page), ["important", "urgent"]);
    assert_eq!(page["totalRecords"], 2);
}

#[tokio::test]
async fn a_tag_is_created_renamed_and_deleted() {
    let server = TestServer::start().await;
    let sent = Uuid::new_v4();
    let tag = json!({"id": sent, "label": "weeding", "description": "To be withdrawn"});
    let created = server.post("/tags", &tag).await.expect(201);
    let id = created["id"].as_str().expect("a tag has an id").to_owned();
    assert_ne!(id, sent.to_string(), "the module gives ids of its own");
    assert!(created["metadata"]["createdDate"].is_string());

    server.put(&format!("/tags/{id}"), &json!({"label": "Weeding 2026"})).await.expect(204);
    let stored = server.get(&format!("/tags/{id}")).await.expect(200);
    assert_eq!(stored["label"], "Weeding 2026");
    assert_eq!(stored["description"], "To be withdrawn", "what is not sent stays");
    let found = server.get("/tags?query=label==\"weeding 2026\"").await.expect(200);
    assert_eq!(labels(&found), ["Weeding 2026"]);

    server.delete(&format!("/tags/{id}")).await.expect(204);
    let gone = server.get(&format!("/tags/{id}")).await.expect(404);
    assert_eq!(
        gone["errors"],
        json!([{"message": format!("Tag with id [{id}] was not found"), "type": "-1", "code": "NOT_FOUND_ERROR"}])
    );
}

#[tokio::test]
async fn a_label_that_another_tag_has_is_refused() {
    let server = TestServer::start().await;
    let refused = server.post("/tags", &json!({"label": "urgent"})).await.expect(422);
    assert_eq!(refused["errors"][0]["message"], "Key (label)=(urgent) already exists.");
    assert_eq!(refused["errors"][0]["code"], "VALIDATION_ERROR");
    // Labels are case-sensitive.
    let id = server.post("/tags", &json!({"label": "Urgent"})).await.expect(201)["id"].clone();
    let path = format!("/tags/{}", id.as_str().unwrap_or_default());
    assert_eq!(
        server.put(&path, &json!({"label": "important"})).await.refusals(),
        ["Key (label)=(important) already exists."]
    );
}

#[tokio::test]
async fn a_tag_without_label_and_a_malformed_id_are_refused() {
    let server = TestServer::start().await;
    server.post("/tags", &json!({"description": "nothing"})).await.expect_status(422);
    server.post("/tags", &json!({"label": "x".repeat(256)})).await.expect_status(422);
    server.get("/tags/urgent").await.expect_status(422);
    server.get("/tags?limit=0").await.expect_status(422);
}

#[tokio::test]
async fn tags_need_their_permissions() {
    let server = TestServer::start().await;
    let reader = server.staff_with(&["tags.collection.get"]).await;
    reader.get("/tags").await.expect_status(200);
    reader.post("/tags", &json!({"label": "weeding"})).await.expect_status(403);
    let editor = server.staff_with(&["tags.all"]).await;
    editor.post("/tags", &json!({"label": "weeding"})).await.expect_status(201);
}
