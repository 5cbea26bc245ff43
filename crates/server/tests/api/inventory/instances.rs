//! Views of instances.

use carrel_testkit::{LendingServer, alter};
use serde_json::{Value, json};

async fn described(server: &LendingServer, differs: Value) -> Value {
    let item = server.item().await;
    let stored =
        server.admin().get(&format!("/instance-storage/instances/{}", item.instance)).await.expect(200);
    let mut instance =
        json!({"title": "Quarterly", "source": "FOLIO", "instanceTypeId": stored["instanceTypeId"]});
    alter(&mut instance, &differs);
    instance
}

#[tokio::test]
async fn an_instance_has_preceding_and_succeeding_titles() {
    let server = LendingServer::open().await;
    let admin = server.admin();
    let later = server.item().await.instance;
    let journal = described(
        &server,
        json!({"precedingTitles": [{"title": "Monthly"}], "succeedingTitles": [{"succeedingInstanceId": later}]}),
    )
    .await;
    let created = admin.post("/inventory/instances", &journal).await.expect(201);
    let path = format!("/inventory/instances/{}", created["id"].as_str().unwrap_or_default());
    let mut view = admin.get(&path).await.expect(200);
    assert_eq!(view["precedingTitles"][0]["title"], "Monthly");
    assert!(
        view["succeedingTitles"][0]["title"].as_str().is_some_and(|title| title.starts_with("Book")),
        "{view}"
    );
    let of_later = admin.get(&format!("/inventory/instances/{later}")).await.expect(200);
    assert_eq!(of_later["precedingTitles"][0]["title"], "Quarterly");

    view["succeedingTitles"] = json!([]);
    admin.put(&path, &view).await.expect(204);
    let of_later = admin.get(&format!("/inventory/instances/{later}")).await.expect(200);
    assert_eq!(of_later["precedingTitles"], json!([]));
}

#[tokio::test]
async fn an_invalid_instance_is_refused() {
    let server = LendingServer::open().await;
    let admin = server.admin();
    for (differs, status, words) in [
        (json!({"title": " "}), 400, "Title must be provided for an instance"),
        (
            json!({"deleted": true, "staffSuppress": false}),
            400,
            "staffSuppress and discoverySuppress cannot be set to false if instance is marked as deleted",
        ),
        (json!({"precedingTitles": [{}]}), 422, "Title is required for unconnected preceding title"),
    ] {
        let answer = admin.post("/inventory/instances", &described(&server, differs).await).await;
        assert_eq!(answer.status, status);
        assert!(answer.text().contains(words), "{}", answer.text());
    }
}

#[tokio::test]
async fn a_patch_changes_the_named_properties() {
    let server = LendingServer::open().await;
    let item = server.item().await;
    let path = format!("/instance-storage/instances/{}", item.instance);
    let patch = json!({"editions": ["2nd"]}).to_string().into();
    server.admin().call("PATCH", &path, Some(patch)).await.expect(204);
    let stored = server.admin().get(&path).await.expect(200);
    assert_eq!(stored["editions"], json!(["2nd"]));
    assert!(stored["title"].is_string());
}

#[tokio::test]
async fn a_deleted_instance_is_suppressed_and_stays_stored() {
    let server = LendingServer::open().await;
    let item = server.item().await;
    let path = format!("/inventory/instances/{}", item.instance);
    server.admin().delete(&format!("{path}/mark-deleted")).await.expect(204);
    let view = server.admin().get(&path).await.expect(200);
    for name in ["deleted", "staffSuppress", "discoverySuppress"] {
        assert_eq!(view[name], true, "{name}");
    }
}
