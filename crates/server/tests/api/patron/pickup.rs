//! The service points that patrons may choose for pickup.

use carrel_testkit::LendingServer;
use serde_json::{Value, json};
use uuid::Uuid;

fn both_desks(server: &LendingServer) -> Value {
    json!([{"id": server.main_desk.0, "name": "Main desk", "discoveryName": "Main desk"},
        {"id": server.other_desk.0, "name": "Other desk", "discoveryName": "Other desk"}])
}

/// The service points that the test created.
fn desks(points: &Value) -> Value {
    let points = points.as_array().into_iter().flatten();
    points
        .filter(|point| point["name"].as_str().is_some_and(|name| name.ends_with(" desk")))
        .cloned()
        .collect()
}

#[tokio::test]
async fn pickup_service_points_are_those_that_the_policy_allows() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let account = format!("/patron/account/{}", patron.id);
    for what in [format!("item/{}", test_item.id), format!("instance/{}", test_item.instance)] {
        let path = format!("{account}/{what}/allowed-service-points");
        let points = server.admin().get(&path).await.expect(200);
        assert_eq!(desks(&points["allowedServicePoints"]), both_desks(&server), "{what}");
    }
    let policy = format!("/request-policy-storage/request-policies/{}", server.request_policy);
    let mut record = server.admin().get(&policy).await.expect(200);
    record["allowedServicePoints"] = json!({"Page": [server.other_desk.0]});
    server.admin().put(&policy, &record).await.expect(204);
    let path = format!("{account}/item/{}/allowed-service-points", test_item.id);
    let points = server.admin().get(&path).await.expect(200);
    assert_eq!(points["allowedServicePoints"], json!([both_desks(&server)[1]]));
}

#[tokio::test]
async fn pickup_service_points_of_many_items_are_read_at_once() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let copy = server.copy_of(&test_item).await;
    let mut lost = server.look_at(&copy).await;
    lost["status"] = json!({"name": "Declared lost"});
    server.admin().put(&format!("/item-storage/items/{}", copy.id), &lost).await.expect(204);
    let path = format!(
        "/patron/account/{}/instance/{}/allowed-service-points-multi-item",
        patron.id, test_item.instance
    );
    let points = server.admin().post(&path, &json!({"itemIds": [copy.id, test_item.id]})).await.expect(200);
    let each = &points["allowedServicePointsPerItem"];
    assert_eq!(each[0], json!({"itemId": copy.id, "allowedServicePoints": []}));
    assert_eq!(each[1]["itemId"], json!(test_item.id));
    assert_eq!(desks(&each[1]["allowedServicePoints"]), both_desks(&server));
    server.admin().post(&path, &json!({})).await.expect(422);
}

#[tokio::test]
async fn missing_items_instances_and_users_are_refused() {
    let server = LendingServer::open().await;
    let (test_item, patron, nothing) = (server.item().await, server.patron().await, Uuid::new_v4());
    for (account, what, words) in [
        (patron.id, format!("item/{nothing}"), format!("Item with id={nothing} cannot be found")),
        (patron.id, format!("instance/{nothing}"), format!("Instance with ID {nothing} was not found")),
        (nothing, format!("item/{}", test_item.id), format!("User with ID {nothing} was not found")),
    ] {
        let path = format!("/patron/account/{account}/{what}/allowed-service-points");
        let answer = server.admin().get(&path).await;
        answer.expect(422);
        assert_eq!(answer.refusals(), [words]);
    }
}
