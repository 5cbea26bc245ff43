//! Enabling and disabling title-level requests: queues are renumbered.

use carrel_testkit::LendingServer;
use carrel_testkit::queues::{positions, waiting};
use serde_json::json;

const JOBS: &str = "/tlr-feature-toggle-job-storage/tlr-feature-toggle-jobs";

async fn toggle(server: &LendingServer) -> serde_json::Value {
    let job = server.create(JOBS, &json!({"status": "open"})).await;
    server.admin().post("/tlr-feature-toggle-job/start", &json!({})).await.expect(202);
    server.admin().get(&format!("{JOBS}/{}", job["id"].as_str().expect("an id"))).await.expect(200)
}

#[tokio::test]
async fn item_queues_are_merged_into_the_instances_queue_and_split_again() {
    let server = LendingServer::open().await;
    let one = server.item().await;
    let other = server.copy_of(&one).await;
    for item in [&one, &other] {
        server.check_out(item, &server.patron().await).await.expect(201);
        for _ in 0..2 {
            server.hold(item, &server.patron().await).await;
        }
    }
    server.enable_title_requests().await;
    let done = toggle(&server).await;
    assert_eq!((done["status"].as_str(), done["numberOfUpdatedRequests"].as_i64()), (Some("done"), Some(4)));
    let of_title = server.queue_of_title(&one).await;
    assert_eq!(positions(&of_title), [1, 2, 3, 4]);

    server.set_title_requests(false).await;
    assert_eq!(toggle(&server).await["status"], "done");
    for item in [&one, &other] {
        assert_eq!(positions(&server.queue_of(item).await), [1, 2]);
    }
}

#[tokio::test]
async fn requests_can_be_changed_between_setting_and_renumbering() {
    let server = LendingServer::open().await;
    server.enable_title_requests().await;
    let one = server.item().await;
    let other = server.copy_of(&one).await;
    let mut requests = Vec::new();
    for item in [&one, &other] {
        server.check_out(item, &server.patron().await).await.expect(201);
    }
    for item in [&one, &other, &one, &other] {
        requests.push(server.hold(item, &server.patron().await).await);
    }
    // The queue belonged to the instance, 1 to 4; now each item has a separate queue.
    server.set_title_requests(false).await;
    for item in [&one, &other] {
        server.hold(item, &server.patron().await).await;
    }
    server.cancel(requests[0]).await.expect(204);
    server.cancel(requests[1]).await.expect(204);
    for item in [&one, &other] {
        let queue = server.queue_of(item).await;
        assert_eq!(positions(&queue), [1, 2]);
        assert_eq!(waiting(&queue).len(), 2);
        server.check_in(item, server.main_desk).await.expect(200);
    }
    assert_eq!(server.request_status(requests[2]).await, "Open - Awaiting pickup");
    assert_eq!(server.request_status(requests[3]).await, "Open - Awaiting pickup");
}

#[tokio::test]
async fn without_an_open_record_nothing_is_done() {
    let server = LendingServer::open().await;
    server.admin().post("/tlr-feature-toggle-job/start", &json!({})).await.expect(202);
    assert_eq!(server.admin().get(JOBS).await.expect(200)["totalRecords"], 0);
}

#[tokio::test]
async fn a_record_of_another_status_than_four_is_refused() {
    let server = LendingServer::open().await;
    server.admin().post(JOBS, &json!({"status": "perhaps"})).await.expect(422);
}
