//! Behind a gateway: who may speak for it, and how it begins and ends tenants.

use carrel_platform::ServerOptions;
use carrel_testkit::TestServer;
use serde_json::json;

#[tokio::test]
async fn who_does_not_know_the_secret_does_not_pass_for_the_gateway() {
    let secret = "correct-horse-battery-staple";
    let options = ServerOptions {
        behind_gateway: true,
        gateway_secret: Some(secret.into()),
        ..ServerOptions::default()
    };
    let server = TestServer::start_in(options).await;
    let caller = server.stranger().with_header("x-okapi-tenant", "diku");
    caller.get("/groups").await.expect_status(401);
    caller.with_header("x-carrel-gateway", "guess").get("/groups").await.expect_status(401);
    caller.with_header("x-carrel-gateway", secret).get("/groups").await.expect(200);
}

#[tokio::test]
async fn a_tenant_begins_with_reference_data_and_is_purged_at_its_end() {
    let server =
        TestServer::start_in(ServerOptions { behind_gateway: true, ..ServerOptions::default() }).await;
    let caller = server.stranger().with_header("x-okapi-tenant", "new_lib");
    caller.get("/groups").await.expect_status(400);
    for _ in 0..2 {
        caller.post("/_/tenant", &json!({"module_to": "mod-users-1.0.0"})).await.expect(204);
    }
    let groups = caller.get("/groups").await.expect(200);
    assert!(groups["totalRecords"].as_i64().is_some_and(|count| count > 0), "{groups}");
    caller.delete("/_/tenant").await.expect(204);
    caller.get("/groups").await.expect_status(400);
    caller.delete("/_/tenant").await.expect_status(404);
}

#[tokio::test]
async fn a_module_that_ends_takes_its_data_along_only_when_it_is_reported_to_purge() {
    let server =
        TestServer::start_in(ServerOptions { behind_gateway: true, ..ServerOptions::default() }).await;
    let caller = server.stranger().with_header("x-okapi-tenant", "new_lib");
    caller.post("/_/tenant", &json!({"module_to": "mod-users-1.0.0"})).await.expect(204);
    caller.post("/_/tenant", &json!({"module_from": "mod-users-1.0.0", "purge": false})).await.expect(204);
    caller.get("/groups").await.expect(200);
    for _ in 0..2 {
        let end = json!({"module_from": "mod-users-1.0.0", "purge": true});
        caller.post("/_/tenant", &end).await.expect(204);
        caller.get("/groups").await.expect_status(400);
    }
    caller.get("/_/tenant/51f9b6b4-9a63-4a4c-8a3b-2d3f4a1c9f10").await.expect_status(404);
    caller.call("POST", "/_/tenant", Some("{".into())).await.expect_status(400);
}

#[tokio::test]
async fn the_user_and_permissions_of_the_headers_are_believed() {
    let server =
        TestServer::start_in(ServerOptions { behind_gateway: true, ..ServerOptions::default() }).await;
    let user = "79ff2a8b-d9c3-5b39-ad4a-0a84025ab085";
    let caller = server
        .stranger()
        .with_header("x-okapi-tenant", "diku")
        .with_header("x-okapi-token", "any.token.will-do")
        .with_header("x-okapi-user-id", user);
    let made = caller.post("/groups", &json!({"group": "gate"})).await.expect(201);
    assert_eq!(made["metadata"]["createdByUserId"], user);
}

#[tokio::test]
async fn tenants_do_not_begin_or_end_this_way_where_no_gateway_stands_before() {
    let server = TestServer::start().await;
    server.post("/_/tenant", &json!({})).await.expect_status(403);
    server.delete("/_/tenant").await.expect_status(403);
    server.get("/groups").await.expect(200);
}
