//! Snapshots of related records in requests are updated.

use carrel_platform::jobs::{self, Pace, Runner};
use carrel_testkit::{LendingServer, TestItem, TestPatron, alter};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

struct PlacedHold {
    server: LendingServer,
    test_item: TestItem,
    patron: TestPatron,
    hold: Uuid,
    node: Runner,
}

/// A hold, and a node that runs background jobs.
async fn placed_hold() -> PlacedHold {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item_on_loan().await, server.patron().await);
    let hold = server.hold(&test_item, &patron).await;
    let open_node = &server.server.node;
    let pace = Pace { poll: Duration::from_millis(100), ..Pace::default() };
    let node = jobs::start_with(open_node, open_node.jobs(), pace);
    PlacedHold { server, test_item, patron, hold, node }
}

impl PlacedHold {
    /// Changes a record.
    async fn changes(&self, path: &str, differs: Value) {
        let mut record = self.server.admin().get(path).await.expect(200);
        alter(&mut record, &differs);
        self.server.admin().put(path, &record).await.expect(204);
    }

    /// Waits until the stored request has the expected value.
    async fn wait_until_stored(self, pointer: &str, expected: &str) {
        for _ in 0..200 {
            let request = self.server.stored_request(self.hold).await;
            if request.pointer(pointer).and_then(Value::as_str) == Some(expected) {
                self.node.stop().await;
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let request = self.server.stored_request(self.hold).await;
        panic!("{pointer} never came to be {expected}: {request:#}");
    }
}

#[tokio::test]
async fn a_new_barcode_of_the_item() {
    let placed = placed_hold().await;
    let path = format!("/item-storage/items/{}", placed.test_item.id);
    placed.changes(&path, json!({"barcode": "renewed-label"})).await;
    placed.wait_until_stored("/item/barcode", "renewed-label").await;
}

#[tokio::test]
async fn a_new_call_number_of_the_holdings() {
    let placed = placed_hold().await;
    let path = format!("/holdings-storage/holdings/{}", placed.test_item.holdings);
    placed.changes(&path, json!({"callNumber": "QA 76.9"})).await;
    placed.wait_until_stored("/searchIndex/callNumberComponents/callNumber", "QA 76.9").await;
}

#[tokio::test]
async fn a_corrected_title() {
    let placed = placed_hold().await;
    let path = format!("/instance-storage/instances/{}", placed.test_item.instance);
    placed.changes(&path, json!({"title": "Corrected"})).await;
    placed.wait_until_stored("/instance/title", "Corrected").await;
}

#[tokio::test]
async fn a_changed_name_of_the_patron() {
    let placed = placed_hold().await;
    let path = format!("/users/{}", placed.patron.id);
    placed
        .changes(&path, json!({"personal": {"lastName": "Married", "preferredContactTypeId": "002"}}))
        .await;
    placed.wait_until_stored("/requester/lastName", "Married").await;
}

#[tokio::test]
async fn a_renamed_location() {
    let placed = placed_hold().await;
    let path = format!("/locations/{}", placed.server.location);
    placed.changes(&path, json!({"name": "Annex"})).await;
    placed.wait_until_stored("/item/itemEffectiveLocationName", "Annex").await;
}

#[tokio::test]
async fn a_renamed_pickup_service_point() {
    let placed = placed_hold().await;
    let path = format!("/service-points/{}", placed.server.main_desk.0);
    placed.changes(&path, json!({"name": "Front desk"})).await;
    placed.wait_until_stored("/searchIndex/pickupServicePointName", "Front desk").await;
}

#[tokio::test]
async fn a_closed_pickup_service_point_is_removed_from_policies() {
    let placed = placed_hold().await;
    let server = &placed.server;
    let path = format!("/request-policy-storage/request-policies/{}", server.request_policy);
    let points = [server.main_desk.0, server.other_desk.0];
    let policy = json!({"id": server.request_policy, "name": "Two desks", "requestTypes": ["Hold", "Page"],
        "allowedServicePoints": {"Hold": points, "Page": [server.other_desk.0]}});
    server.admin().put(&path, &policy).await.expect(204);
    let point = format!("/service-points/{}", server.other_desk.0);
    let mut record = server.admin().get(&point).await.expect(200);
    record["pickupLocation"] = false.into();
    record.as_object_mut().expect("an object").remove("holdShelfExpiryPeriod");
    server.admin().put(&point, &record).await.expect(204);
    let expected = json!({"Hold": [server.main_desk.0]});
    for _ in 0..200 {
        let policy = server.admin().get(&path).await.expect(200);
        if policy["allowedServicePoints"] == expected {
            assert_eq!(policy["requestTypes"], json!(["Hold"]));
            placed.node.stop().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the policy still allows the closed desk");
}

#[tokio::test]
async fn a_deleted_service_point_is_removed_from_policies() {
    let placed = placed_hold().await;
    let server = &placed.server;
    let path = format!("/request-policy-storage/request-policies/{}", server.request_policy);
    let kiosk = json!({"id": Uuid::new_v4(), "name": "Kiosk", "code": "kiosk", "discoveryDisplayName": "Kiosk",
        "pickupLocation": true, "holdShelfExpiryPeriod": {"duration": 3, "intervalId": "Weeks"}});
    server.create("/service-points", &kiosk).await;
    let policy = json!({"id": server.request_policy, "name": "A kiosk", "requestTypes": ["Hold", "Page"],
        "allowedServicePoints": {"Hold": [server.main_desk.0, kiosk["id"]], "Page": [kiosk["id"]]}});
    server.admin().put(&path, &policy).await.expect(204);
    let deleted = format!("/service-points/{}", kiosk["id"].as_str().expect("an id"));
    server.admin().delete(&deleted).await.expect_status(204);
    let expected = json!({"Hold": [server.main_desk.0]});
    let mut policy = Value::Null;
    for _ in 0..200 {
        policy = server.admin().get(&path).await.expect(200);
        if policy["allowedServicePoints"] == expected {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(policy["allowedServicePoints"], expected);
    assert_eq!(policy["requestTypes"], json!(["Hold"]));
    placed.node.stop().await;
}

#[tokio::test]
async fn an_answer_shows_one_state_right_after_a_rename_or_a_move() {
    let placed = placed_hold().await;
    // No job runs, so the stored snapshots stay outdated.
    placed.node.stop().await;
    let server = &placed.server;
    let alter_record = async |path: String, differs: Value| {
        let mut record = server.admin().get(&path).await.expect(200);
        alter(&mut record, &differs);
        server.admin().put(&path, &record).await.expect(204);
    };
    alter_record(format!("/locations/{}", server.location), json!({"name": "Annex"})).await;
    alter_record(format!("/service-points/{}", server.main_desk.0), json!({"name": "Front desk"})).await;
    let item = server.request(placed.hold).await["item"].clone();
    assert_eq!(
        (&item["location"]["name"], &item["itemEffectiveLocationName"]),
        (&json!("Annex"), &json!("Annex"))
    );
    assert_eq!(item["retrievalServicePointName"], "Front desk");

    let mut stacks = server.admin().get(&format!("/locations/{}", server.location)).await.expect(200);
    let id = Uuid::new_v4();
    alter(
        &mut stacks,
        &json!({"id": id, "name": "Stacks", "code": "stacks", "primaryServicePoint": server.other_desk.0,
            "servicePointIds": [server.other_desk.0]}),
    );
    stacks.as_object_mut().expect("an object").remove("metadata");
    server.create("/locations", &stacks).await;
    alter_record(format!("/item-storage/items/{}", placed.test_item.id), json!({"temporaryLocationId": id}))
        .await;
    let item = server.request(placed.hold).await["item"].clone();
    assert_eq!(item["location"]["name"], "Stacks");
    assert_eq!(
        (&item["itemEffectiveLocationId"], &item["itemEffectiveLocationName"]),
        (&json!(id), &json!("Stacks"))
    );
    assert_eq!(item["retrievalServicePointName"], "Other desk");
    let listed = server.admin().get("/circulation/requests").await.expect(200);
    assert_eq!(listed["requests"][0]["item"], item);
}

#[tokio::test]
async fn records_without_open_requests_are_not_marked() {
    let placed = placed_hold().await;
    placed.node.stop().await;
    let other = placed.server.item().await;
    let server = &placed.server;
    let path = format!("/item-storage/items/{}", other.id);
    let mut record = server.admin().get(&path).await.expect(200);
    record["barcode"] = "unwanted".into();
    server.admin().put(&path, &record).await.expect(204);
    // Nor are changes of properties that no request copies.
    let path = format!("/item-storage/items/{}", placed.test_item.id);
    let mut record = server.admin().get(&path).await.expect(200);
    record["accessionNumber"] = "2".into();
    server.admin().put(&path, &record).await.expect(204);
    let database = server.server.database().await;
    let row = database.query_one("SELECT count(*) FROM request_snapshot_due", &[]).await.expect("counted");
    assert_eq!(row.get::<_, i64>(0), 0);
}
