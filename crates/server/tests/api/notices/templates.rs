//! Templates of notices and their event configurations.

use carrel_testkit::TestServer;
use serde_json::{Value, json};
use uuid::Uuid;

fn template(resolver: &str) -> Value {
    json!({"id": Uuid::new_v4(), "description": "Due soon", "outputFormats": ["text/html"],
        "templateResolver": resolver, "localizedTemplates": {"en": {"header": "Due", "body": "<p>Due</p>"}}})
}

#[tokio::test]
async fn a_replaced_template_is_answered_with_the_record() {
    let server = TestServer::start().await;
    let mut template = template("mustache");
    let created = server.post("/templates", &template).await.expect(201);
    assert!(created["metadata"]["createdDate"].is_string(), "{created}");
    template["description"] = "Due tomorrow".into();
    let path = format!("/templates/{}", template["id"].as_str().unwrap_or_default());
    let replaced = server.put(&path, &template).await.expect(200);
    assert_eq!(replaced["description"], "Due tomorrow");
    assert_eq!(server.get(&path).await.expect(200)["description"], "Due tomorrow");
}

#[tokio::test]
async fn an_unknown_template_resolver_is_refused() {
    let server = TestServer::start().await;
    let refused = server.post("/templates", &template("velocity")).await.expect(400);
    assert_eq!(refused, "Template resolver 'velocity' is not supported");
}

#[tokio::test]
async fn an_unknown_template_is_reported_with_its_id() {
    let server = TestServer::start().await;
    let id = Uuid::new_v4();
    let path = format!("/templates/{id}");
    for reply in
        [server.get(&path).await, server.put(&path, &template("mustache")).await, server.delete(&path).await]
    {
        assert_eq!(reply.expect(404), format!("Template with id '{id}' not found"));
    }
}

#[tokio::test]
async fn a_new_tenant_has_templates_event_configurations_and_the_search_slip() {
    let server = TestServer::start().await;
    let configurations = server.get("/eventConfig?limit=100").await.expect(200);
    let configurations = configurations["eventEntity"].as_array().cloned().unwrap_or_default();
    assert_eq!(configurations.len(), 5);
    for configuration in configurations {
        assert!(configuration.get("metadata").is_none());
        let id = configuration["templates"][0]["templateId"].as_str().unwrap_or_default().to_owned();
        server.get(&format!("/templates/{id}")).await.expect_status(200);
    }
    let slip = "/staff-slips-storage/staff-slips/e6e29ec1-1a76-4913-bbd3-65f4ffd94e03";
    assert_eq!(server.get(slip).await.expect(200)["name"], "Search slip (Hold requests)");
}

#[tokio::test]
async fn templates_of_a_new_tenant_have_no_metadata() {
    let server = TestServer::start().await;
    let first = server.get("/templates").await.expect(200)["templates"][0].clone();
    assert!(first["localizedTemplates"].is_object() && first.get("metadata").is_none(), "{first}");
}

#[tokio::test]
async fn a_template_without_output_formats_is_stored_with_an_empty_list() {
    let server = TestServer::start().await;
    let mut template = template("mustache");
    template.as_object_mut().expect("an object").remove("outputFormats");
    assert_eq!(server.post("/templates", &template).await.expect(201)["outputFormats"], json!([]));
    let refused = server.post("/templates", &json!({"description": "nothing"})).await;
    assert_eq!(refused.refusals(), ["must not be null"; 2]);
}

#[tokio::test]
async fn a_second_event_configuration_with_the_same_id_is_refused_with_400() {
    let server = TestServer::start().await;
    let configuration = json!({"id": Uuid::new_v4(), "name": "EVENT", "active": true, "templates": []});
    server.post("/eventConfig", &configuration).await.expect(201);
    let refused = server.post("/eventConfig", &configuration).await;
    let id = configuration["id"].as_str().unwrap_or_default();
    let text = format!("id value already exists in table event_configurations: {id}");
    assert_eq!((refused.status, refused.text()), (400, text));
    server.post("/eventConfig", &json!({"name": "OTHER"})).await.expect_status(422);
}
