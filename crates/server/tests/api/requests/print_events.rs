//! Print events of slips.

use carrel_testkit::queues::placed;
use carrel_testkit::{LendingServer, Reply};
use serde_json::{Value, json};
use uuid::Uuid;

async fn printed(server: &LendingServer, requests: &[Uuid]) -> Reply {
    let entry = json!({"requestIds": requests, "requesterId": server.server.admin_id, "requesterName": "Admin",
        "printEventDate": "2026-05-01T10:00:00Z"});
    server.admin().post("/circulation/print-events-entry", &entry).await
}

async fn print_log(server: &LendingServer, enabled: bool) {
    let setting =
        json!({"id": Uuid::new_v4(), "name": "printEventLogFeature", "value": {"enablePrintLog": enabled}});
    server.admin().post("/circulation/settings", &setting).await.expect(201);
}

async fn page(server: &LendingServer) -> Uuid {
    let (item, patron) = (server.item().await, server.patron().await);
    placed(&server.place_request(&item, &patron, "Page", server.main_desk).await)
}

#[tokio::test]
async fn a_request_shows_how_often_its_slip_was_printed() {
    let server = LendingServer::open().await;
    print_log(&server, true).await;
    let page = page(&server).await;
    for _ in 0..2 {
        printed(&server, &[page]).await.expect_status(204);
    }
    let details = server.request(page).await["printDetails"].clone();
    assert_eq!((&details["printCount"], &details["isPrinted"]), (&json!(2), &json!(true)));
    assert_eq!(details["requesterId"], server.server.admin_id.to_string());
}

#[tokio::test]
async fn printing_is_logged_only_if_enabled() {
    let server = LendingServer::open().await;
    let page = page(&server).await;
    let words = printed(&server, &[page]).await.refusals();
    assert_eq!(words, ["No configuration found for print event feature"]);
    print_log(&server, false).await;
    let words = printed(&server, &[page]).await.refusals();
    assert_eq!(words, ["print event feature is disabled for this tenant"]);
}

#[tokio::test]
async fn a_missing_request_refuses_the_whole_print_event() {
    let server = LendingServer::open().await;
    print_log(&server, true).await;
    let page = page(&server).await;
    assert_eq!(printed(&server, &[page, Uuid::new_v4()]).await.refusals(), ["invalid request found"]);
    assert_eq!(server.request(page).await.get("printDetails"), None);
}

#[tokio::test]
async fn an_incomplete_print_event_is_refused() {
    let server = LendingServer::open().await;
    print_log(&server, true).await;
    assert_eq!(printed(&server, &[]).await.refusals(), ["Print Event Request  JSON is invalid"]);
    let entry: Value = json!({"requesterName": "Admin"});
    let refused = server.admin().post("/circulation/print-events-entry", &entry).await;
    assert_eq!(refused.refusals(), ["Print Event Request  JSON is invalid"]);
}

#[tokio::test]
async fn a_malformed_request_id_is_refused() {
    let server = LendingServer::open().await;
    print_log(&server, true).await;
    let page = page(&server).await;
    let entry = |request: &str, requester: &str| {
        json!({"requestIds": [request], "requesterId": requester, "requesterName": "Admin",
            "printEventDate": "2026-05-01T10:00:00Z"})
    };
    let (page, admin) = (page.to_string(), server.server.admin_id.to_string());
    let desk = "/circulation/print-events-entry";
    let refused = server.admin().post(desk, &entry("none", &admin)).await;
    assert_eq!(refused.refusals(), ["invalid request found"]);
    assert!(refused.json().get("total_records").is_none(), "FOLIO counts no errors here");
    let storage = "/print-events-storage/print-events-entry";
    for (path, body, key) in [
        (desk, entry(&page, "nobody"), "requesterId"),
        (storage, entry("none", &admin), "requestIds"),
        (storage, entry(&page, "nobody"), "requesterId"),
        ("/print-events-storage/print-events-status", json!({"requestIds": ["none"]}), "requestIds"),
    ] {
        let refused = server.admin().post(path, &body).await.expect(422);
        assert_eq!(refused["errors"][0]["parameters"][0]["key"], key, "{path}");
    }
}

#[tokio::test]
async fn two_settings_with_the_word_in_their_names_are_ambiguous() {
    let server = LendingServer::open().await;
    print_log(&server, true).await;
    let page = page(&server).await;
    let second =
        json!({"id": Uuid::new_v4(), "name": "printEventLogFeature copy", "value": {"enablePrintLog": true}});
    server.admin().post("/circulation/settings", &second).await.expect(201);
    assert_eq!(
        printed(&server, &[page]).await.refusals(),
        ["Multiple configurations found for print event feature"]
    );
}

#[tokio::test]
async fn a_stored_print_event_needs_all_its_properties() {
    let server = LendingServer::open().await;
    let entry = json!({"requestIds": [Uuid::new_v4()], "requesterId": Uuid::new_v4(), "requesterName": null,
        "printEventDate": "2026-05-01T10:00:00Z"});
    let refused = server.admin().post("/print-events-storage/print-events-entry", &entry).await;
    assert_eq!(refused.refusals(), ["must not be null"]);
    assert_eq!(refused.json()["errors"][0]["parameters"][0]["key"], "requesterName");
}
