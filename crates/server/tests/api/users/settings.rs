//! Settings of the tenant through the public API.

use carrel_testkit::TestServer;
use serde_json::{Value, json};
use uuid::Uuid;

fn entry(scope: &str, key: &str, value: Value) -> Value {
    json!({"id": Uuid::new_v4(), "scope": scope, "key": key, "value": value})
}

const ROUTES: [&str; 3] = [
    "mod-settings.entries.collection.get",
    "mod-settings.entries.item.get",
    "mod-settings.entries.item.post",
];

#[tokio::test]
async fn staff_see_only_settings_of_their_scope() {
    let server = TestServer::start().await;
    for (scope, value) in [("circulation", json!("any text")), ("office", json!([1, {"a": null}]))] {
        server.post("/settings/entries", &entry(scope, "color", value)).await.expect(204);
    }
    let clerk = server.staff_with(&[&ROUTES[..], &["mod-settings.global.read.circulation"]].concat()).await;
    let seen = clerk.get("/settings/entries?query=key==color").await.expect(200);
    assert_eq!(seen["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(seen["resultInfo"]["totalRecords"], 1);
    assert_eq!(seen["items"][0]["value"], "any text");
    assert_eq!(clerk.post("/settings/entries", &entry("circulation", "size", json!(1))).await.status, 403);
    let all = server.get("/settings/entries?query=key==color").await.expect(200);
    assert_eq!(all["items"].as_array().map(Vec::len), Some(2), "the administrator sees all");
}

#[tokio::test]
async fn without_a_scope_permission_nothing_is_listed() {
    let server = TestServer::start().await;
    let clerk = server.staff_with(&ROUTES).await;
    let answer = clerk.get("/settings/entries").await;
    assert_eq!(answer.status, 403);
    let hidden = entry("circulation", "color", json!("red"));
    server.post("/settings/entries", &hidden).await.expect(204);
    let path = format!("/settings/entries/{}", hidden["id"].as_str().unwrap_or_default());
    assert_eq!(clerk.get(&path).await.status, 404);
}

#[tokio::test]
async fn a_permission_for_one_scope_changes_no_setting_of_another() {
    let server = TestServer::start().await;
    let theirs = entry("office", "color", json!("red"));
    server.post("/settings/entries", &theirs).await.expect(204);
    let clerk =
        server.staff_with(&["mod-settings.entries.item.put", "mod-settings.global.write.circulation"]).await;
    let path = format!("/settings/entries/{}", theirs["id"].as_str().unwrap_or_default());
    let mut taken = theirs.clone();
    taken["scope"] = "circulation".into();
    assert_eq!(clerk.put(&path, &taken).await.status, 404);
    assert_eq!(server.get(&path).await.expect(200)["scope"], "office");
}

#[tokio::test]
async fn an_upload_creates_and_replaces_settings() {
    let server = TestServer::start().await;
    let upload = |value: i64| json!([{"scope": "circulation", "key": "a", "value": value}, {"scope": "circulation", "key": "b", "value": value}]);
    let first = server.put("/settings/upload", &upload(1)).await.expect(200);
    assert_eq!(first, json!({"inserted": 2, "updated": 0}));
    let second = server.put("/settings/upload", &upload(2)).await.expect(200);
    assert_eq!(second, json!({"inserted": 0, "updated": 2}));
}

#[tokio::test]
async fn the_locale_is_one_record() {
    let server = TestServer::start().await;
    let locale = json!({"locale": "de-DE", "currency": "EUR", "timezone": "Europe/Berlin"});
    assert_eq!(server.put("/locale", &locale).await.status, 201);
    assert_eq!(server.get("/locale").await.expect(200), locale);
    let answer = server.put("/locale", &json!({"locale": "de-DE"})).await;
    assert_eq!((answer.status, answer.text().as_str()), (400, "timezone missing"));
    let answer = server.put("/base-url", &json!({"baseUrl": "https://x.example/"})).await;
    assert_eq!((answer.status, answer.text().as_str()), (400, "baseUrl must not end with a slash"));
}

#[tokio::test]
async fn address_names_are_unique() {
    let server = TestServer::start().await;
    let address = json!({"name": "Main", "address": "1 Library Walk"});
    let id = server.post("/tenant-addresses", &address).await.expect(201)["id"].clone();
    let answer = server.post("/tenant-addresses", &address).await;
    assert_eq!((answer.status, answer.text().as_str()), (422, "name already exists"));
    let path = format!("/tenant-addresses/{}", id.as_str().unwrap_or_default());
    server.put(&path, &json!({"name": "Main", "address": "2 Library Walk"})).await.expect(204);
    assert_eq!(server.get(&path).await.expect(200)["address"], "2 Library Walk");
}

#[tokio::test]
async fn configuration_entries_are_found_by_module_and_name_and_audited() {
    let server = TestServer::start().await;
    let entry = json!({"module": "CHECKOUT", "configName": "other_settings", "value": "{\"audioAlertsEnabled\":false}"});
    let id = server.post("/configurations/entries", &entry).await.expect(201)["id"].clone();
    let path = "/configurations/entries?query=(module=CHECKOUT and configName=other_settings)";
    let found = server.get(path).await.expect(200);
    assert_eq!((&found["totalRecords"], &found["configs"][0]["enabled"]), (&json!(1), &json!(true)));
    let taken = server.post("/configurations/entries", &entry).await.expect(422);
    assert_eq!(taken["errors"][0]["module"], "CHECKOUT");
    server.delete(&format!("/configurations/entries/{}", id.as_str().unwrap_or_default())).await.expect(204);
    let audits = server.get("/configurations/audit").await.expect(200);
    let letters: Vec<&str> = audits["audits"]
        .as_array()
        .map(|audits| audits.iter().filter_map(|audit| audit["operation"].as_str()).collect())
        .unwrap_or_default();
    assert_eq!(letters, ["I", "D"]);
}

#[tokio::test]
async fn an_entry_is_shown_in_the_order_of_mod_settings() {
    let server = TestServer::start().await;
    let (id, user) = (Uuid::new_v4(), Uuid::new_v4());
    let text = format!(
        r#"{{"id":"{id}","scope":"circulation","key":"k1","userId":"{user}","value":{{"v":"the value"}}}}"#
    );
    let entry: Value = serde_json::from_str(&text).expect("JSON");
    server.post("/settings/entries", &entry).await.expect_status(204);
    assert_eq!(server.get(&format!("/settings/entries/{id}")).await.text(), text);
}
