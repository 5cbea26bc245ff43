//! Several copies asked for at once.

use carrel_platform::jobs::{self, Pace, Runner};
use carrel_testkit::{Book, LendingLibrary, Reply, TestPatron};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

/// A node that places batches.
fn at_work(library: &LendingLibrary) -> Runner {
    let placing: Vec<_> = library
        .library
        .library
        .jobs()
        .into_iter()
        .filter(|job| job.name == "patron-batch-requests")
        .collect();
    assert_eq!(placing.len(), 1, "the job is known by this name");
    let pace = Pace { lease: Duration::from_secs(5), look: Duration::from_millis(50), at_once: 1 };
    jobs::start_with(&library.library.library, placing, pace)
}

fn path(patron: &TestPatron, book: &Book) -> String {
    format!("/patron/account/{}/instance/{}/batch-request", patron.id, book.instance)
}

fn copies(library: &LendingLibrary, books: &[&Book]) -> Value {
    let requests: Vec<Value> = books
        .iter()
        .map(|book| json!({"itemId": book.id, "pickUpLocationId": library.main_desk.0}))
        .collect();
    json!({"requests": requests, "patronComments": "all volumes"})
}

async fn ask(library: &LendingLibrary, patron: &TestPatron, books: &[&Book]) -> Reply {
    library.admin().post(&path(patron, books[0]), &copies(library, books)).await
}

async fn status(library: &LendingLibrary, patron: &TestPatron, book: &Book, batch: &Value) -> Reply {
    let id = batch["batchId"].as_str().unwrap_or_default();
    library.admin().get(&format!("{}/{id}/status", path(patron, book))).await
}

async fn when_completed(library: &LendingLibrary, patron: &TestPatron, book: &Book, batch: &Value) -> Value {
    for _ in 0..400 {
        let standing = status(library, patron, book, batch).await.expect(200);
        if standing["status"] == "Completed" {
            return standing;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("waited ten seconds in vain for the batch to be placed")
}

#[tokio::test]
async fn a_batch_waits_and_is_placed_in_the_background() {
    let library = LendingLibrary::open().await;
    library.lets_readers_ask_for_titles().await;
    let (book, patron) = (library.book().await, library.patron().await);
    let (lent, lost) = (library.copy_of(&book).await, library.copy_of(&book).await);
    library.check_out(&lent, &library.patron().await).await.expect(201);
    let mut record = library.look_at(&lost).await;
    record["status"] = json!({"name": "Declared lost"});
    library.admin().put(&format!("/item-storage/items/{}", lost.id), &record).await.expect(204);

    // With title-level requests on, a second request of a title's copies stands beside the first.
    let batch = ask(&library, &patron, &[&book, &lent, &lost]).await.expect(200);

    assert_eq!(
        (&batch["requesterId"], &batch["mediatedRequestStatus"]),
        (&json!(patron.id), &json!("Pending"))
    );
    assert_eq!(
        batch["itemRequestsStats"],
        json!({"total": 3, "pending": 3, "inProgress": 0, "completed": 0, "failed": 0})
    );
    let standing = status(&library, &patron, &book, &batch).await.expect(200);
    assert_eq!((&standing["status"], &standing["itemsPending"]), (&json!("In progress"), &json!(3)));
    assert_eq!(library.status_of(&book).await, "Available", "nothing is placed yet");

    let node = at_work(&library);
    let standing = when_completed(&library, &patron, &book, &batch).await;
    node.stop().await;

    assert_eq!(
        [
            &standing["itemsTotal"],
            &standing["itemsRequested"],
            &standing["itemsFailed"],
            &standing["itemsPending"]
        ],
        [&json!(3), &json!(2), &json!(1), &json!(0)]
    );
    assert_eq!(library.status_of(&book).await, "Paged");
    let failed = &standing["itemsFailedDetails"][0];
    assert_eq!(failed["itemId"], json!(lost.id));
    assert_eq!(failed["errorDetails"], "Not allowed to create Request for the given service point id.");
    let placed = &standing["itemsRequestedDetails"][1];
    assert_eq!((&placed["itemId"], &placed["instanceId"]), (&json!(lent.id), &json!(book.instance)));
    assert!(placed["title"].is_string() && standing["completedAt"].is_string());
    let id = placed["confirmedRequestId"].as_str().unwrap_or_default();
    let request = library.admin().get(&format!("/request-storage/requests/{id}")).await.expect(200);
    assert_eq!((&request["requestType"], &request["requestLevel"]), (&json!("Hold"), &json!("Item")));
    let number = batch["batchId"].as_str().unwrap_or_default();
    assert_eq!(request["patronComments"], format!("all volumes\n\n\nBatch request ID: {number}"));
}

#[tokio::test]
async fn a_run_that_was_cut_off_places_nothing_twice() {
    let library = LendingLibrary::open().await;
    let (book, patron) = (library.book().await, library.patron().await);
    let batch = ask(&library, &patron, &[&book]).await.expect(200);
    let node = at_work(&library);
    let done = when_completed(&library, &patron, &book, &batch).await;
    // As if the node had died between placing the request and saying so.
    let database = library.library.database().await;
    database
        .batch_execute(
            "UPDATE patron_batch SET is_done = false; UPDATE patron_batch_line SET status = 'Pending'",
        )
        .await
        .expect("the batch can be set back");
    library.admin().post("/admin/jobs/patron-batch-requests/run", &json!({})).await.expect(202);

    let again = when_completed(&library, &patron, &book, &batch).await;
    node.stop().await;

    assert_eq!(again["itemsRequestedDetails"], done["itemsRequestedDetails"]);
    assert_eq!(library.account_of(&patron, "").await.expect(200)["totalHolds"], 1);
}

#[tokio::test]
async fn the_account_tells_which_batch_a_hold_came_from() {
    let library = LendingLibrary::open().await;
    let setting = json!({"id": Uuid::new_v4(), "scope": "mod-patron",
        "key": "isMultiItemRequestingFeatureEnabled", "value": {"enabled": true}});
    library.create("/patron/settings", &setting).await;
    let (book, patron) = (library.book().await, library.patron().await);
    let batch = ask(&library, &patron, &[&book]).await.expect(200);
    let node = at_work(&library);
    let standing = when_completed(&library, &patron, &book, &batch).await;
    node.stop().await;
    let account = library.account_of(&patron, "includeHolds=true&includeBatches=true").await.expect(200);
    assert_eq!(account["batches"], json!([standing]));
    assert_eq!(
        account["holds"][0]["batchRequestInfo"],
        json!({"batchRequestId": batch["batchId"], "batchRequestSubmittedAt": standing["submittedAt"]})
    );
    let without = library.account_of(&patron, "includeHolds=true").await.expect(200);
    assert_eq!((&without["batches"], without["holds"][0].get("batchRequestInfo")), (&json!([]), None));
}

#[tokio::test]
async fn a_batch_that_makes_no_sense_is_refused() {
    let library = LendingLibrary::open().await;
    let (book, patron, other) = (library.book().await, library.patron().await, library.patron().await);
    let twice = ask(&library, &patron, &[&book, &book]).await;
    assert_eq!(twice.expect(422)["errors"][0]["code"], "106");
    library.admin().post(&path(&patron, &book), &json!({})).await.expect(422);
    let limit = json!({"id": Uuid::new_v4(), "scope": "mod-requests-mediated.manage",
        "key": "multiItemBatchRequestItemsValidation", "value": {"maxAllowedItemsCount": 1}});
    library.library.admin.post("/settings/entries", &limit).await.expect(204);
    let copy = library.copy_of(&book).await;
    let many = ask(&library, &patron, &[&book, &copy]).await;
    assert_eq!(many.refusals(), ["The maximum number of items per batch request has been exceeded."]);

    let mut named = copies(&library, &[&book]);
    named["batchRequestId"] = Uuid::new_v4().to_string().into();
    let batch = library.admin().post(&path(&patron, &book), &named).await.expect(200);
    assert_eq!(batch["batchId"], named["batchRequestId"]);
    let again = library.admin().post(&path(&patron, &book), &named).await;
    assert_eq!(again.refusals(), ["Mediated batch request with the given 'id' already exists."]);
    let answer = status(&library, &other, &book, &batch).await;
    let words = format!(
        "Mediated Batch Request with ID [{}] was not found",
        batch["batchId"].as_str().unwrap_or_default()
    );
    assert_eq!((answer.status, answer.text()), (404, words));
}
