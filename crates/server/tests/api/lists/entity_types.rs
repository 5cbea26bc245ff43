use super::{ITEMS, USERS, fql};
use carrel_testkit::{LendingServer, TestServer};
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test]
async fn public_types_are_listed_by_label_with_the_version_of_the_language() {
    let library = TestServer::start().await;
    let found = library.get("/entity-types").await.expect(200);
    assert_eq!(found["_version"], "24");
    let labels: Vec<&str> = found["entityTypes"]
        .as_array()
        .expect("an array")
        .iter()
        .filter_map(|one| one["label"].as_str())
        .collect();
    assert!(labels.contains(&"Items") && labels.contains(&"Loans") && !labels.contains(&"Simple Users"));
    let mut sorted = labels.clone();
    sorted.sort_by_key(|label| label.to_lowercase());
    assert_eq!(labels, sorted);
    let all = library.get("/entity-types?includeAll=true").await.expect(200);
    assert!(all["entityTypes"].as_array().expect("an array").len() > labels.len());
}

#[tokio::test]
async fn a_type_needs_the_permissions_of_all_its_parts() {
    let library = TestServer::start().await;
    let staff = library
        .staff_with(&[
            "fqm.entityTypes.collection.get",
            "fqm.entityTypes.item.get",
            "inventory-storage.items.item.get",
        ])
        .await;
    let none = staff.get("/entity-types").await.expect(200);
    assert_eq!(none["entityTypes"], json!([]));
    let refused = staff.get(&format!("/entity-types/{ITEMS}")).await.expect(401);
    assert_eq!(refused["code"], "permissions.missing");
    let known = staff.get("/entity-types?includeInaccessible=true").await.expect(200);
    let items = known["entityTypes"].as_array().expect("an array").iter().find(|one| one["id"] == ITEMS);
    let missing = items.expect("items are there")["missingPermissions"].to_string();
    assert!(missing.contains("users.collection.get") && !missing.contains("items.item.get"), "{missing}");
}

#[tokio::test]
async fn hidden_fields_are_shown_on_request() {
    let library = TestServer::start().await;
    let names = |definition: &Value| -> Vec<String> {
        let columns = definition["columns"].as_array().expect("columns").iter();
        columns.filter_map(|column| column["name"].as_str().map(str::to_owned)).collect()
    };
    let shown = library.get(&format!("/entity-types/{ITEMS}")).await.expect(200);
    let whole = library.get(&format!("/entity-types/{ITEMS}?includeHidden=true")).await.expect(200);
    assert!(!names(&shown).contains(&"items.material_type_id".to_owned()));
    assert!(names(&whole).contains(&"items.material_type_id".to_owned()));
    let status =
        whole["columns"].as_array().expect("columns").iter().find(|c| c["name"] == "items.status_name");
    let status = status.expect("items have a status");
    assert_eq!(status["dataType"]["dataType"], "stringType");
    assert!(
        status["values"]
            .as_array()
            .expect("values")
            .contains(&json!({"value": "Missing", "label": "Missing"}))
    );
    let unknown = library.get(&format!("/entity-types/{}", Uuid::new_v4())).await.expect(404);
    assert_eq!(unknown["code"], "entity.type.not.found");
}

#[tokio::test]
async fn values_of_fields_come_from_declarations_and_from_records() {
    let lending = LendingServer::open().await;
    let values = |field: &str| format!("/entity-types/{ITEMS}/field-values?field={field}");
    let found = lending.admin().get(&values("items.status_name&search=lost")).await.expect(200);
    assert_eq!(found["content"][0]["label"], "Aged to lost");
    let found = lending.admin().get(&values("effective_location.name")).await.expect(200);
    assert_eq!(found["content"], json!([{"value": "Stacks", "label": "Stacks"}]));
    let found = lending.admin().get(&values("loclibrary.name")).await.expect(200);
    assert_eq!(found["content"][0]["label"], "Library");
    let found = lending.admin().get(&values("items.notes[*]->item_note_type")).await.expect(200);
    assert!(!found["content"].as_array().expect("an array").is_empty());
    let older = format!("/entity-types/{ITEMS}/columns/items.discovery_suppress/values");
    assert_eq!(lending.admin().get(&older).await.expect(200)["content"].as_array().map(Vec::len), Some(2));
    let unknown = lending.admin().get(&values("items.nope")).await.expect(404);
    assert_eq!(unknown["code"], "field.not.found");
}

#[tokio::test]
async fn custom_fields_of_users_are_fields() {
    let library = TestServer::start().await;
    let field = json!({"name": "Shoe size", "entityType": "user", "type": "TEXTBOX_SHORT", "visible": true,
        "required": false, "helpText": ""});
    let field = library.post("/custom-fields", &field).await.expect(201);
    let (id, key) = (field["id"].as_str().expect("an id"), field["refId"].as_str().expect("a key"));
    let user = json!({"id": Uuid::new_v4(), "username": "big", "personal": {"lastName": "Foot"},
        "customFields": {key: "48"}});
    library.post("/users", &user).await.expect(201);
    let query = fql(json!({ format!("users._custom_field_{id}"): {"$eq": "48"} }));
    let path = format!("/query?entityTypeId={USERS}&fields=users.username&query={query}");
    let found = library.get(&path).await.expect(200);
    assert_eq!(found["content"][0]["users.username"], "big");
}

/// Operators and a value of each, by type of field.
fn conditions(name: &str, data_type: &str) -> Vec<Value> {
    let mut all = vec![json!({"$empty": false}), json!({"$empty": true})];
    let (value, compares) = match data_type {
        "integerType" | "numberType" => (json!(5), true),
        "dateTimeType" => (json!("2024-01-01"), true),
        "dateType" => (json!("2024-01-01"), true),
        "rangedUUIDType" | "openUUIDType" => (json!("d0213d22-32cf-490f-9196-d81c3c66e53f"), false),
        "booleanType" => (json!("true"), false),
        _ => (json!("o'hara_%"), false),
    };
    for operator in ["$eq", "$ne"] {
        all.push(json!({operator: value}));
    }
    for operator in ["$in", "$nin"] {
        all.push(json!({operator: [value, value]}));
    }
    if compares {
        for operator in ["$gt", "$gte", "$lt", "$lte"] {
            all.push(json!({operator: value}));
        }
    } else {
        for operator in ["$contains", "$starts_with"] {
            all.push(json!({operator: "a"}));
        }
    }
    all.into_iter().map(|condition| json!({name: condition})).collect()
}

#[tokio::test]
async fn every_field_of_every_type_can_be_shown_and_compared() {
    let lending = LendingServer::open().await;
    lending.item_on_loan().await;
    let admin = lending.admin();
    let types = admin.get("/entity-types?includeAll=true").await.expect(200);
    for entity_type in types["entityTypes"].as_array().expect("an array") {
        let id = entity_type["id"].as_str().expect("an id");
        let definition = admin.get(&format!("/entity-types/{id}?includeHidden=true")).await.expect(200);
        let (mut names, mut compared) = (Vec::new(), Vec::new());
        for column in definition["columns"].as_array().expect("columns") {
            let name = column["name"].as_str().expect("a name");
            names.push(name.to_owned());
            let kind = &column["dataType"];
            let element = if kind["itemDataType"].is_null() { kind } else { &kind["itemDataType"] };
            compared.extend(conditions(name, element["dataType"].as_str().expect("a type")));
            for property in element["properties"].as_array().into_iter().flatten() {
                let name = format!("{name}[*]->{}", property["name"].as_str().expect("a name"));
                compared
                    .extend(conditions(&name, property["dataType"]["dataType"].as_str().expect("a type")));
            }
        }
        let path = format!("/query?entityTypeId={id}&fields={}&query={}", names.join(","), fql(json!({})));
        admin.get(&path).await.expect(200);
        for some in compared.chunks(60) {
            let query = fql(json!({ "$and": some }));
            admin.get(&format!("/query?entityTypeId={id}&query={query}")).await.expect(200);
        }
    }
}
