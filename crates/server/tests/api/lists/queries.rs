use super::{ITEMS, USERS, fql, library_with_items, until};
use carrel_testkit::{Client, LendingServer, TestServer};
use serde_json::{Value, json};
use uuid::Uuid;

async fn found(client: &Client, condition: Value) -> Vec<String> {
    let query = fql(condition);
    let path = format!("/query?entityTypeId={ITEMS}&fields=items.barcode&query={query}");
    let answer = client.get(&path).await.expect(200);
    let rows = answer["content"].as_array().expect("an array").iter();
    let mut barcodes: Vec<String> =
        rows.filter_map(|row| row["items.barcode"].as_str().map(str::to_owned)).collect();
    barcodes.sort();
    barcodes
}

#[tokio::test]
async fn the_status_of_items_is_compared_as_it_is_now() {
    let (lending, items) = library_with_items(3).await;
    let patron = lending.patron().await;
    lending.check_out(&items[1], &patron).await.expect(201);
    let not_available = json!({"items.status_name": {"$ne": "Available"}});
    assert_eq!(found(lending.admin(), not_available).await, [items[1].barcode.clone()]);
    let checked_out = json!({"items.status_name": {"$in": ["checked OUT"]}});
    assert_eq!(found(lending.admin(), checked_out).await, [items[1].barcode.clone()]);
    let both = json!({"$and": [{"items.status_name": {"$eq": "Available"}},
        {"items.barcode": {"$starts_with": items[0].barcode}}]});
    assert_eq!(found(lending.admin(), both).await, [items[0].barcode.clone()]);
}

#[tokio::test]
async fn only_negated_operators_find_records_without_a_value() {
    let (lending, items) = library_with_items(2).await;
    let path = format!("/item-storage/items/{}", items[0].id);
    let mut item = lending.admin().get(&path).await.expect(200);
    item["copyNumber"] = "Cöpy 1".into();
    item["notes"] = json!([{"note": "torn", "staffOnly": true}]);
    item["formerIds"] = json!(["A1", "B2"]);
    lending.admin().put(&path, &item).await.expect_status(204);
    let (with, without) = (items[0].barcode.clone(), items[1].barcode.clone());
    for (condition, barcodes) in [
        (json!({"items.copy_number": {"$eq": "cÖpy 1"}}), vec![&with]),
        (json!({"items.copy_number": {"$ne": "cöpy 1"}}), vec![&without]),
        (json!({"items.copy_number": {"$nin": ["x"]}}), vec![&with, &without]),
        (json!({"items.copy_number": {"$empty": true}}), vec![&without]),
        (json!({"items.copy_number": {"$contains": "py"}}), vec![&with]),
        (json!({"items.copy_number": {"$contains": "p%"}}), vec![]),
        (json!({"items.notes[*]->note": {"$eq": "Torn"}}), vec![&with]),
        (json!({"items.notes[*]->note": {"$ne": "torn"}}), vec![&without]),
        (json!({"items.notes[*]->staff_only": {"$eq": true}}), vec![&with]),
        (
            json!({"$and": [{"items.former_ids": {"$eq": "a1"}}, {"items.former_ids": {"$eq": "b2"}}]}),
            vec![&with],
        ),
        (json!({"items.former_ids": {"$nin": ["a1"]}}), vec![&without]),
        (json!({"items.former_ids": {"$empty": true}}), vec![&without]),
        (json!({"items.discovery_suppress": {"$eq": "false"}}), vec![&with, &without]),
        (json!({"items.id": {"$eq": items[0].id}}), vec![&with]),
        (json!({"items.id": {"$eq": "no id"}}), vec![]),
        (json!({"items.created_date": {"$gt": "2020-01-01"}}), vec![&with, &without]),
        (json!({"items.created_date": {"$lt": "2020-01-01T10:00:00.000"}}), vec![]),
        (json!({"instances.title": {"$regex": "."}}), vec![&with, &without]),
    ] {
        let mut wanted: Vec<String> = barcodes.into_iter().cloned().collect();
        wanted.sort();
        assert_eq!(found(lending.admin(), condition.clone()).await, wanted, "{condition}");
    }
}

#[tokio::test]
async fn a_query_in_the_background_is_read_page_by_page() {
    let (lending, items) = library_with_items(5).await;
    let admin = lending.admin();
    let body = json!({"entityTypeId": ITEMS, "fqlQuery": fql(json!({"items.status_name": {"$eq": "Available"}})),
        "fields": ["items.barcode"]});
    let query = admin.post("/query", &body).await.expect(201)["queryId"].clone();
    let path = format!("/query/{}", query.as_str().expect("an id"));
    let ended = until(admin, &path, |query| query["status"] != "IN_PROGRESS").await;
    assert_eq!((&ended["status"], &ended["totalRecords"]), (&json!("SUCCESS"), &json!(5)));
    assert_eq!(ended["content"], json!([]));
    let page = admin.get(&format!("{path}?includeResults=true&offset=3&limit=10")).await.expect(200);
    assert_eq!(page["content"].as_array().map(Vec::len), Some(2));
    let ids = admin.get(&format!("{path}/sortedIds")).await.expect(200);
    let mut wanted: Vec<String> = items.iter().map(|item| item.id.to_string()).collect();
    wanted.sort();
    let sorted: Vec<&str> =
        ids.as_array().expect("an array").iter().filter_map(|id| id[0].as_str()).collect();
    assert_eq!(sorted, wanted);
    let statuses = admin.get("/fqm/status").await.expect(200);
    assert_eq!(statuses[0]["status"], "SUCCESS");
    admin.delete(&path).await.expect_status(204);
    assert_eq!(admin.get(&path).await.expect(404)["code"], "entity.type.not.found");
}

#[tokio::test]
async fn a_query_finds_at_most_the_configured_number_of_records() {
    let (lending, _) = library_with_items(3).await;
    let body = json!({"entityTypeId": ITEMS, "fqlQuery": fql(json!({})), "maxSize": 2});
    let query = lending.admin().post("/query", &body).await.expect(201)["queryId"].clone();
    let path = format!("/query/{}", query.as_str().expect("an id"));
    let ended = until(lending.admin(), &path, |query| query["status"] != "IN_PROGRESS").await;
    assert_eq!(ended["status"], "MAX_SIZE_EXCEEDED");
}

#[tokio::test]
async fn contents_keep_the_order_of_identifiers_and_mark_deleted_records() {
    let (lending, items) = library_with_items(2).await;
    let gone = Uuid::new_v4();
    let body = json!({"entityTypeId": ITEMS, "fields": ["items.barcode", "items.status_name", "holdings.id"],
        "ids": [[items[1].id], [gone], [items[0].id]]});
    let rows = lending.admin().post("/query/contents", &body).await.expect(200);
    assert_eq!(rows[0]["items.barcode"], items[1].barcode.as_str());
    assert_eq!(rows[1], json!({"_deleted": true, "items.id": gone}));
    assert_eq!(rows[2]["items.status_name"], "Available");
    assert_eq!(rows[2]["holdings.id"], items[0].holdings.to_string());
    let refused = lending.admin().post("/query/contents/privileged", &body).await.expect(400);
    assert!(refused["message"].to_string().contains("userId"));
}

#[tokio::test]
async fn an_invalid_query_is_refused_with_the_field() {
    let library = TestServer::start().await;
    for (condition, field, message) in [
        (
            json!({"users.nope": {"$eq": 1}}),
            "users.nope",
            "Field users.nope is not present in definition of entity type composite_user_details",
        ),
        (
            json!({"users.active": {"$like": 1}}),
            "users.active",
            "Condition {\"$like\":1} contains an invalid operator",
        ),
        (json!({"users.enrollment_date": {"$gt": "soon"}}), "users.enrollment_date", "'soon' is not a date"),
    ] {
        let body = json!({"entityTypeId": USERS, "fqlQuery": fql(condition)});
        let refused = library.post("/query", &body).await.expect(400);
        assert_eq!(refused["code"], "query.invalid");
        assert_eq!(refused["parameters"][0]["key"], field);
        assert!(
            refused["parameters"][0]["value"].as_str().expect("a text").starts_with(message),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn every_query_is_answered_or_refused() {
    let library = TestServer::start().await;
    for text in [
        "",
        "{",
        "[]",
        "null",
        "{\"users.username\":{\"$eq\":\"'; DROP TABLE users; --\"}}",
        "{\"users.username' OR 1=1 --\":{\"$eq\":\"a\"}}",
        "{\"users.username\":{\"$regex\":\"(\"}}",
        "{\"users.username\":{\"$regex\":\"((a*)*)*b\"}}",
        "{\"users.username\":{\"$eq\":\"\\u0000\"}}",
        "{\"users.username\":{\"$in\":[]}}",
        "{\"users.username\":{\"$nin\":[]}}",
        "{\"$and\":[]}",
        "{\"users.addresses[*]->city[*]->x\":{\"$eq\":1}}",
        "{\"users.addresses\":{\"$eq\":\"a\"}}",
        "{\"users.username\":{\"$starts_with\":\"\\\\\"}}",
        "{\"users.enrollment_date\":{\"$eq\":\"9999-12-31\"}}",
        "{\"users.enrollment_date\":{\"$eq\":\"-999999-01-01\"}}",
    ] {
        let body = json!({"entityTypeId": USERS, "fqlQuery": text});
        let status = library.post("/query", &body).await.status;
        assert!(matches!(status, 201 | 400), "{text}: {status}");
        let path =
            format!("/query?entityTypeId={USERS}&query={}", text.replace('%', "%25").replace('\\', "%5C"));
        let status = library.get(&path).await.status;
        assert!(matches!(status, 200 | 400), "{text}: {status}");
    }
    assert_eq!(library.get("/users?limit=0").await.status, 200);
}

#[tokio::test]
async fn an_older_query_is_migrated_to_the_current_version() {
    let library = TestServer::start().await;
    assert_eq!(library.get("/fqm/version").await.text(), "24");
    let older =
        json!({"entityTypeId": USERS, "fqlQuery": "{\"users.username\":{\"$regex\":\"^a\"}}", "fields": []});
    let migrated = library.post("/fqm/migrate", &older).await.expect(200);
    assert_eq!(migrated["fqlQuery"], "{\"users.username\":{\"$starts_with\":\"a\"},\"_version\":\"24\"}");
    assert_eq!(migrated["warnings"], json!([]));
    // Nothing is lost, so that it runs as it is.
    library.post("/query", &older).await.expect(201);
    let lost = json!({"entityTypeId": USERS,
        "fqlQuery": "{\"_version\":\"3\",\"users.addresses[*]->address_id\":{\"$eq\":\"a\"}}"});
    let refused = library.post("/query", &lost).await.expect(400);
    assert_eq!(refused["code"], "migration.query.changed");
    assert!(refused["parameters"][0]["value"].as_str().unwrap_or_default().contains("REMOVED_FIELD"));
    let older = json!({"entityTypeId": "0069cf6f-2833-46db-8a51-8934769b8289",
        "fqlQuery": "{\"user_active\":{\"$eq\":\"true\"}}", "fields": "[\"user_active\"]"});
    let migrated = library.post("/fqm/migrate", &older).await.expect(200);
    assert_eq!(migrated["entityTypeId"], USERS);
    assert_eq!(migrated["fqlQuery"], "{\"users.active\":{\"$eq\":\"true\"},\"_version\":\"24\"}");
    assert_eq!(migrated["fields"], json!(["[\"user_active\"]"]));
    // Groups were compared by their ids.
    let group = library.get("/groups?limit=1").await.expect(200)["usergroups"][0].clone();
    let query = json!({"_version": "7", "groups.group": {"$in": [group["id"], Uuid::new_v4()]}}).to_string();
    let older = json!({"entityTypeId": USERS, "fqlQuery": query});
    let migrated = library.post("/fqm/migrate", &older).await.expect(200);
    let query: Value = serde_json::from_str(migrated["fqlQuery"].as_str().expect("a text")).expect("JSON");
    assert_eq!(query["groups.group"]["$in"], json!([group["group"]]));
    assert_eq!(migrated["warnings"][0]["type"], "VALUE_BREAKING");
    let harmless = json!({"entityTypeId": USERS, "fqlQuery": "{\"users.username\":{\"$eq\":\"a\"}}"});
    library.post("/query", &harmless).await.expect(201);
}

#[tokio::test]
async fn records_of_other_types_are_found_with_related_records() {
    let lending = LendingServer::open().await;
    let item = lending.item_on_loan().await;
    let loans = "d6729885-f2fb-4dc7-b7d0-a865a7f461e4";
    let query = fql(json!({"items.barcode": {"$eq": item.barcode}}));
    let fields = "loans.status_name,items.barcode,users.active,instance.title,lpolicy.name";
    let path = format!("/query?entityTypeId={loans}&fields={fields}&query={query}");
    let found = lending.admin().get(&path).await.expect(200);
    assert_eq!(found["totalRecords"], 1);
    let loan = &found["content"][0];
    assert_eq!((&loan["loans.status_name"], &loan["items.barcode"]), (&json!("Open"), &json!(item.barcode)));
    assert!(loan["lpolicy.name"].is_string() && loan["users.active"] == "true", "{loan}");
}
