//! Source records, inventory settings and instance date types.

use carrel_testkit::LendingServer;
use serde_json::json;
use uuid::Uuid;

fn marc() -> serde_json::Value {
    json!({"leader": "01344cja a2200277   4500", "fields": [{"001": "in1"}, {"245": {"ind1": "0", "ind2": "0",
        "subfields": [{"a": "Title"}]}}]})
}

#[tokio::test]
async fn an_instance_has_a_source_record_format_while_it_has_a_source_record() {
    let server = LendingServer::open().await;
    let admin = server.admin();
    let instance = format!("/instance-storage/instances/{}", server.item().await.instance);
    let path = format!("{instance}/source-record/marc-json");
    admin.get(&path).await.expect_status(404);
    admin.put(&path, &marc()).await.expect(204);
    let stored = admin.get(&path).await.expect(200);
    assert_eq!((&stored["leader"], &stored["fields"]), (&marc()["leader"], &marc()["fields"]));
    let mut shown = admin.get(&instance).await.expect(200);
    assert_eq!(shown["sourceRecordFormat"], "MARC-JSON");
    shown.as_object_mut().expect("an object").remove("sourceRecordFormat");
    admin.put(&instance, &shown).await.expect(204);
    assert_eq!(admin.get(&instance).await.expect(200)["sourceRecordFormat"], "MARC-JSON");
    admin.delete(&path).await.expect(204);
    admin.delete(&path).await.expect_status(404);
    assert!(admin.get(&instance).await.expect(200).get("sourceRecordFormat").is_none());
}

#[tokio::test]
async fn a_source_record_needs_an_instance_and_is_deleted_with_it() {
    let server = LendingServer::open().await;
    let admin = server.admin();
    let kind = admin.get("/instance-types?limit=1").await.expect(200)["instanceTypes"][0]["id"].clone();
    let instance = json!({"title": "T", "source": "MARC", "instanceTypeId": kind});
    let made = admin.post("/instance-storage/instances", &instance).await.expect(201);
    let instance = format!("/instance-storage/instances/{}", made["id"].as_str().expect("an id"));
    let path = format!("{instance}/source-record/marc-json");
    let mut short = marc();
    short["leader"] = "short".into();
    let refused = admin.put(&path, &short).await;
    assert_eq!(refused.expect(422)["errors"][0]["message"], "size must be between 24 and 24");
    let nowhere = format!("/instance-storage/instances/{}/source-record/marc-json", Uuid::new_v4());
    admin.put(&nowhere, &marc()).await.expect_status(404);
    admin.put(&path, &marc()).await.expect(204);
    admin.delete(&instance).await.expect(204);
    admin.get(&path).await.expect_status(404);
}

#[tokio::test]
async fn a_setting_of_inventory_takes_a_value_of_its_type() {
    let server = LendingServer::open().await;
    let admin = server.admin();
    let path = "/inventory-settings/inventory.optimize-updates.enabled";
    assert_eq!(admin.get(path).await.expect(200)["value"], "false");
    admin.call("PATCH", path, Some("{\"value\":true}".into())).await.expect(204);
    assert_eq!(admin.get(path).await.expect(200)["value"], "true");
    let refused = admin.call("PATCH", path, Some("{\"value\":7}".into())).await;
    assert_eq!((refused.status, refused.text()), (422, "Setting value should be a boolean".to_owned()));
    let unknown = admin.get("/inventory-settings/nothing").await;
    assert_eq!((unknown.status, unknown.text()), (404, "Setting not found: nothing".to_owned()));
}

#[tokio::test]
async fn only_the_name_of_an_instance_date_type_changes() {
    let server = LendingServer::open().await;
    let admin = server.admin();
    let before = admin.get("/instance-date-types?limit=1").await.expect(200)["instanceDateTypes"][0].clone();
    let path = format!("/instance-date-types/{}", before["id"].as_str().expect("an id"));
    admin.call("PATCH", &path, Some("{\"name\":\"Other\"}".into())).await.expect(204);
    let query = format!("/instance-date-types?query=id=={}", before["id"].as_str().expect("an id"));
    let after = admin.get(&query).await.expect(200)["instanceDateTypes"][0].clone();
    assert_eq!((&after["name"], &after["code"]), (&json!("Other"), &before["code"]));
    admin.call("PATCH", &path, Some("{\"code\":\"x\"}".into())).await.expect(422);
    let unknown = format!("/instance-date-types/{}", Uuid::new_v4());
    admin.call("PATCH", &unknown, Some("{\"name\":\"x\"}".into())).await.expect_status(404);
}
