//! Custom fields of the user record.

use carrel_testkit::TestServer;
use serde_json::{Value, json};
use uuid::Uuid;

async fn pets(server: &TestServer) -> Value {
    let field = json!({"name": "Pets", "type": "MULTI_SELECT_DROPDOWN", "entityType": "user", "selectField":
        {"multiSelect": true, "options": {"values": [{"value": "dog"}, {"value": "cat"}]}}});
    server.post("/custom-fields", &field).await.expect(201)
}

async fn owner(server: &TestServer) -> String {
    let id = Uuid::new_v4();
    let user =
        json!({"id": id, "personal": {"lastName": "Owner"}, "customFields": {"pets": ["opt_1", "opt_2"]}});
    server.post("/users", &user).await.expect(201);
    format!("/users/{id}")
}

#[tokio::test]
async fn a_value_outside_the_options_is_refused() {
    let server = TestServer::start().await;
    pets(&server).await;
    let user = json!({"personal": {"lastName": "X"}, "customFields": {"pets": ["opt_9"], "car": "x"}});
    let refusals = server.post("/users", &user).await.refusals();
    assert!(refusals[0].starts_with("Field pets can only have following values"), "{refusals:?}");
    assert_eq!(refusals[1], "Custom field with refId car is not found");
}

#[tokio::test]
async fn a_field_with_a_taken_name_gets_a_number() {
    let server = TestServer::start().await;
    assert_eq!(pets(&server).await["refId"], "pets");
    let second = pets(&server).await;
    assert_eq!((&second["refId"], &second["order"]), (&json!("pets_2"), &json!(2)));
}

#[tokio::test]
async fn deleting_an_option_or_a_field_deletes_its_values() {
    let server = TestServer::start().await;
    let mut field = pets(&server).await;
    let owner = owner(&server).await;
    let path = format!("/custom-fields/{}", field["id"].as_str().expect("an id"));
    assert_eq!(server.get(&format!("{path}/options/opt_1/stats")).await.expect(200)["count"], 1);
    field["selectField"]["options"]["values"].as_array_mut().expect("options").remove(0);
    server.put(&path, &field).await.expect(204);
    assert_eq!(server.get(&owner).await.expect(200)["customFields"], json!({"pets": ["opt_2"]}));
    server.delete(&path).await.expect(204);
    assert_eq!(server.get(&owner).await.expect(200)["customFields"], json!({}));
}
