//! Permissions: nested sets, and who may grant them.

use carrel_testkit::TestServer;
use futures_util::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

async fn set(server: &TestServer, name: &str, inner: &[&str]) -> Value {
    let set = json!({"permissionName": name, "subPermissions": inner});
    server.post("/perms/permissions", &set).await.expect(201)
}

#[tokio::test]
async fn a_permission_in_a_nested_set_is_granted() {
    let server = TestServer::start().await;
    set(&server, "desk.readers", &["users.collection.get"]).await;
    set(&server, "desk.all", &["desk.readers"]).await;
    let clerk = server.staff_with(&["desk.all"]).await;
    clerk.get("/users?limit=0").await.expect(200);
    let refused = clerk.get("/groups").await;
    assert_eq!(refused.status, 403);
    assert!(refused.text().ends_with("requires permission: usergroups.collection.get"), "{}", refused.text());
}

#[tokio::test]
async fn a_changed_set_changes_what_its_holders_may_do() {
    let server = TestServer::start().await;
    let mut readers = set(&server, "desk.readers", &["users.collection.get"]).await;
    let clerk = server.staff_with(&["desk.readers"]).await;
    clerk.get("/users?limit=0").await.expect(200);
    readers["subPermissions"] = json!([]);
    readers.as_object_mut().expect("an object").remove("metadata");
    let path = format!("/perms/permissions/{}", readers["id"].as_str().expect("an id"));
    server.put(&path, &readers).await.expect(200);
    clerk.get("/users?limit=0").await.expect_status(403);
    server.delete(&path).await.expect(204);
    let held = server.get("/perms/users?query=permissions=desk.readers").await.expect(200);
    assert_eq!(held["totalRecords"], 0);
}

#[tokio::test]
async fn a_permission_of_a_module_cannot_be_changed() {
    let server = TestServer::start().await;
    let found = server.get("/perms/permissions?query=permissionName==users.item.get").await.expect(200);
    let path = format!("/perms/permissions/{}", found["permissions"][0]["id"].as_str().expect("an id"));
    assert_eq!(server.delete(&path).await.text(), "cannot delete an immutable permission");
    assert_eq!(
        server.put(&path, &found["permissions"][0]).await.text(),
        "cannot change an immutable permission"
    );
}

#[tokio::test]
async fn users_grant_only_permissions_that_they_have_or_may_assign() {
    let server = TestServer::start().await;
    set(&server, "house.set", &["users.collection.get"]).await;
    let user = Uuid::new_v4();
    server.post("/perms/users", &json!({"userId": user, "permissions": []})).await.expect(201);
    let path = format!("/perms/users/{user}/permissions?indexField=userId");
    let give = |name: &str| json!({"permissionName": name});
    let clerk = server.staff_with(&["perms.users.item.post", "users.item.get"]).await;
    clerk.post(&path, &give("users.item.get")).await.expect(200);
    let refused = clerk.post(&path, &give("users.item.post")).await;
    assert_eq!(refused.status, 403);
    assert!(refused.text().starts_with("Cannot add immutable permission users.item.post"));
    clerk.post(&path, &give("house.set")).await.expect_status(403);
    let chief = server.staff_with(&["perms.users.item.post", "perms.users.assign.mutable"]).await;
    chief.post(&path, &give("house.set")).await.expect(200);
    let grand = server.staff_with(&["perms.users.item.post", "perms.users.assign.immutable"]).await;
    grand.post(&path, &give("carrel.all")).await.expect_status(403);
}

#[tokio::test]
async fn an_unknown_permission_is_refused() {
    let server = TestServer::start().await;
    let user = Uuid::new_v4();
    let refused = server.post("/perms/users", &json!({"userId": user, "permissions": ["no.such"]})).await;
    assert!(refused.refusals()[0].contains("Attempting to add non-existent permissions no.such"));
}

#[tokio::test]
async fn sets_are_shown_by_name_expanded_or_in_full() {
    let server = TestServer::start().await;
    set(&server, "a.inner", &["users.item.get"]).await;
    set(&server, "a.outer", &["a.inner"]).await;
    let shown = async |more: &str| {
        let path = format!("/perms/permissions?query=permissionName==a.outer{more}");
        server.get(&path).await.expect(200)["permissions"][0]["subPermissions"].clone()
    };
    assert_eq!(shown("").await, json!(["a.inner"]));
    assert_eq!(shown("&expanded=true").await, json!(["a.inner", "users.item.get"]));
    assert_eq!(shown("&expandSubs=true").await[0]["permissionName"], "a.inner");
}

#[tokio::test]
async fn a_permission_user_is_addressed_by_user_id_too() {
    let server = TestServer::start().await;
    let user = Uuid::new_v4();
    let given = json!({"userId": user, "permissions": ["users.item.get"]});
    let made = server.post("/perms/users", &given).await.expect(201);
    let path = format!("/perms/users/{user}?indexField=userId");
    let mut holder = server.get(&path).await.expect(200);
    assert_eq!((&holder["id"], &holder["permissions"]), (&made["id"], &json!(["users.item.get"])));
    server.get(&format!("/perms/users/{user}")).await.expect_status(404);
    holder["permissions"] = json!(["users.item.get", "users.item.put"]);
    let by_id = format!("/perms/users/{}", made["id"].as_str().expect("an id"));
    server.put(&by_id, &holder).await.expect(200);
    let names = server.get(&format!("/perms/users/{user}/permissions?indexField=userId")).await.expect(200);
    assert_eq!(names["permissionNames"], json!(["users.item.get", "users.item.put"]));
    let one = format!("/perms/users/{user}/permissions/users.item.put?indexField=userId");
    server.delete(&one).await.expect(204);
    assert_eq!(server.get(&by_id).await.expect(200)["permissions"], json!(["users.item.get"]));
    server.delete(&by_id).await.expect(204);
    server.get(&path).await.expect_status(404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_replacements_do_not_wait_for_a_second_connection() {
    let server = TestServer::start().await;
    let records: Vec<Value> = join_all((0..16).map(|_| async {
        let given = json!({"userId": Uuid::new_v4(), "permissions": ["users.item.get"]});
        server.post("/perms/users", &given).await.expect(201)
    }))
    .await;
    let replaced = join_all(records.iter().map(|record| async {
        let mut record = record.clone();
        record["permissions"] = json!(["users.item.get", "users.item.put"]);
        record.as_object_mut().expect("an object").remove("metadata");
        let path = format!("/perms/users/{}", record["id"].as_str().expect("an id"));
        // Each must read the permissions again.
        server.tenant.settings_version_is_stale();
        server.tenant.cache.clear();
        server.put(&path, &record).await
    }))
    .await;
    replaced.iter().for_each(|reply| reply.expect_status(200));
}

#[tokio::test]
async fn roots_and_grants_are_found_by_query() {
    let server = TestServer::start().await;
    set(&server, "a.inner", &[]).await;
    set(&server, "a.outer", &["a.inner"]).await;
    server.staff_with(&["a.outer"]).await;
    let found = async |query: &str| {
        let path = format!("/perms/permissions?query=mutable==true and {query} sortby permissionName");
        let found = server.get(&path).await.expect(200)["permissions"].clone();
        let names =
            found.as_array().expect("an array").iter().filter_map(|one| one["permissionName"].as_str());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("childOf==[]").await, ["a.outer"]);
    assert_eq!(found("grantedTo==[]").await, ["a.inner"]);
    assert_eq!(found("childOf=a.outer").await, ["a.inner"]);
}
