//! Circulation settings through the public API.

use carrel_testkit::TestServer;
use serde_json::json;

#[tokio::test]
async fn a_setting_written_twice_is_one_setting() {
    let server = TestServer::start().await;
    let setting = |on: bool| json!({"name": "printEventLogFeature", "value": {"enablePrintLog": on}});
    let first = server.post("/circulation/settings", &setting(false)).await.expect(201);
    let second = server.post("/circulation/settings", &setting(true)).await.expect(201);
    assert_eq!(first["id"], second["id"]);
    let path = "/circulation/settings?query=name==printEventLogFeature";
    let found = server.get(path).await.expect(200);
    assert_eq!(found["totalRecords"], 1);
    assert_eq!(found["circulationSettings"][0]["value"]["enablePrintLog"], true);
}

#[tokio::test]
async fn a_setting_without_value_is_refused() {
    let server = TestServer::start().await;
    let answer = server.post("/circulation/settings", &json!({"name": "TLR"})).await;
    answer.expect(422);
    assert_eq!(answer.refusals(), ["Circulation setting JSON is invalid"]);
    let answer = server.get("/circulation/settings/not-a-uuid").await;
    answer.expect(422);
    assert_eq!(answer.refusals(), ["Circulation setting ID is not a valid UUID"]);
}
