//! Custom entity types, which users combine from others.

use super::{fql, until};
use carrel_testkit::TestServer;
use serde_json::{Value, json};
use uuid::Uuid;

const SIMPLE_USERS: &str = "bb058933-cd06-4539-bd3a-6f248ff98ee2";
const GROUPS: &str = "e7717b38-4ff3-4fb9-ae09-b3d0c8400710";
const LOANS: &str = "00349126-c923-4045-a29f-3b6db4c6bea9";

fn users_and_groups(id: Uuid) -> Value {
    json!({"id": id, "name": "users_and_groups", "description": "Users with their groups", "shared": true,
        "isCustom": true, "private": false, "crossTenantQueriesEnabled": false,
        "defaultSort": [{"columnName": "\"users.user\".id", "direction": "ASC"}],
        "sources": [
            {"type": "entity-type", "alias": "users", "name": "Users", "targetId": SIMPLE_USERS,
                "useIdColumns": true, "inheritCustomFields": true},
            {"type": "entity-type", "alias": "groups", "name": "Groups", "sourceField": "users.group_id",
                "targetId": GROUPS, "targetField": "id", "essentialOnly": true, "inheritCustomFields": true}]})
}

fn with(mut definition: Value, path: &str, value: Value) -> Value {
    *definition.pointer_mut(path).expect("the definition has it") = value;
    definition
}

#[tokio::test]
async fn a_custom_type_is_created_changed_and_deleted() {
    let library = TestServer::start().await;
    let id = Uuid::new_v4();
    let path = format!("/entity-types/custom/{id}");
    let definition = users_and_groups(id);
    let reply = library.post("/entity-types/custom", &definition).await;
    assert_eq!(reply.header("location"), Some(path.as_str()));
    let created = reply.expect(201);
    assert_eq!(created["owner"], library.admin_id.to_string());
    assert_eq!(created["createdAt"], created["updatedAt"]);
    let found = library.get(&path).await.expect(200);
    assert_eq!((&found["name"], &found["sources"]), (&definition["name"], &definition["sources"]));
    assert_eq!(found["_version"], "24");
    library.post("/entity-types/custom", &definition).await.expect(400);

    let changed = with(definition.clone(), "/description", json!("Changed"));
    library.put(&path, &changed).await.expect(200);
    let found = library.get(&path).await.expect(200);
    assert_eq!(found["description"], "Changed");
    assert_eq!(found["createdAt"], created["createdAt"]);
    assert_ne!(found["createdAt"], found["updatedAt"]);
    let listed = library.get(&format!("/entity-types?ids={id}")).await.expect(200);
    assert_eq!(listed["entityTypes"][0]["label"], "users_and_groups");
    assert_eq!(listed["entityTypes"][0]["isCustom"], true);

    library.delete(&path).await.expect(204);
    assert_eq!(library.get(&path).await.expect(200)["deleted"], true);
    let listed = library.get(&format!("/entity-types?ids={id}")).await.expect(200);
    assert_eq!(listed["entityTypes"], json!([]));
}

#[tokio::test]
async fn a_custom_type_is_queried_and_listed_like_others() {
    let library = TestServer::start().await;
    let group = library.get("/groups?limit=1").await.expect(200)["usergroups"][0].clone();
    let user = json!({"id": Uuid::new_v4(), "username": "reader", "patronGroup": group["id"],
        "personal": {"lastName": "Reader"}});
    library.post("/users", &user).await.expect(201);
    let id = Uuid::new_v4();
    library.post("/entity-types/custom", &users_and_groups(id)).await.expect(201);
    let definition = library.get(&format!("/entity-types/{id}?includeHidden=true")).await.expect(200);
    let columns = definition["columns"].as_array().expect("columns");
    let labels: Vec<&str> = columns.iter().filter_map(|column| column["labelAlias"].as_str()).collect();
    assert!(labels.contains(&"Users — Username") && labels.contains(&"Groups — Name"), "{labels:?}");

    let condition =
        json!({"$and": [{"users.username": {"$eq": "reader"}}, {"groups.group": {"$eq": group["group"]}}]});
    let query = json!({"entityTypeId": id, "fqlQuery": fql(condition.clone())});
    let query = library.post("/query", &query).await.expect(201);
    let path = format!("/query/{}?includeResults=true", query["queryId"].as_str().expect("an id"));
    let found = until(&library.admin, &path, |query| query["status"] == "SUCCESS").await;
    assert_eq!(found["content"][0]["users.username"], "reader");
    assert_eq!(found["content"][0]["groups.group"], group["group"]);

    let list = json!({"name": "Readers", "entityTypeId": id, "fqlQuery": fql(condition), "isActive": true,
        "isPrivate": false});
    let list = library.post("/lists", &list).await.expect(201);
    let list = super::refreshed(&library.admin, list["id"].as_str().expect("an id")).await;
    assert_eq!(list["successRefresh"]["recordsCount"], 1);
    assert_eq!(library.get("/lists?size=100&search=Readers").await.expect(200)["totalRecords"], 1);
    let used = library.delete(&format!("/entity-types/custom/{id}")).await.expect(409);
    assert_eq!(used["code"], "entity.type.in.use");
}

#[tokio::test]
async fn a_type_that_is_not_shared_is_its_owners() {
    let library = TestServer::start().await;
    let id = Uuid::new_v4();
    let own = with(users_and_groups(id), "/shared", json!(false));
    library.post("/entity-types/custom", &own).await.expect(201);
    let staff = library
        .staff_with(&[
            "fqm.entityTypes.collection.get",
            "fqm.entityTypes.custom.item.get",
            "fqm.entityTypes.item.get",
            "users.collection.get",
            "users.item.get",
            "usergroups.collection.get",
        ])
        .await;
    let refused = staff.get(&format!("/entity-types/custom/{id}")).await.expect(403);
    assert_eq!(refused["code"], "entity.type.access.denied");
    staff.get(&format!("/entity-types/{id}")).await.expect(403);
    assert_eq!(staff.get(&format!("/entity-types?ids={id}")).await.expect(200)["entityTypes"], json!([]));
    library.put(&format!("/entity-types/custom/{id}"), &users_and_groups(id)).await.expect(200);
    staff.get(&format!("/entity-types/{id}")).await.expect(200);
}

#[tokio::test]
async fn what_is_no_custom_type_is_refused() {
    let library = TestServer::start().await;
    let id = Uuid::new_v4();
    let definition = || users_and_groups(id);
    for (status, path, value) in [
        (400, "/id", Value::Null),
        (400, "/id", json!("1-1-1-1-1")),
        (400, "/name", Value::Null),
        (400, "/name", json!("")),
        (400, "/private", Value::Null),
        (400, "/shared", Value::Null),
        (404, "/isCustom", Value::Null),
        (404, "/isCustom", json!(false)),
        (400, "/crossTenantQueriesEnabled", json!(true)),
        (400, "/sources", json!([])),
        (400, "/sources/0/alias", json!("")),
        (400, "/sources/0/type", json!("database")),
        (400, "/sources/0/targetId", json!(Uuid::new_v4())),
        (400, "/sources/1/sourceField", json!("users.username")),
    ] {
        let refused = library.post("/entity-types/custom", &with(definition(), path, value.clone())).await;
        assert_eq!(refused.status, status, "{path}: {value}: {}", refused.text());
    }
    let mut foreign = definition();
    foreign["owner"] = json!(Uuid::new_v4());
    let refused = library.post("/entity-types/custom", &foreign).await.expect(400);
    assert!(refused["message"].as_str().unwrap_or_default().starts_with("owner ID mismatch"));
    foreign["owner"] = Value::Null;
    foreign["columns"] = json!(["a"]);
    library.post("/entity-types/custom", &foreign).await.expect(400);
    library.get(&format!("/entity-types/custom/{id}")).await.expect(404);
    library.get(&format!("/entity-types/custom/{SIMPLE_USERS}")).await.expect(404);
    let missing = library.put(&format!("/entity-types/custom/{id}"), &definition()).await.expect(404);
    assert_eq!(missing["code"], "entity.type.not.found");
    library.put("/entity-types/custom/no-uuid", &definition()).await.expect(400);
}

#[tokio::test]
async fn joins_are_offered_step_by_step() {
    let library = TestServer::start().await;
    let path = "/entity-types/custom/available-joins";
    let all = library.post(path, &json!({})).await.expect(200);
    let values = |found: &Value| -> Vec<String> {
        let targets = found["availableTargetIds"].as_array().expect("targets").iter();
        targets.filter_map(|target| target["value"].as_str().map(str::to_owned)).collect()
    };
    assert!(values(&all).contains(&SIMPLE_USERS.to_owned()));
    let mut body = json!({"sources": [users_and_groups(Uuid::nil())["sources"][0]]});
    let joinable = library.post(path, &body).await.expect(200);
    assert!(joinable["availableJoinConditions"].is_null());
    let found = values(&joinable);
    assert!(found.contains(&GROUPS.to_owned()) && found.contains(&LOANS.to_owned()));
    assert!(found.len() < values(&all).len());
    body["targetId"] = json!(GROUPS);
    let conditions = library.post(path, &body).await.expect(200);
    assert!(conditions["availableTargetIds"].is_null());
    let conditions = conditions["availableJoinConditions"].as_array().expect("conditions");
    assert_eq!(conditions.len(), 1);
    assert_eq!(conditions[0]["sourceField"]["value"], "users.group_id");
    assert_eq!(conditions[0]["targetField"]["value"], "id");
}
