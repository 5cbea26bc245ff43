//! Many concurrent requests for one instance.

use carrel_testkit::queues::{placed, positions, waiting};
use carrel_testkit::{LendingServer, TestPatron};
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

const COPIES: usize = 20;
/// Concurrent callers.
const AT_ONCE: usize = 24;

/// A thousand patrons; `CARREL_TEST_PATRONS` sets a smaller number for slow machines.
fn patrons() -> usize {
    std::env::var("CARREL_TEST_PATRONS").ok().and_then(|number| number.parse().ok()).unwrap_or(1_000)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_patrons_request_one_instance_at_once() {
    let server = LendingServer::open().await;
    server.enable_title_requests().await;
    let first = server.item().await;
    let mut copies = vec![first.clone()];
    for _ in 1..COPIES {
        copies.push(server.copy_of(&first).await);
    }
    // All items are on loan, and are returned while the thousand requests are placed.
    for copy in &copies {
        server.check_out(copy, &server.patron().await).await.expect(201);
    }
    let readers: Vec<TestPatron> =
        stream::iter(0..patrons()).map(|_| server.patron()).buffer_unordered(AT_ONCE).collect().await;

    let actor = async {
        let answers: Vec<Uuid> = stream::iter(&readers)
            .map(|reader| async {
                placed(&server.place_title_request(&first, reader, "Hold", server.main_desk).await)
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        answers
    };
    let coming_back = async {
        let mut given = Vec::new();
        for (number, copy) in copies.iter().enumerate() {
            // Spread over the time: an item is returned for every thirtieth request.
            let placed = || async { server.queue_length(&first).await };
            while placed().await < (number + 1) * readers.len() / 30 {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            let back = server.check_in(copy, server.main_desk).await.expect(200);
            assert_eq!(back["item"]["status"]["name"], "Awaiting pickup");
            given.push(copy.id);
        }
        given
    };
    let (answers, given) = futures_util::future::join(actor, coming_back).await;

    assert_eq!(answers.iter().collect::<HashSet<_>>().len(), readers.len());
    let queue = server.queue_of_title(&first).await;
    assert_eq!(positions(&queue), (1..=readers.len() as i64).collect::<Vec<_>>());
    let everybody: HashSet<Uuid> = readers.iter().map(|reader| reader.id).collect();
    assert_eq!(waiting(&queue).into_iter().collect::<HashSet<_>>(), everybody);
    let begun: Vec<&Value> =
        queue.iter().filter(|request| request["status"] == "Open - Awaiting pickup").collect();
    let mut of_copy: HashMap<String, usize> = HashMap::new();
    for request in &begun {
        *of_copy.entry(request["itemId"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    assert_eq!(begun.len(), COPIES, "each copy to one reader");
    assert!(given.iter().all(|copy| of_copy.get(&copy.to_string()) == Some(&1)), "{of_copy:?}");
    // Fulfilled requests come before waiting ones.
    assert!(queue[..COPIES].iter().all(|request| request["status"] == "Open - Awaiting pickup"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_check_ins_of_one_item_fulfill_one_request() {
    let server = LendingServer::open().await;
    let test_item = server.item_on_loan().await;
    for _ in 0..3 {
        server.hold(&test_item, &server.patron().await).await;
    }
    let desks = (0..6).map(|_| server.check_in(&test_item, server.main_desk));
    for reply in futures_util::future::join_all(desks).await {
        reply.expect(200);
    }
    let queue = server.queue_of(&test_item).await;
    let begun = queue.iter().filter(|request| request["status"] != "Open - Not yet filled").count();
    assert_eq!((begun, positions(&queue)), (1, vec![1, 2, 3]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_holds_than_connections_right_after_a_change_of_the_rules() {
    let server = LendingServer::open().await;
    let test_item = server.item_on_loan().await;
    let patrons: Vec<TestPatron> = stream::iter(0..40).map(|_| server.patron()).buffered(8).collect().await;
    server.hold(&test_item, &server.patron().await).await;
    // Every hold waits for the same queue lock, and then finds that its settings are outdated.
    server.lends_by(&format!("fallback-policy: {}", server.policies(server.loan_policy))).await;
    let holds =
        patrons.iter().map(|patron| server.place_request(&test_item, patron, "Hold", server.main_desk));
    let replies = futures_util::future::join_all(holds).await;
    let statuses: HashSet<u16> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses, HashSet::from([201]));
    assert_eq!(positions(&server.queue_of(&test_item).await).len(), 41);
}
