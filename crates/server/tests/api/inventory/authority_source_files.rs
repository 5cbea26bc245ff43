//! The files that authorities come from.

use carrel_testkit::{Reply, TestServer};
use serde_json::{Value, json};
use uuid::Uuid;

const PATH: &str = "/authority-source-files";

async fn patch(server: &TestServer, path: &str, body: &Value) -> Reply {
    server.admin.call("PATCH", path, Some(body.to_string().into())).await
}

#[tokio::test]
async fn a_new_tenant_has_folios_files_which_keep_their_names_and_stay() {
    let server = TestServer::start().await;
    let found = server.get(&format!("{PATH}?limit=100&query=source==folio")).await.expect(200);
    assert_eq!(found["totalRecords"], 12);
    let lcsh = server.get(&format!("{PATH}/837e2c7b-037b-4113-9dfd-b1b8aeeb1fb8")).await.expect(200);
    assert_eq!(lcsh["codes"], json!(["sh"]));
    let path = format!("{PATH}/837e2c7b-037b-4113-9dfd-b1b8aeeb1fb8");
    let renamed = json!({"name": "Mine", "_version": lcsh["_version"]});
    assert_eq!(
        patch(&server, &path, &renamed).await.refusals(),
        ["Unable to patch. Authority source file source is FOLIO or it has authority references"]
    );
    let selectable = json!({"selectable": true, "_version": lcsh["_version"]});
    patch(&server, &path, &selectable).await.expect_status(204);
    assert_eq!(server.get(&path).await.expect(200)["selectable"], true);
    patch(&server, &path, &selectable).await.expect_status(409);
    assert_eq!(
        server.delete(&path).await.refusals(),
        ["Cannot delete Authority source file with source 'folio'"]
    );
    let hrid = server.post(&format!("{path}/hrid"), &json!({})).await;
    assert!(hrid.refusals()[0].contains("doesn't support HRID generation"));
    server.get(&format!("{PATH}/{}", Uuid::new_v4())).await.expect_status(404);
}

#[tokio::test]
async fn a_file_of_the_library_numbers_its_authorities() {
    let server = TestServer::start().await;
    let sent = json!({"name": "Local people", "code": "loc", "type": "Names", "baseUrl": "http://www.a.org/people",
        "hridManagement": {"startNumber": 10}});
    let made = server.post(PATH, &sent).await.expect(201);
    assert_eq!(
        (&made["codes"], &made["source"], &made["baseUrl"], &made["selectable"]),
        (&json!(["loc"]), &json!("local"), &json!("http://a.org/people/"), &json!(true))
    );
    let path = format!("{PATH}/{}", made["id"].as_str().unwrap_or_default());
    for number in [10, 11] {
        let next = server.post(&format!("{path}/hrid"), &json!({})).await.expect(200);
        assert_eq!(next["hrid"], format!("loc{number}"));
    }
    for (differs, what) in [
        (json!({"code": "other", "baseUrl": "http://b.org"}), "name"),
        (json!({"name": "Other", "code": "other", "baseUrl": "https://a.org/people/"}), "baseUrl"),
        (json!({"name": "Other", "baseUrl": "http://b.org"}), "code"),
    ] {
        let mut other = sent.clone();
        carrel_testkit::alter(&mut other, &differs);
        let text = format!("Authority source file with the given '{what}' already exists.");
        assert_eq!(server.post(PATH, &other).await.refusals(), [text]);
    }
    let numbered = json!({"name": "Numbers", "code": "a1"});
    assert_eq!(
        server.post(PATH, &numbered).await.refusals(),
        ["Authority Source File prefix should be non-empty sequence of letters"]
    );
    let changed =
        json!({"code": "people", "baseUrl": "", "hridManagement": {"startNumber": 5}, "_version": 1});
    patch(&server, &path, &changed).await.expect_status(204);
    let stored = server.get(&path).await.expect(200);
    assert_eq!(
        (&stored["codes"], stored.get("baseUrl"), &stored["_version"]),
        (&json!(["people"]), None, &json!(2))
    );
    assert_eq!(server.post(&format!("{path}/hrid"), &json!({})).await.expect(200)["hrid"], "people5");
    server.delete(&path).await.expect_status(204);
    server.get(&path).await.expect_status(404);
}
