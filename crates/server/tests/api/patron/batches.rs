//! Several items requested at once.

use carrel_platform::jobs::{self, Pace, Runner};
use carrel_testkit::{LendingServer, Reply, TestItem, TestPatron};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

/// A node that places batches.
fn at_work(server: &LendingServer) -> Runner {
    let placing: Vec<_> =
        server.server.node.jobs().into_iter().filter(|job| job.name == "patron-batch-requests").collect();
    assert_eq!(placing.len(), 1, "the job is known by this name");
    let pace = Pace { lease: Duration::from_secs(5), poll: Duration::from_millis(50), at_once: 1 };
    jobs::start_with(&server.server.node, placing, pace)
}

fn path(patron: &TestPatron, test_item: &TestItem) -> String {
    format!("/patron/account/{}/instance/{}/batch-request", patron.id, test_item.instance)
}

fn copies(server: &LendingServer, test_items: &[&TestItem]) -> Value {
    let requests: Vec<Value> = test_items
        .iter()
        .map(|test_item| json!({"itemId": test_item.id, "pickUpLocationId": server.main_desk.0}))
        .collect();
    json!({"requests": requests, "patronComments": "all volumes"})
}

async fn request_items(server: &LendingServer, patron: &TestPatron, test_items: &[&TestItem]) -> Reply {
    server.admin().post(&path(patron, test_items[0]), &copies(server, test_items)).await
}

async fn status(server: &LendingServer, patron: &TestPatron, test_item: &TestItem, batch: &Value) -> Reply {
    let id = batch["batchId"].as_str().unwrap_or_default();
    server.admin().get(&format!("{}/{id}/status", path(patron, test_item))).await
}

async fn when_completed(
    server: &LendingServer,
    patron: &TestPatron,
    test_item: &TestItem,
    batch: &Value,
) -> Value {
    for _ in 0..400 {
        let progress = status(server, patron, test_item, batch).await.expect(200);
        if progress["status"] == "Completed" {
            return progress;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("waited ten seconds in vain for the batch to be placed")
}

#[tokio::test]
async fn a_batch_waits_and_is_placed_in_the_background() {
    let server = LendingServer::open().await;
    server.enable_title_requests_by_tlr_setting().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let (lent, lost) = (server.copy_of(&test_item).await, server.copy_of(&test_item).await);
    server.check_out(&lent, &server.patron().await).await.expect(201);
    let mut record = server.look_at(&lost).await;
    record["status"] = json!({"name": "Declared lost"});
    server.admin().put(&format!("/item-storage/items/{}", lost.id), &record).await.expect(204);

    // If title-level requests are enabled, a second request for items of the instance joins the first one's queue.
    let batch = request_items(&server, &patron, &[&test_item, &lent, &lost]).await.expect(200);

    assert_eq!(
        (&batch["requesterId"], &batch["mediatedRequestStatus"]),
        (&json!(patron.id), &json!("Pending"))
    );
    assert_eq!(
        batch["itemRequestsStats"],
        json!({"total": 3, "pending": 3, "inProgress": 0, "completed": 0, "failed": 0})
    );
    let progress = status(&server, &patron, &test_item, &batch).await.expect(200);
    assert_eq!((&progress["status"], &progress["itemsPending"]), (&json!("In progress"), &json!(3)));
    assert_eq!(server.status_of(&test_item).await, "Available", "nothing is placed yet");

    let node = at_work(&server);
    let progress = when_completed(&server, &patron, &test_item, &batch).await;
    node.stop().await;

    assert_eq!(
        [
            &progress["itemsTotal"],
            &progress["itemsRequested"],
            &progress["itemsFailed"],
            &progress["itemsPending"]
        ],
        [&json!(3), &json!(2), &json!(1), &json!(0)]
    );
    assert_eq!(server.status_of(&test_item).await, "Paged");
    let failed = &progress["itemsFailedDetails"][0];
    assert_eq!(failed["itemId"], json!(lost.id));
    assert_eq!(failed["errorDetails"], "Not allowed to create Request for the given service point id.");
    let placed = &progress["itemsRequestedDetails"][1];
    assert_eq!((&placed["itemId"], &placed["instanceId"]), (&json!(lent.id), &json!(test_item.instance)));
    assert!(placed["title"].is_string() && progress["completedAt"].is_string());
    let id = placed["confirmedRequestId"].as_str().unwrap_or_default();
    let request = server.admin().get(&format!("/request-storage/requests/{id}")).await.expect(200);
    assert_eq!((&request["requestType"], &request["requestLevel"]), (&json!("Hold"), &json!("Item")));
    let number = batch["batchId"].as_str().unwrap_or_default();
    assert_eq!(request["patronComments"], format!("all volumes\n\n\nBatch request ID: {number}"));
}

#[tokio::test]
async fn an_interrupted_run_places_no_request_twice() {
    let server = LendingServer::open().await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let batch = request_items(&server, &patron, &[&test_item]).await.expect(200);
    let node = at_work(&server);
    let done = when_completed(&server, &patron, &test_item, &batch).await;
    // As if the node had died after placing the request and before recording that.
    let database = server.server.database().await;
    database
        .batch_execute(
            "UPDATE patron_batch SET is_done = false; UPDATE patron_batch_line SET status = 'Pending'",
        )
        .await
        .expect("the batch can be set back");
    server.admin().post("/admin/jobs/patron-batch-requests/run", &json!({})).await.expect(202);

    let again = when_completed(&server, &patron, &test_item, &batch).await;
    node.stop().await;

    assert_eq!(again["itemsRequestedDetails"], done["itemsRequestedDetails"]);
    assert_eq!(server.account_of(&patron, "").await.expect(200)["totalHolds"], 1);
}

#[tokio::test]
async fn the_account_shows_the_batch_of_a_hold() {
    let server = LendingServer::open().await;
    let setting = json!({"id": Uuid::new_v4(), "scope": "mod-patron",
        "key": "isMultiItemRequestingFeatureEnabled", "value": {"enabled": true}});
    server.create("/patron/settings", &setting).await;
    let (test_item, patron) = (server.item().await, server.patron().await);
    let batch = request_items(&server, &patron, &[&test_item]).await.expect(200);
    let node = at_work(&server);
    let progress = when_completed(&server, &patron, &test_item, &batch).await;
    node.stop().await;
    let account = server.account_of(&patron, "includeHolds=true&includeBatches=true").await.expect(200);
    assert_eq!(account["batches"], json!([progress]));
    assert_eq!(
        account["holds"][0]["batchRequestInfo"],
        json!({"batchRequestId": batch["batchId"], "batchRequestSubmittedAt": progress["submittedAt"]})
    );
    let without = server.account_of(&patron, "includeHolds=true").await.expect(200);
    assert_eq!((&without["batches"], without["holds"][0].get("batchRequestInfo")), (&json!([]), None));
}

#[tokio::test]
async fn an_invalid_batch_is_refused() {
    let server = LendingServer::open().await;
    let (test_item, patron, other) = (server.item().await, server.patron().await, server.patron().await);
    let twice = request_items(&server, &patron, &[&test_item, &test_item]).await;
    assert_eq!(twice.expect(422)["errors"][0]["code"], "106");
    server.admin().post(&path(&patron, &test_item), &json!({})).await.expect(422);
    let limit = json!({"id": Uuid::new_v4(), "scope": "mod-requests-mediated.manage",
        "key": "multiItemBatchRequestItemsValidation", "value": {"maxAllowedItemsCount": 1}});
    server.server.admin.post("/settings/entries", &limit).await.expect(204);
    let copy = server.copy_of(&test_item).await;
    let many = request_items(&server, &patron, &[&test_item, &copy]).await;
    assert_eq!(many.refusals(), ["The maximum number of items per batch request has been exceeded."]);

    let mut named = copies(&server, &[&test_item]);
    named["batchRequestId"] = Uuid::new_v4().to_string().into();
    let batch = server.admin().post(&path(&patron, &test_item), &named).await.expect(200);
    assert_eq!(batch["batchId"], named["batchRequestId"]);
    let again = server.admin().post(&path(&patron, &test_item), &named).await;
    assert_eq!(again.refusals(), ["Mediated batch request with the given 'id' already exists."]);
    let answer = status(&server, &other, &test_item, &batch).await;
    let words = format!(
        "Mediated Batch Request with ID [{}] was not found",
        batch["batchId"].as_str().unwrap_or_default()
    );
    assert_eq!((answer.status, answer.text()), (404, words));
}
