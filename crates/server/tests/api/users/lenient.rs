//! Behind a gateway: a tenant that is created on first use is lenient.

use carrel_platform::ServerOptions;
use carrel_testkit::{Client, TestServer};
use serde_json::json;

/// A caller like a public test suite, with an invalid token.
async fn suite() -> (TestServer, Client) {
    let options = ServerOptions { behind_gateway: true, makes_tenants: true, ..ServerOptions::default() };
    let server = TestServer::start_in(options).await;
    let caller = server
        .stranger()
        .with_header("x-okapi-tenant", "test_tenant")
        .with_header("x-okapi-token", "eyJhbGciOiJIUzUxMiJ9eyJzdWIiOiJhZG1pbiJ9.junk")
        .with_header("x-okapi-permissions", "[]")
        .with_header("x-okapi-user-id", "79ff2a8b-d9c3-5b39-ad4a-0a84025ab085");
    (server, caller)
}

const SOME_ID: &str = "11111111-1111-4111-8111-111111111111";

#[tokio::test]
async fn a_lenient_tenant_starts_empty_and_accepts_incomplete_records() {
    let (_library, caller) = suite().await;
    assert_eq!(caller.get("/groups").await.expect(200)["totalRecords"], 0);
    let item = json!({"holdingsRecordId": SOME_ID, "color": "red", "status": {"name": "Available"}});
    caller.post("/item-storage/items", &item).await.expect(201);
    caller.post("/users", &json!({"patronGroup": SOME_ID})).await.expect(201);
    let by = caller.get("/users").await.expect(200);
    assert_eq!(by["users"][0]["metadata"]["createdByUserId"], "79ff2a8b-d9c3-5b39-ad4a-0a84025ab085");
}

#[tokio::test]
async fn a_lenient_tenant_creates_what_is_put_and_compares_no_versions() {
    let (_library, caller) = suite().await;
    let path = format!("/instance-storage/instances/{SOME_ID}");
    for version in [7, 3] {
        caller.put(&path, &json!({"id": SOME_ID, "title": "T", "_version": version})).await.expect(204);
    }
    assert_eq!(caller.get(&path).await.expect(200)["title"], "T");
}

#[tokio::test]
async fn a_lenient_tenant_replaces_what_is_posted_again() {
    let (_library, caller) = suite().await;
    for name in ["old", "new"] {
        caller.post("/groups", &json!({"id": SOME_ID, "group": name})).await.expect(201);
    }
    assert_eq!(caller.get("/groups").await.expect(200)["totalRecords"], 1);
    assert_eq!(caller.get(&format!("/groups/{SOME_ID}")).await.expect(200)["group"], "new");
}

#[tokio::test]
async fn a_lenient_tenant_checks_out_one_of_two_items_with_one_barcode() {
    let (_library, caller) = suite().await;
    for _ in 0..2 {
        let item = json!({"barcode": "1", "status": {"name": "Available"}});
        caller.post("/item-storage/items", &item).await.expect(201);
    }
    let scan = json!({"itemBarcode": "1", "checkInDate": "2026-01-01T00:00:00Z", "servicePointId": SOME_ID});
    caller.post("/circulation/check-in-by-barcode", &scan).await.expect(200);
}

#[tokio::test]
async fn a_lenient_tenant_returns_the_blocks_that_were_posted() {
    let (_library, caller) = suite().await;
    let block = json!({"patronBlockConditionId": SOME_ID, "blockBorrowing": true, "blockRenewals": false,
        "blockRequests": false, "message": "Too many"});
    let given = json!({"id": SOME_ID, "automatedPatronBlocks": [block]});
    caller.post("/automated-patron-blocks", &given).await.expect(201);
    let reported = caller.get(&format!("/automated-patron-blocks/{SOME_ID}")).await.expect(200);
    assert_eq!(reported["automatedPatronBlocks"], json!([block]));
}

#[tokio::test]
async fn an_item_of_another_library_names_itself() {
    let (_library, caller) = suite().await;
    let item =
        json!({"barcode": "1", "dcbItem": true, "instanceTitle": "Theirs", "effectiveLocationId": SOME_ID});
    caller.post("/circulation-item", &item).await.expect(201);
    let scan = json!({"itemBarcode": "1", "checkInDate": "2026-01-01T00:00:00Z", "servicePointId": SOME_ID});
    let scanned = caller.post("/circulation/check-in-by-barcode", &scan).await.expect(200);
    assert_eq!(scanned["item"]["title"], "Theirs");
}

#[tokio::test]
async fn a_strict_tenant_has_no_stand_in_routes() {
    let options = ServerOptions { behind_gateway: true, makes_tenants: true, ..ServerOptions::default() };
    let server = TestServer::start_in(options).await;
    server.node.create_tenant("strict", "Strict", "").await.expect("made");
    let caller = server.stranger().with_header("x-okapi-tenant", "strict");
    caller.post("/automated-patron-blocks", &json!({"id": SOME_ID})).await.expect(404);
}

#[tokio::test]
async fn unique_values_stay_unique_and_types_are_checked() {
    let (_library, caller) = suite().await;
    caller.post("/groups", &json!({"group": "a"})).await.expect(201);
    caller.post("/groups", &json!({"group": "A"})).await.expect(422);
    caller.post("/groups", &json!({"group": {"name": "b"}})).await.expect(422);
}

#[tokio::test]
async fn deleting_a_lenient_tenant_empties_it() {
    let (_library, caller) = suite().await;
    for _ in 0..2 {
        caller.post("/groups", &json!({"group": "a"})).await.expect(201);
        caller.delete("/_/tenant").await.expect(204);
        assert_eq!(caller.get("/groups").await.expect(200)["totalRecords"], 0);
    }
}
