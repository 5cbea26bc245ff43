//! Behind a gateway: the headers are believed, and a tenant made on first use is lenient.

use carrel_platform::tenant::Manner;
use carrel_testkit::{Client, TestLibrary};
use serde_json::json;

/// As a public test suite calls: with a token that is none.
async fn suite() -> (TestLibrary, Client) {
    let manner = Manner { behind_gateway: true, makes_tenants: true, ..Manner::default() };
    let library = TestLibrary::start_in(manner).await;
    let caller = library
        .stranger()
        .with_header("x-okapi-tenant", "test_tenant")
        .with_header("x-okapi-token", "eyJhbGciOiJIUzUxMiJ9eyJzdWIiOiJhZG1pbiJ9.junk")
        .with_header("x-okapi-permissions", "[]")
        .with_header("x-okapi-user-id", "79ff2a8b-d9c3-5b39-ad4a-0a84025ab085");
    (library, caller)
}

const SOME_ID: &str = "11111111-1111-4111-8111-111111111111";

#[tokio::test]
async fn a_lenient_tenant_begins_empty_and_takes_what_is_incomplete() {
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
async fn unique_values_stay_unique_and_types_are_checked() {
    let (_library, caller) = suite().await;
    caller.post("/groups", &json!({"group": "a"})).await.expect(201);
    caller.post("/groups", &json!({"group": "A"})).await.expect(422);
    caller.post("/groups", &json!({"group": {"name": "b"}})).await.expect(422);
}

#[tokio::test]
async fn the_end_of_a_lenient_tenant_empties_it_and_leaves_it_usable() {
    let (_library, caller) = suite().await;
    for _ in 0..2 {
        caller.post("/groups", &json!({"group": "a"})).await.expect(201);
        caller.delete("/_/tenant").await.expect(204);
        assert_eq!(caller.get("/groups").await.expect(200)["totalRecords"], 0);
    }
}
