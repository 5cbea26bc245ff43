use super::{ITEMS, barcodes, create, fql, library_with_items, list_of_items, refreshed, until};
use carrel_testkit::TestServer;
use serde_json::{Value, json};
use uuid::Uuid;

pub(super) const PERMISSIONS: [&str; 20] = [
    "lists.collection.get",
    "lists.collection.post",
    "lists.item.get",
    "lists.item.update",
    "lists.item.delete",
    "lists.item.post",
    "lists.item.contents.get",
    "fqm.entityTypes.used-by.item.patch",
    "lists.item.refresh.cancel",
    "lists.item.export.post",
    "lists.item.export.get",
    "lists.item.versions.collection.get",
    "users.collection.get",
    "usergroups.collection.get",
    "users.item.get",
    "lists.configuration.get",
    "fqm.query.sync.get",
    "fqm.query.async.post",
    "fqm.entityTypes.item.get",
    "fqm.entityTypes.collection.get",
];

fn list_of_users(name: &str, is_private: bool) -> Value {
    json!({"name": name, "entityTypeId": super::USERS, "isActive": true, "isPrivate": is_private,
        "fqlQuery": fql(json!({"users.active": {"$eq": "true"}}))})
}

#[tokio::test]
async fn a_list_is_kept_with_its_versions() {
    let library = TestServer::start().await;
    let id =
        create(&library.admin, &list_of_items("Missing", json!({"items.status_name": {"$eq": "Missing"}})))
            .await;
    let path = format!("/lists/{id}");
    let mut list = library.get(&path).await.expect(200);
    assert_eq!(list["version"], 1);
    assert!(list["fields"].to_string().contains("items.status_name"), "{list}");
    assert!(list.get("description").is_none() && list.get("updatedBy").is_none());
    list["name"] = "Zebra Stripes".into();
    list["isActive"] = "true".into();
    let updated = library.put(&path, &list).await.expect(200);
    assert_eq!((&updated["version"], &updated["name"]), (&json!(2), &json!("Zebra Stripes")));
    let stale = library.put(&path, &list).await.expect(409);
    assert_eq!(stale["code"], "update-optimistic.lock.exception");
    let versions = library.get(&format!("{path}/versions")).await.expect(200);
    assert_eq!(versions.as_array().map(Vec::len), Some(2));
    let first = library.get(&format!("{path}/versions/1")).await.expect(200);
    assert_eq!(first["name"], "Missing");
    assert_eq!(
        library.get(&format!("{path}/versions/9")).await.expect(404)["code"],
        "read-version.not.found"
    );
    assert_eq!(library.get(&format!("{path}/versions/x")).await.expect(400)["code"], "invalid.request");
    library.delete(&path).await.expect_status(204);
    assert_eq!(library.get(&path).await.expect(404)["code"], "read-list.not.found");
    assert_eq!(library.delete(&path).await.expect(404)["code"], "delete-list.not.found");
    let search = |more: &str| format!("/lists?search=zebra%20STR{more}");
    assert_eq!(library.get(&search("")).await.expect(200)["totalRecords"], 0);
    assert_eq!(library.get(&search("&includeDeleted=true")).await.expect(200)["totalRecords"], 1);
}

#[tokio::test]
async fn bad_lists_are_refused() {
    let library = TestServer::start().await;
    let good = list_of_items("a", json!({"items.status_name": {"$eq": "Missing"}}));
    let with = |name: &str, value: Value| {
        let mut list = good.clone();
        list[name] = value;
        list
    };
    for (list, status, code) in [
        (with("name", json!("")), 400, "invalid.request"),
        (with("isPrivate", json!(null)), 400, "invalid.request"),
        (with("entityTypeId", json!("x")), 400, "invalid.request"),
        (with("entityTypeId", json!(Uuid::new_v4())), 404, "create-entity.not.found"),
        (with("fqlQuery", json!("{\"nope\":{\"$eq\":1}}")), 400, "create-fql.query.invalid"),
        (
            with("fqlQuery", json!(fql(json!({"items.material_type_id": {"$empty": true}})))),
            400,
            "create-fql.query.invalid",
        ),
    ] {
        let refused = library.post("/lists", &list).await.expect(status);
        assert_eq!(refused["code"], code, "{list}");
    }
    assert_eq!(
        library.put(&format!("/lists/{}", Uuid::new_v4()), &good).await.expect(400)["code"],
        "invalid.request"
    );
    assert_eq!(library.get("/lists?sortBy=age").await.expect(400)["code"], "invalid.request");
    assert_eq!(library.get("/lists/x").await.expect(400)["code"], "invalid.request");
}

#[tokio::test]
async fn a_private_list_belongs_to_its_last_updater() {
    let library = TestServer::start().await;
    let (owner, other) = (library.staff_with(&PERMISSIONS).await, library.staff_with(&PERMISSIONS).await);
    let id = create(&owner, &list_of_users("Mine", true)).await;
    let path = format!("/lists/{id}");
    owner.get(&path).await.expect(200);
    assert_eq!(other.get(&path).await.expect(401)["code"], "read-list.is.private");
    assert_eq!(
        other.post(&format!("{path}/refresh"), &Value::Null).await.expect(401)["code"],
        "refresh-list.is.private"
    );
    assert_eq!(other.delete(&path).await.expect(401)["code"], "delete-list.is.private");
    let names = |lists: &Value| lists["content"].to_string();
    assert!(names(&owner.get("/lists").await.expect(200)).contains("Mine"));
    assert!(!names(&other.get("/lists").await.expect(200)).contains("Mine"));
}

#[tokio::test]
async fn a_list_needs_the_permissions_of_its_type() {
    let library = TestServer::start().await;
    let staff = library.staff_with(&PERMISSIONS).await;
    let refused = staff.post("/lists", &list_of_items("Items", json!({}))).await.expect(403);
    assert_eq!(refused["code"], "create-entity.type.restricted");
    let id = create(&library.admin, &list_of_items("Items", json!({}))).await;
    assert_eq!(staff.get(&format!("/lists/{id}")).await.expect(403)["code"], "read-entity.type.restricted");
    let shown = staff.get("/lists").await.expect(200);
    assert!(!shown["content"].to_string().contains(&id));
}

#[tokio::test]
async fn canned_lists_can_be_refreshed_and_not_changed() {
    let (lending, items) = library_with_items(2).await;
    let path = "/lists/605a345f-f456-4ab2-8968-22f49cf1fbb6";
    let mut list = lending.admin().get(path).await.expect(200);
    assert_eq!((&list["isCanned"], &list["createdByUsername"]), (&json!(true), &json!("System")));
    list["name"] = "Mine".into();
    assert_eq!(lending.admin().put(path, &list).await.expect(400)["code"], "update-list.is.canned");
    assert_eq!(lending.admin().delete(path).await.expect(400)["code"], "delete-list.is.canned");
    lending
        .admin()
        .post(&format!("/inventory/items/{}/mark-missing", items[0].id), &Value::Null)
        .await
        .expect(200);
    let list = refreshed(lending.admin(), "605a345f-f456-4ab2-8968-22f49cf1fbb6").await;
    assert_eq!(list["successRefresh"]["recordsCount"], 1);
    assert_eq!(
        barcodes(lending.admin(), "605a345f-f456-4ab2-8968-22f49cf1fbb6").await,
        [items[0].barcode.clone()]
    );
}

#[tokio::test]
async fn contents_show_chosen_fields_and_mark_deleted_records() {
    let (lending, items) = library_with_items(3).await;
    let admin = lending.admin();
    let id = create(admin, &list_of_items("All", json!({}))).await;
    let empty = admin.get(&format!("/lists/{id}/contents")).await.expect(200);
    assert_eq!(empty, json!({"content": [], "totalRecords": 0}));
    refreshed(admin, &id).await;
    admin.delete(&format!("/item-storage/items/{}", items[1].id)).await.expect_status(204);
    let contents =
        admin.get(&format!("/lists/{id}/contents?fields=items.barcode&size=2&offset=1")).await.expect(200);
    assert_eq!(contents["totalRecords"], 3);
    assert_eq!(contents["content"].as_array().map(Vec::len), Some(2));
    let all = admin.get(&format!("/lists/{id}/contents")).await.expect(200).to_string();
    assert!(all.contains(&format!("{{\"_deleted\":true,\"items.id\":\"{}\"}}", items[1].id)), "{all}");
    assert_eq!(
        admin.get(&format!("/lists/{id}/contents?size=0")).await.expect(400)["code"],
        "invalid.request"
    );
}

#[tokio::test]
async fn a_list_that_is_made_inactive_loses_its_contents() {
    let (lending, _) = library_with_items(1).await;
    let admin = lending.admin();
    let id = create(admin, &list_of_items("All", json!({}))).await;
    let mut list = refreshed(admin, &id).await;
    assert_eq!(list["successRefresh"]["status"], "SUCCESS");
    list["isActive"] = false.into();
    let list = admin.put(&format!("/lists/{id}"), &list).await.expect(200);
    assert!(list["successRefresh"].is_null());
    let contents = admin.get(&format!("/lists/{id}/contents")).await.expect(200);
    assert_eq!(contents["totalRecords"], 0);
    let refused = admin.post(&format!("/lists/{id}/refresh"), &Value::Null).await.expect(400);
    assert_eq!(refused["code"], "refresh-list.is.inactive");
}

#[tokio::test]
async fn a_list_is_filled_from_a_query_that_has_run() {
    let (lending, items) = library_with_items(2).await;
    let admin = lending.admin();
    let query = json!({"entityTypeId": ITEMS, "fqlQuery": fql(json!({}))});
    let query = admin.post("/query", &query).await.expect(201)["queryId"].clone();
    let path = format!("/query/{}", query.as_str().expect("an id"));
    until(admin, &path, |query| query["status"] == "SUCCESS").await;
    let mut list = list_of_items("All", json!({}));
    list["queryId"] = query;
    let created = admin.post("/lists", &list).await.expect(201);
    assert_eq!(created["successRefresh"]["recordsCount"], 2);
    let found = barcodes(admin, created["id"].as_str().expect("an id")).await;
    assert_eq!(found.len(), items.len());
}

#[tokio::test]
async fn the_history_of_a_list_has_users_and_times_of_refreshes() {
    let (lending, _) = library_with_items(1).await;
    let admin = lending.admin();
    let id = create(admin, &list_of_items("All", json!({}))).await;
    refreshed(admin, &id).await;
    refreshed(admin, &id).await;
    let history = admin.get(&format!("/lists/{id}/refreshes")).await.expect(200);
    let refreshes = history["refreshes"].as_array().expect("an array");
    assert_eq!(refreshes.len(), 2);
    assert_eq!((&refreshes[0]["contentVersion"], &refreshes[0]["recordsCount"]), (&json!(2), &json!(1)));
    let summary = admin.get(&format!("/lists?ids={id}")).await.expect(200);
    assert_eq!(summary["content"][0]["isRefreshing"], false);
    assert_eq!(admin.get("/lists/configuration").await.expect(200)["maxListSize"], 1_250_000);
}
