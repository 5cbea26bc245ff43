//! Histories of changed records, and the settings for their recording.

use carrel_platform::outbox;
use carrel_testkit::LendingServer;
use serde_json::{Value, json};
use uuid::Uuid;

async fn history(server: &LendingServer, kind: &str, id: Uuid) -> Value {
    carrel_audit::change_history::write_all(&server.server.tenant).await.expect("histories are written");
    server.admin().get(&format!("/audit-data/{kind}/{id}")).await.expect(200)
}

async fn set(server: &LendingServer, group: &str, key: &str, kind: &str, value: Value) {
    let body = json!({"groupId": group, "key": key, "type": kind, "value": value});
    let path = format!("/audit/config/groups/{group}/settings/{key}");
    server.admin().put(&path, &body).await.expect_status(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_item_has_a_history_newest_first() {
    let server = LendingServer::open().await;
    let item = server.item().await;
    let path = format!("/item-storage/items/{}", item.id);
    let mut stored = server.admin().get(&path).await.expect(200);
    stored["copyNumber"] = "c.2".into();
    stored["yearCaption"] = json!(["2024"]);
    server.admin().put(&path, &stored).await.expect_status(204);
    let history = history(&server, "inventory/item", item.id).await;
    assert_eq!(history["totalRecords"], 2);
    let [update, create] = &history["inventoryAuditItems"].as_array().expect("a list")[..] else {
        panic!("two changes: {history}");
    };
    assert_eq!((&create["action"], create.get("diff")), (&json!("CREATE"), None));
    assert_eq!((&update["action"], &update["entityId"]), (&json!("UPDATE"), &json!(item.id)));
    let changes = update["diff"]["fieldChanges"].as_array().expect("a list");
    let change = changes.iter().find(|change| change["fieldName"] == "copyNumber").expect("the change");
    assert_eq!((&change["changeType"], &change["newValue"]), (&json!("ADDED"), &json!("c.2")));
    assert_eq!(update["diff"]["collectionChanges"][0]["collectionName"], "yearCaption");

    let before = format!("/audit-data/inventory/item/{}?eventTs={}", item.id, update["eventTs"]);
    let earlier = server.admin().get(&before).await.expect(200);
    assert_eq!(earlier["inventoryAuditItems"][0]["action"], "CREATE");
    server.admin().get("/audit-data/inventory/item/nothing").await.expect_status(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_have_a_history_only_if_the_setting_enables_it() {
    let server = LendingServer::open().await;
    let patron = server.patron().await;
    assert_eq!(history(&server, "user", patron.id).await["totalRecords"], 0);
    set(&server, "audit.user", "enabled", "BOOLEAN", json!(true)).await;
    set(&server, "audit.user", "excluded.fields", "STRING", json!("[\"personal.email\"]")).await;
    let path = format!("/users/{}", patron.id);
    let mut user = server.admin().get(&path).await.expect(200);
    user["personal"]["email"] = "new@example.org".into();
    server.admin().put(&path, &user).await.expect_status(204);
    assert_eq!(
        history(&server, "user", patron.id).await["totalRecords"],
        0,
        "only an excluded field changed"
    );
    user["externalSystemId"] = "x1".into();
    server.admin().put(&path, &user).await.expect_status(204);
    let kept = history(&server, "user", patron.id).await;
    assert_eq!((&kept["totalRecords"], &kept["userAuditItems"][0]["action"]), (&json!(1), &json!("UPDATED")));
    set(&server, "audit.user", "enabled", "BOOLEAN", json!(false)).await;
    assert_eq!(history(&server, "user", patron.id).await["totalRecords"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_write_each_change_once() {
    let server = LendingServer::open().await;
    let item = server.item().await;
    let other = server.server.another_node().await;
    let there = other.find_tenant(&server.server.tenant.id).await.expect("a database").expect("the tenant");
    let (first, second) = tokio::join!(
        carrel_audit::change_history::write_all(&server.server.tenant),
        carrel_audit::change_history::write_all(&there)
    );
    first.and(second).expect("both nodes run");
    assert_eq!(history(&server, "inventory/item", item.id).await["totalRecords"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_are_deleted_by_the_retention_setting() {
    let server = LendingServer::open().await;
    let item = server.item().await;
    history(&server, "inventory/item", item.id).await;
    let database = server.server.database().await;
    let old = "UPDATE audit_change SET at = now() - interval '40 days'";
    database.batch_execute(old).await.expect("changes can be made older");
    server.admin().post("/audit-data/cleanup/timer", &Value::Null).await.expect_status(204);
    assert_eq!(
        history(&server, "inventory/item", item.id).await["totalRecords"],
        1,
        "nothing is deleted by default"
    );
    set(&server, "audit.inventory", "records.retention.period", "INTEGER", json!(30)).await;
    server.admin().post("/audit-data/cleanup/timer", &Value::Null).await.expect_status(204);
    assert_eq!(history(&server, "inventory/item", item.id).await["totalRecords"], 0);
    assert!(outbox::RETENTION.as_hours() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_listed_by_group_and_refused_with_a_reason() {
    let server = LendingServer::open().await;
    let admin = server.admin();
    assert_eq!(admin.get("/audit/config/groups").await.expect(200)["totalRecords"], 3);
    let listed = admin.get("/audit/config/groups/audit.inventory/settings").await.expect(200);
    assert_eq!(listed["settings"][0]["key"], "records.page.size");
    assert_eq!(listed["settings"][0]["value"], 10);
    let path = "/audit/config/groups/audit.inventory/settings/enabled";
    let wrong = json!({"groupId": "audit.inventory", "key": "enabled", "type": "BOOLEAN", "value": "no"});
    let answer = admin.put(path, &wrong).await.expect(422);
    assert_eq!(answer["errors"][0]["message"], "Setting value should be a boolean");
    let staff = server.server.staff_with(&["audit.config.groups.settings.collection.get"]).await;
    staff.get("/audit/config/groups/audit.inventory/settings").await.expect_status(403);
}
