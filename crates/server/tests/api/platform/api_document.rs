//! Business routes answer as the API document describes.

use carrel_testkit::{ADMIN, LendingServer, PASSWORD, Reply, TENANT};
use serde_json::{Value, json};

/// The positions at which the value does not match the schema.
fn mismatches(value: &Value, schema: &Value, document: &Value, at: &str, found: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.trim_start_matches("#/components/schemas/");
        return mismatches(value, &document["components"]["schemas"][name], document, at, found);
    }
    if value.is_null() && schema["nullable"] == true {
        return;
    }
    let fits = match schema["type"].as_str() {
        None => true,
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some(other) => panic!("{at}: the schema has the type {other}"),
    };
    if !fits {
        return found.push(format!("{at}: {value} is no {}", schema["type"]));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(name).is_none() {
            found.push(format!("{at}: {name} is missing"));
        }
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(value) = value.get(name) {
            mismatches(value, inner, document, &format!("{at}.{name}"), found);
        }
    }
    for (index, element) in value.as_array().into_iter().flatten().enumerate() {
        mismatches(element, &schema["items"], document, &format!("{at}[{index}]"), found);
    }
}

/// Finds the operation by its name and compares the answer with the document.
#[track_caller]
fn answers_as_described(document: &Value, operation: &str, reply: &Reply) {
    let operations = document["paths"].as_object().expect("paths").values().filter_map(Value::as_object);
    let described = operations
        .flat_map(|operations| operations.values())
        .find(|described| described["operationId"] == operation)
        .unwrap_or_else(|| panic!("the document has no operation {operation}"));
    let status = reply.status.to_string();
    assert!(reply.status < 300, "{operation}: {status}: {}", reply.text());
    let answer = &described["responses"][&status];
    assert!(answer.is_object(), "{operation} answers {status}, which the document does not say");
    let schema = &answer["content"]["application/json"]["schema"];
    assert!(schema.is_object(), "{operation} has no schema for {status}");
    let mut found = Vec::new();
    mismatches(&reply.json(), schema, document, operation, &mut found);
    assert_eq!(found, [""; 0], "{}", reply.text());
}

#[tokio::test]
async fn business_routes_answer_as_the_document_describes() {
    let server = LendingServer::open().await;
    let document = server.admin().get("/openapi.json").await.expect(200);
    let described = |operation: &str, reply: &Reply| answers_as_described(&document, operation, reply);

    let stranger = server.server.stranger().with_header("x-okapi-tenant", TENANT);
    let credentials = json!({"username": ADMIN, "password": PASSWORD});
    for (operation, path) in [
        ("logIn", "/authn/login"),
        ("logInWithExpiry", "/authn/login-with-expiry"),
        ("logInAsUser", "/bl-users/login"),
        ("logInAsUserWithExpiry", "/bl-users/login-with-expiry"),
    ] {
        described(operation, &stranger.post(path, &credentials).await);
    }
    let admin = server.admin();
    described("findCurrentUser", &admin.get("/bl-users/_self").await);
    described("listCompositeUsers", &admin.get("/bl-users").await);
    described("listUsers", &admin.get("/users").await);

    let item = server.item().await;
    let patron = server.patron().await;
    let lent = server.check_out(&item, &patron).await;
    described("checkOutByBarcode", &lent);
    let loan = lent.json()["id"].as_str().expect("an id").to_owned();
    described("findLoan", &admin.get(&format!("/circulation/loans/{loan}")).await);
    described("listLoans", &admin.get("/circulation/loans").await);
    let renewal = json!({"itemBarcode": item.barcode, "userBarcode": patron.barcode});
    described("renewByBarcode", &admin.post("/circulation/renew-by-barcode", &renewal).await);

    let other = server.patron().await;
    let placed = server.place_request(&item, &other, "Hold", server.main_desk).await;
    described("createRequest", &placed);
    let request = placed.json()["id"].as_str().expect("an id").to_owned();
    described("findRequest", &admin.get(&format!("/circulation/requests/{request}")).await);
    described("listRequests", &admin.get("/circulation/requests").await);

    let check_in = json!({"itemBarcode": item.barcode, "servicePointId": server.main_desk.0,
        "checkInDate": jiff::Timestamp::now().to_string()});
    described("checkInByBarcode", &admin.post("/circulation/check-in-by-barcode", &check_in).await);
    described("listInventoryItems", &admin.get("/inventory/items").await);
    described("listInventoryInstances", &admin.get("/inventory/instances").await);
    described("checkHealth", &admin.get("/admin/health").await);
}

#[tokio::test]
async fn lists_rules_and_accounts_answer_as_the_document_describes() {
    let server = LendingServer::open().await;
    let document = server.admin().get("/openapi.json").await.expect(200);
    let described = |operation: &str, reply: &Reply| answers_as_described(&document, operation, reply);
    let admin = server.admin();

    described("findCirculationRules", &admin.get("/circulation/rules").await);
    let (item, patron) = (server.item().await, server.patron().await);
    for (operation, path) in [
        ("listAutomatedPatronBlocks", format!("/automated-patron-blocks/{}", patron.id)),
        ("findAccountOfPatron", format!("/patron/account/{}?includeLoans=true", patron.id)),
        ("listPickSlips", format!("/circulation/pick-slips/{}", server.main_desk.0)),
        ("listEntityTypes", "/entity-types".to_owned()),
        ("listLists", "/lists".to_owned()),
        ("findListsConfiguration", "/lists/configuration".to_owned()),
        ("listTags", "/tags".to_owned()),
    ] {
        described(operation, &admin.get(&path).await);
    }
    server.check_out(&item, &patron).await.expect(201);
    described(
        "findAccountOfPatron",
        &admin.get(&format!("/patron/account/{}?includeLoans=true", patron.id)).await,
    );
    let users = admin.get("/entity-types").await.expect(200);
    let users = users["entityTypes"].as_array().into_iter().flatten().find(|known| known["label"] == "Users");
    let users = users.and_then(|users| users["id"].as_str()).expect("users can be listed");
    described("findEntityType", &admin.get(&format!("/entity-types/{users}")).await);
    let list = json!({"name": "All", "entityTypeId": users, "fqlQuery": "{\"users.active\": {\"$eq\": true}}",
        "isActive": true, "isPrivate": false});
    let made = admin.post("/lists", &list).await;
    described("createList", &made);
    let id = made.json()["id"].as_str().expect("an id").to_owned();
    described("refreshList", &admin.post(&format!("/lists/{id}/refresh"), &json!({})).await);
    described("findList", &admin.get(&format!("/lists/{id}")).await);
    described("listVersionsOfList", &admin.get(&format!("/lists/{id}/versions")).await);
}
