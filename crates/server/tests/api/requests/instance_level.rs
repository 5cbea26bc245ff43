//! Requests for any item of an instance whose items have separate queues.

use carrel_platform::ServerOptions;
use carrel_testkit::{LendingServer, Reply, TestItem, TestServer};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::HashSet;
use uuid::Uuid;

async fn server() -> LendingServer {
    let options = ServerOptions { counts_round_trips: true, ..ServerOptions::default() };
    LendingServer::on(TestServer::start_in(options).await).await
}

async fn copies(server: &LendingServer, number: usize) -> Vec<TestItem> {
    let first = server.item().await;
    let mut copies = vec![first.clone()];
    for _ in 1..number {
        copies.push(server.copy_of(&first).await);
    }
    copies
}

async fn places_instance_level_request(server: &LendingServer, test_item: &TestItem, patron: Uuid) -> Reply {
    let request_body = json!({"instanceId": test_item.instance, "requesterId": patron,
        "requestDate": jiff::Timestamp::now().to_string(), "pickupServicePointId": server.main_desk.0});
    server.admin().post("/circulation/requests/instances", &request_body).await
}

fn item_of(request: &Value) -> String {
    request["itemId"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn one_of_many_items_is_found_in_two_round_trips() {
    let server = server().await;
    let copies = copies(&server, 12).await;
    for copy in &copies[..11] {
        server.check_out(copy, &server.patron().await).await.expect(201);
    }
    // Fills the caches.
    places_instance_level_request(&server, &server.item().await, server.patron().await.id).await.expect(201);
    let reply = places_instance_level_request(&server, &copies[0], server.patron().await.id).await;
    let request = reply.expect(201);
    assert_eq!((item_of(&request), &request["requestType"]), (copies[11].id.to_string(), &json!("Page")));
    assert_eq!(reply.header("x-carrel-round-trips"), Some("2"), "facts and changes");
}

#[tokio::test]
async fn of_items_on_loan_the_one_with_the_shortest_queue_is_requested() {
    let server = server().await;
    let copies = copies(&server, 5).await;
    for copy in &copies {
        server.check_out(copy, &server.patron().await).await.expect(201);
    }
    for copy in &copies[..4] {
        server.place_request_of_type("Hold", copy, &server.patron().await).await.expect(201);
    }
    let request =
        places_instance_level_request(&server, &copies[0], server.patron().await.id).await.expect(201);
    assert_eq!((item_of(&request), &request["requestType"]), (copies[4].id.to_string(), &json!("Recall")));
}

#[tokio::test]
async fn items_that_cannot_be_requested_are_skipped() {
    let server = server().await;
    let copies = copies(&server, 6).await;
    for copy in &copies[..5] {
        let path = format!("/inventory/items/{}/mark-withdrawn", copy.id);
        server.admin().post(&path, &json!({})).await.expect_status(200);
    }
    server.check_out(&copies[5], &server.patron().await).await.expect(201);
    server.place_request_of_type("Hold", &copies[5], &server.patron().await).await.expect(201);
    let request =
        places_instance_level_request(&server, &copies[0], server.patron().await.id).await.expect(201);
    assert_eq!((item_of(&request), request["position"].as_i64()), (copies[5].id.to_string(), Some(2)));
}

#[tokio::test]
async fn without_a_requestable_item_each_refusal_is_reported_once() {
    let server = server().await;
    let copies = copies(&server, 5).await;
    for copy in &copies {
        let path = format!("/inventory/items/{}/mark-withdrawn", copy.id);
        server.admin().post(&path, &json!({})).await.expect_status(200);
    }
    let refused = places_instance_level_request(&server, &copies[0], server.patron().await.id).await;
    assert_eq!(
        refused.refusals(),
        ["Page", "Recall", "Hold"]
            .map(|kind| format!("{kind} requests are not allowed for this patron and item combination"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_instance_level_requests_get_different_items() {
    let server = server().await;
    let copies = copies(&server, 8).await;
    let readers = join_all((0..8).map(|_| server.patron())).await;
    // Meanwhile a desk checks out two of the items, and two patrons request one particular item.
    let (lent_to, insists) = (server.patron().await, server.patron().await);
    let desk = server.check_out(&copies[0], &lent_to);
    let page = server.place_request_of_type("Page", &copies[1], &insists);
    let requesting =
        join_all(readers.iter().map(|reader| places_instance_level_request(&server, &copies[0], reader.id)));
    let (placed, (lent, paged)) =
        futures_util::future::join(requesting, futures_util::future::join(desk, page)).await;
    let requests: Vec<Value> = placed.iter().map(|reply| reply.expect(201)).collect();
    let pages: Vec<&Value> = requests.iter().filter(|request| request["requestType"] == "Page").collect();
    let taken = usize::from(lent.status == 201) + usize::from(paged.status == 201);
    let mut promised: Vec<String> = pages.iter().map(|request| item_of(request)).collect();
    if paged.status == 201 {
        promised.push(copies[1].id.to_string());
    }
    let different: HashSet<&String> = promised.iter().collect();
    assert_eq!(different.len(), promised.len(), "no copy is promised twice");
    assert_eq!(pages.len(), 8 - taken, "every copy on the shelf is given to somebody");
    for copy in &promised {
        let item = server.admin().get(&format!("/item-storage/items/{copy}")).await.expect(200);
        assert_eq!(item["status"]["name"], "Paged");
    }
}

#[tokio::test]
async fn an_item_checked_out_between_choice_and_lock_is_replaced_by_another_one() {
    let server = server().await;
    let copies = copies(&server, 4).await;
    let reader = server.patron().await;
    // A desk has locked the first items; the request chooses one of them and waits.
    let database = server.server.database().await;
    database.batch_execute("BEGIN").await.expect("a transaction");
    let lend = "UPDATE item_state SET status = 'Checked out' WHERE item_id = $1";
    for copy in &copies[..3] {
        database.execute(lend, &[&copy.id]).await.expect("lent");
    }
    let requesting = places_instance_level_request(&server, &copies[0], reader.id);
    let lending = async {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        database.batch_execute("COMMIT").await.expect("committed");
    };
    let (placed, ()) = futures_util::future::join(requesting, lending).await;
    let request = placed.expect(201);
    assert_eq!((item_of(&request), &request["requestType"]), (copies[3].id.to_string(), &json!("Page")));
}
