//! Slips that were printed.

use carrel_testkit::queues::placed;
use carrel_testkit::{LendingLibrary, Reply};
use serde_json::{Value, json};
use uuid::Uuid;

async fn printed(library: &LendingLibrary, requests: &[Uuid]) -> Reply {
    let entry = json!({"requestIds": requests, "requesterId": library.library.admin_id, "requesterName": "Admin",
        "printEventDate": "2026-05-01T10:00:00Z"});
    library.admin().post("/circulation/print-events-entry", &entry).await
}

async fn print_log(library: &LendingLibrary, enabled: bool) {
    let setting =
        json!({"id": Uuid::new_v4(), "name": "printEventLogFeature", "value": {"enablePrintLog": enabled}});
    library.admin().post("/circulation/settings", &setting).await.expect(201);
}

async fn page(library: &LendingLibrary) -> Uuid {
    let (book, patron) = (library.book().await, library.patron().await);
    placed(&library.asks_for(&book, &patron, "Page", library.main_desk).await)
}

#[tokio::test]
async fn a_request_tells_how_often_its_slip_was_printed() {
    let library = LendingLibrary::open().await;
    print_log(&library, true).await;
    let page = page(&library).await;
    for _ in 0..2 {
        printed(&library, &[page]).await.expect_status(204);
    }
    let details = library.request(page).await["printDetails"].clone();
    assert_eq!((&details["printCount"], &details["isPrinted"]), (&json!(2), &json!(true)));
    assert_eq!(details["requesterId"], library.library.admin_id.to_string());
}

#[tokio::test]
async fn printing_is_logged_only_where_the_library_wants_it() {
    let library = LendingLibrary::open().await;
    let page = page(&library).await;
    let words = printed(&library, &[page]).await.refusals();
    assert_eq!(words, ["No configuration found for print event feature"]);
    print_log(&library, false).await;
    let words = printed(&library, &[page]).await.refusals();
    assert_eq!(words, ["print event feature is disabled for this tenant"]);
}

#[tokio::test]
async fn a_slip_of_a_request_that_is_not_there_is_refused_with_all() {
    let library = LendingLibrary::open().await;
    print_log(&library, true).await;
    let page = page(&library).await;
    assert_eq!(printed(&library, &[page, Uuid::new_v4()]).await.refusals(), ["invalid request found"]);
    assert_eq!(library.request(page).await.get("printDetails"), None);
}

#[tokio::test]
async fn an_entry_that_lacks_something_is_invalid() {
    let library = LendingLibrary::open().await;
    print_log(&library, true).await;
    assert_eq!(printed(&library, &[]).await.refusals(), ["Print Event Request  JSON is invalid"]);
    let entry: Value = json!({"requesterName": "Admin"});
    let refused = library.admin().post("/circulation/print-events-entry", &entry).await;
    assert_eq!(refused.refusals(), ["Print Event Request  JSON is invalid"]);
}
