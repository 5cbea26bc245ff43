//! A library begins to take requests for titles, or ceases to: its queues are numbered anew.

use carrel_testkit::LendingLibrary;
use carrel_testkit::queues::{positions, waiting};
use serde_json::json;

const JOBS: &str = "/tlr-feature-toggle-job-storage/tlr-feature-toggle-jobs";

async fn toggle(library: &LendingLibrary) -> serde_json::Value {
    let job = library.create(JOBS, &json!({"status": "open"})).await;
    library.admin().post("/tlr-feature-toggle-job/start", &json!({})).await.expect(202);
    library.admin().get(&format!("{JOBS}/{}", job["id"].as_str().expect("an id"))).await.expect(200)
}

#[tokio::test]
async fn queues_of_copies_become_one_of_the_title_and_back() {
    let library = LendingLibrary::open().await;
    let one = library.book().await;
    let other = library.copy_of(&one).await;
    for book in [&one, &other] {
        library.check_out(book, &library.patron().await).await.expect(201);
        for _ in 0..2 {
            library.hold(book, &library.patron().await).await;
        }
    }
    library.takes_title_requests().await;
    let done = toggle(&library).await;
    assert_eq!((done["status"].as_str(), done["numberOfUpdatedRequests"].as_i64()), (Some("done"), Some(4)));
    let of_title = library.queue_of_title(&one).await;
    assert_eq!(positions(&of_title), [1, 2, 3, 4]);

    library.title_requests(false).await;
    assert_eq!(toggle(&library).await["status"], "done");
    for book in [&one, &other] {
        assert_eq!(positions(&library.queue_of(book).await), [1, 2]);
    }
}

#[tokio::test]
async fn between_the_setting_and_the_renumbering_nothing_is_stuck() {
    let library = LendingLibrary::open().await;
    library.takes_title_requests().await;
    let one = library.book().await;
    let other = library.copy_of(&one).await;
    let mut requests = Vec::new();
    for book in [&one, &other] {
        library.check_out(book, &library.patron().await).await.expect(201);
    }
    for book in [&one, &other, &one, &other] {
        requests.push(library.hold(book, &library.patron().await).await);
    }
    // The queue was the title's, 1 to 4; now each copy has its own.
    library.title_requests(false).await;
    for book in [&one, &other] {
        library.hold(book, &library.patron().await).await;
    }
    library.cancel(requests[0]).await.expect(204);
    library.cancel(requests[1]).await.expect(204);
    for book in [&one, &other] {
        let queue = library.queue_of(book).await;
        assert_eq!(positions(&queue), [1, 2]);
        assert_eq!(waiting(&queue).len(), 2);
        library.check_in(book, library.main_desk).await.expect(200);
    }
    assert_eq!(library.request_status(requests[2]).await, "Open - Awaiting pickup");
    assert_eq!(library.request_status(requests[3]).await, "Open - Awaiting pickup");
}

#[tokio::test]
async fn without_an_open_record_nothing_is_done() {
    let library = LendingLibrary::open().await;
    library.admin().post("/tlr-feature-toggle-job/start", &json!({})).await.expect(202);
    assert_eq!(library.admin().get(JOBS).await.expect(200)["totalRecords"], 0);
}

#[tokio::test]
async fn a_record_of_another_status_than_four_is_refused() {
    let library = LendingLibrary::open().await;
    library.admin().post(JOBS, &json!({"status": "perhaps"})).await.expect(422);
}
