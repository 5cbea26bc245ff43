//! Clients that write storage directly.

use carrel_platform::jobs::{self, Pace, Runner};
use carrel_testkit::queues::{placed, positions};
use carrel_testkit::{LendingServer, TestItem};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

const PATH: &str = "/request-storage/requests";

async fn stored(server: &LendingServer, test_item: &TestItem, position: i64) -> Value {
    let patron = server.patron().await;
    json!({"id": Uuid::new_v4(), "requestLevel": "Item", "requestType": "Hold", "requestDate": "2026-05-01T10:00:00Z",
        "requesterId": patron.id, "instanceId": test_item.instance, "holdingsRecordId": test_item.holdings, "itemId": test_item.id,
        "status": "Open - Not yet filled", "fulfillmentPreference": "Hold Shelf",
        "pickupServicePointId": server.main_desk.0, "position": position})
}

#[tokio::test]
async fn two_requests_of_a_queue_cannot_have_one_position() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    server.create(PATH, &stored(&server, &test_item, 1).await).await;
    let refused = server.admin().post(PATH, &stored(&server, &test_item, 1).await).await;
    assert_eq!(refused.refusals(), ["Cannot have more than one request with the same position in the queue"]);
    let other = server.item().await;
    server.create(PATH, &stored(&server, &other, 1).await).await;
}

#[tokio::test]
async fn a_closed_request_does_not_occupy_its_position() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let mut first = stored(&server, &test_item, 1).await;
    server.create(PATH, &first).await;
    first["status"] = "Closed - Filled".into();
    let path = format!("{PATH}/{}", first["id"].as_str().expect("an id"));
    server.admin().put(&path, &first).await.expect(204);
    server.create(PATH, &stored(&server, &test_item, 1).await).await;
}

#[tokio::test]
async fn a_batch_exchanges_positions() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let (mut one, mut two) = (stored(&server, &test_item, 1).await, stored(&server, &test_item, 2).await);
    for request in [&one, &two] {
        server.create(PATH, request).await;
    }
    one["position"] = 2.into();
    two["position"] = 1.into();
    let batch = json!({"requests": [one, two]});
    server.admin().post("/request-storage-batch/requests", &batch).await.expect_status(201);
    let queue = server.queue_of(&test_item).await;
    assert_eq!((positions(&queue), &queue[0]["id"]), (vec![1, 2], &two["id"]));
    two["position"] = 2.into();
    let batch = json!({"requests": [two]});
    let refused = server.admin().post("/request-storage-batch/requests", &batch).await;
    assert_eq!(refused.refusals(), ["Cannot have more than one request with the same position in the queue"]);
}

#[tokio::test]
async fn an_item_without_holdings_record_is_refused() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let mut request = stored(&server, &test_item, 1).await;
    let object = request.as_object_mut().expect("an object");
    object.remove("holdingsRecordId");
    let refused = server.admin().post(PATH, &request).await;
    assert_eq!(refused.refusals(), ["Holdings record ID in item level request should not be absent"]);
    request["requestLevel"] = "Title".into();
    let refused = server.admin().post(PATH, &request).await;
    assert_eq!(
        refused.refusals(),
        ["Title level request must have both itemId and holdingsRecordId or neither"]
    );
}

#[tokio::test]
async fn a_cancellation_needs_an_existing_reason() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let hold = {
        server.check_out(&test_item, &server.patron().await).await.expect(201);
        server.hold(&test_item, &server.patron().await).await
    };
    let mut request = server.stored_request(hold).await;
    request["status"] = "Closed - Cancelled".into();
    request["cancellationReasonId"] = Uuid::new_v4().to_string().into();
    let refused = server.admin().put(&format!("{PATH}/{hold}"), &request).await;
    assert_eq!(refused.refusals(), ["Cancellation reason does not exist"]);
    assert_eq!(refused.json()["errors"][0]["code"], "INVALID_CANCELLATION_REASON");
}

#[tokio::test]
async fn requests_are_found_by_their_snapshots() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let page = placed(&server.place_request(&test_item, &patron, "Page", server.main_desk).await);
    for query in [
        format!("itemId=={}", test_item.id),
        format!("instanceId=={}", test_item.instance),
        format!("requesterId=={}", patron.id),
        format!("pickupServicePointId=={}", server.main_desk.0),
        format!("item.barcode=={}", test_item.barcode),
        format!("requester.barcode=={}", patron.barcode),
        format!(
            "requester.barcode==x or item.barcode==\"{}*\" or instance.title=\"nothing*\"",
            test_item.barcode
        ),
        format!("requester.lastName==* and requester.barcode=={}", patron.barcode),
        "searchIndex.callNumberComponents.callNumber==\"PR*\"".to_owned(),
        "cql.allRecords=1 sortby item.barcode".to_owned(),
        "requestType==Page and status==\"Open - Not yet filled\"".to_owned(),
        "status=\"Open*\" and searchIndex.pickupServicePointName==\"Main desk\"".to_owned(),
        format!("item.itemEffectiveLocationId=={}", server.location),
        "item.retrievalServicePointName==\"Main desk\"".to_owned(),
        "fullCallNumberIndex=\"PR*\"".to_owned(),
        "instance.title=Book".to_owned(),
    ] {
        let found = server.admin().get(&format!("{PATH}?query={query}")).await.expect(200);
        assert_eq!(found["requests"][0]["id"], page.to_string(), "{query}");
    }
    let none = server.admin().get(&format!("{PATH}?query=requestType==Recall")).await.expect(200);
    assert_eq!(none["totalRecords"], 0);
}

async fn found(server: &LendingServer, query: &str) -> Vec<String> {
    let found = server.admin().get(&format!("{PATH}?query={query}")).await.expect(200);
    let requests = found["requests"].as_array().expect("a list");
    requests.iter().filter_map(|request| request["id"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn a_request_is_found_by_the_barcode_that_its_item_has_now() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let page = placed(&server.place_request(&test_item, &patron, "Page", server.main_desk).await);
    let path = format!("/item-storage/items/{}", test_item.id);
    let mut item = server.admin().get(&path).await.expect(200);
    item["barcode"] = "renewed-label".into();
    server.admin().put(&path, &item).await.expect(204);
    assert_eq!(found(&server, "item.barcode==renewed-label").await, [page.to_string()]);
}

#[tokio::test]
async fn a_request_of_a_storage_client_is_found_by_its_own_copies() {
    let server = LendingServer::open().await;
    let mut request = stored(&server, &server.item().await, 1).await;
    request["item"] = json!({"barcode": "label of theirs"});
    request["instance"] = json!({"title": "Unheard-of",
        "identifiers": [{"identifierTypeId": "8261054f-be78-422d-bd51-4ed9f33c3422", "value": "978-0306406157"}]});
    request["requester"] = json!({"lastName": "Stranger", "barcode": "card of theirs"});
    request["proxy"] = json!({"lastName": "Envoy"});
    request["printDetails"] = json!({"isPrinted": true});
    server.create(PATH, &request).await;
    for query in [
        "item.barcode==\"label of theirs\"",
        "instance.title=unheard",
        "itemIsbn=9780306406157",
        "requester.lastName==stranger",
        "requester.barcode==\"card of*\"",
        "proxy.lastName==envoy",
        "printDetails.isPrinted==true",
    ] {
        assert_eq!(found(&server, query).await, [request["id"].as_str().expect("an id")], "{query}");
    }
}

#[tokio::test]
async fn a_closed_request_is_found_when_its_item_and_its_requester_are_deleted() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let page = placed(&server.place_request(&test_item, &patron, "Page", server.main_desk).await);
    let mut request = server.stored_request(page).await;
    request["status"] = "Closed - Cancelled".into();
    server.admin().put(&format!("/circulation/requests/{page}"), &request).await.expect(204);
    for path in [
        format!("/item-storage/items/{}", test_item.id),
        format!("/holdings-storage/holdings/{}", test_item.holdings),
        format!("/instance-storage/instances/{}", test_item.instance),
        format!("/users/{}", patron.id),
    ] {
        server.admin().delete(&path).await.expect_status(204);
    }
    for query in [
        format!("item.barcode=={}", test_item.barcode),
        format!("requester.barcode=={}", patron.barcode),
        "instance.title=Book".to_owned(),
    ] {
        assert_eq!(found(&server, &query).await, [page.to_string()], "{query}");
    }
}

#[tokio::test]
async fn a_page_stored_without_snapshots_is_on_the_pick_slips() {
    let server = LendingServer::open().await;
    let test_item = server.item().await;
    let mut page = stored(&server, &test_item, 1).await;
    page["requestType"] = "Page".into();
    let open_node = &server.server.node;
    let pace = Pace { poll: Duration::from_millis(100), ..Pace::default() };
    let node: Runner = jobs::start_with(open_node, open_node.jobs(), pace);
    // Stored while the jobs run, which get a hint; otherwise it waits for up to a minute.
    server.create(PATH, &page).await;
    let path = format!("/circulation/pick-slips/{}", server.main_desk.0);
    for _ in 0..1_600 {
        let slips = server.admin().get(&path).await.expect(200);
        if slips["totalRecords"] == 1 {
            node.stop().await;
            assert_eq!(slips["pickSlips"][0]["request"]["requestID"], page["id"]);
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the page never came to the slips");
}
