//! Behind a gateway: the gateway's secret, its headers, and enabling and disabling modules.

use carrel_platform::ServerOptions;
use carrel_testkit::TestServer;
use serde_json::json;

#[tokio::test]
async fn calls_without_the_gateway_s_secret_are_refused() {
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
async fn enabling_loads_reference_data_and_deleting_purges() {
    let server =
        TestServer::start_in(ServerOptions { behind_gateway: true, ..ServerOptions::default() }).await;
    let caller = server.stranger().with_header("x-okapi-tenant", "new_lib");
    caller.get("/groups").await.expect_status(400);
    for _ in 0..2 {
        let made = caller.post("/_/tenant", &json!({"module_to": "mod-users-1.0.0"})).await;
        assert_eq!(made.expect(201)["complete"], true);
        let operation = made.header("location").expect("the operation has an address");
        assert_eq!(caller.get(operation).await.expect(200)["complete"], true);
    }
    let groups = caller.get("/groups").await.expect(200);
    assert!(groups["totalRecords"].as_i64().is_some_and(|count| count > 0), "{groups}");
    caller.delete("/_/tenant").await.expect(204);
    caller.get("/groups").await.expect_status(400);
    caller.delete("/_/tenant").await.expect_status(404);
}

#[tokio::test]
async fn disabling_purges_data_only_when_requested() {
    let server =
        TestServer::start_in(ServerOptions { behind_gateway: true, ..ServerOptions::default() }).await;
    let caller = server.stranger().with_header("x-okapi-tenant", "new_lib");
    let made = caller.post("/_/tenant", &json!({"module_to": "mod-users-1.0.0"})).await;
    assert_eq!(made.expect(201)["complete"], true);
    let operation = made.header("location").expect("the operation has an address");
    assert_eq!(caller.get(operation).await.expect(200)["complete"], true);
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
async fn user_and_permissions_are_taken_from_the_headers() {
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
async fn tenants_are_not_enabled_this_way_without_a_gateway() {
    let server = TestServer::start().await;
    server.post("/_/tenant", &json!({})).await.expect_status(403);
    server.delete("/_/tenant").await.expect_status(403);
    server.get("/groups").await.expect(200);
}
