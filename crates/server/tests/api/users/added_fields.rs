//! Fields that the library adds to the user record.

use carrel_testkit::TestLibrary;
use serde_json::{Value, json};
use uuid::Uuid;

async fn pets(library: &TestLibrary) -> Value {
    let field = json!({"name": "Pets", "type": "MULTI_SELECT_DROPDOWN", "entityType": "user", "selectField":
        {"multiSelect": true, "options": {"values": [{"value": "dog"}, {"value": "cat"}]}}});
    library.post("/custom-fields", &field).await.expect(201)
}

async fn owner(library: &TestLibrary) -> String {
    let id = Uuid::new_v4();
    let user =
        json!({"id": id, "personal": {"lastName": "Owner"}, "customFields": {"pets": ["opt_1", "opt_2"]}});
    library.post("/users", &user).await.expect(201);
    format!("/users/{id}")
}

#[tokio::test]
async fn a_value_that_its_field_does_not_have_is_refused() {
    let library = TestLibrary::start().await;
    pets(&library).await;
    let user = json!({"personal": {"lastName": "X"}, "customFields": {"pets": ["opt_9"], "car": "x"}});
    let refusals = library.post("/users", &user).await.refusals();
    assert!(refusals[0].starts_with("Field pets can only have following values"), "{refusals:?}");
    assert_eq!(refusals[1], "Custom field with refId car is not found");
}

#[tokio::test]
async fn a_field_with_a_taken_name_gets_a_number() {
    let library = TestLibrary::start().await;
    assert_eq!(pets(&library).await["refId"], "pets");
    let second = pets(&library).await;
    assert_eq!((&second["refId"], &second["order"]), (&json!("pets_2"), &json!(2)));
}

#[tokio::test]
async fn an_option_that_goes_takes_its_values_along_and_so_does_a_field() {
    let library = TestLibrary::start().await;
    let mut field = pets(&library).await;
    let owner = owner(&library).await;
    let path = format!("/custom-fields/{}", field["id"].as_str().expect("an id"));
    assert_eq!(library.get(&format!("{path}/options/opt_1/stats")).await.expect(200)["count"], 1);
    field["selectField"]["options"]["values"].as_array_mut().expect("options").remove(0);
    library.put(&path, &field).await.expect(204);
    assert_eq!(library.get(&owner).await.expect(200)["customFields"], json!({"pets": ["opt_2"]}));
    library.delete(&path).await.expect(204);
    assert_eq!(library.get(&owner).await.expect(200)["customFields"], json!({}));
}
