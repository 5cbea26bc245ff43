//! Notes on patrons.

use carrel_testkit::TestServer;
use serde_json::json;

const PATRON: &str = "11111111-1111-4111-8111-111111111111";

#[tokio::test]
async fn a_note_is_found_by_its_link_and_deleted_with_its_last_one() {
    let server = TestServer::start().await;
    let types = server.get("/note-types").await.expect(200);
    let note = json!({"typeId": types["noteTypes"][0]["id"], "title": "Careful", "domain": "users",
        "links": [{"id": PATRON, "type": "user"}]});
    let note = server.post("/notes", &note).await.expect(201);
    assert_eq!(note["type"], "General note");
    let links = format!("/note-links/domain/users/type/user/id/{PATRON}?status=assigned");
    assert_eq!(server.get(&links).await.expect(200)["totalRecords"], 1);
    let change = json!({"notes": [{"id": note["id"], "status": "UNASSIGNED"}]});
    server.put(&format!("/note-links/type/user/id/{PATRON}"), &change).await.expect(204);
    let gone = server.get(&format!("/notes/{}", note["id"].as_str().expect("an id"))).await;
    assert_eq!(gone.expect(404)["errors"][0]["code"], "NOT_FOUND_ERROR");
}

#[tokio::test]
async fn a_note_type_in_use_cannot_be_deleted() {
    let server = TestServer::start().await;
    let types = server.get("/note-types").await.expect(200);
    let id = types["noteTypes"][0]["id"].as_str().expect("an id").to_owned();
    let note =
        json!({"typeId": id, "title": "T", "domain": "users", "links": [{"id": PATRON, "type": "user"}]});
    server.post("/notes", &note).await.expect(201);
    server.delete(&format!("/note-types/{id}")).await.expect(422);
}

#[tokio::test]
async fn an_invalid_request_is_422_and_another_content_type_415() {
    let server = TestServer::start().await;
    for path in ["/notes?limit=0", "/notes?limit=-1", "/note-types?limit=x", "/notes?query=(", "/notes/no-id"]
    {
        let refused = server.get(path).await.expect(422);
        assert_eq!(refused["errors"][0]["code"], "VALIDATION_ERROR", "{path}");
    }
    server.admin.call("POST", "/notes", Some("{".into())).await.expect_status(422);
    let message = async |method: &str, path: &str, body: &str| {
        let refused = server.admin.call(method, path, Some(body.to_owned().into())).await.expect(422);
        refused["errors"][0]["message"].as_str().unwrap_or_default().to_owned()
    };
    let uuid = "Failed to convert value of type 'java.lang.String' to required type 'java.util.UUID'";
    assert!(message("DELETE", "/note-types/12345", "").await.starts_with(uuid));
    assert!(message("POST", "/notes", "").await.starts_with("Required request body is missing:"));
    assert!(message("POST", "/notes", "{}").await.starts_with("Validation failed for argument [0]"));
    let plain = server.admin.with_header("content-type", "text/plain");
    let refused = plain.post("/note-types", &json!({"name": "x"})).await.expect(415);
    assert_eq!(refused["error"], "Unsupported Media Type");
}
