//! The first administrator of a tenant that was created by the API.

use carrel_platform::ServerOptions;
use carrel_testkit::{OTHER_TENANT, TestServer};
use serde_json::json;
use uuid::Uuid;

const MODULES: &str = "/_/proxy/tenants/otherlib/modules";

async fn server_with_new_tenant(allows_bootstrap: bool) -> TestServer {
    let server = TestServer::start_in(ServerOptions { allows_bootstrap, ..ServerOptions::default() }).await;
    server.post("/_/proxy/tenants", &json!({"id": OTHER_TENANT, "name": "Other"})).await.expect(201);
    server
}

#[tokio::test]
async fn an_operator_opens_a_new_tenant_until_it_has_an_administrator() {
    let server = server_with_new_tenant(true).await;
    let stranger = server.stranger().with_header("x-okapi-tenant", OTHER_TENANT);
    stranger.get("/users").await.expect_status(401);
    stranger.delete(&format!("{MODULES}/mod-authtoken")).await.expect_status(401);
    server.delete(&format!("{MODULES}/mod-authtoken")).await.expect_status(204);

    let user = Uuid::new_v4();
    let record = json!({"id": user, "username": "boss", "active": true, "personal": {"lastName": "Boss"}});
    stranger.post("/users", &record).await.expect(201);
    stranger
        .post("/authn/credentials", &json!({"userId": user, "password": "secret"}))
        .await
        .expect_status(201);
    stranger.post("/perms/users", &json!({"userId": user, "permissions": ["carrel.all"]})).await.expect(201);
    for path in ["/_/proxy/tenants", "/admin/jobs"] {
        stranger.get(path).await.expect_status(401);
    }
    server.stranger().with_header("x-okapi-tenant", "diku").get("/users").await.expect_status(401);

    server.post(MODULES, &json!({"id": "mod-authtoken"})).await.expect(201);
    stranger.get("/users").await.expect_status(401);
    let login = stranger.post("/authn/login", &json!({"username": "boss", "password": "secret"})).await;
    login.expect(201);
    let boss = stranger.with_header("x-okapi-token", login.header("x-okapi-token").expect("a token"));
    boss.get("/groups").await.expect(200);
    server.delete(&format!("{MODULES}/mod-authtoken")).await.expect_status(400);
}

#[tokio::test]
async fn a_server_does_not_open_tenants_unless_it_is_allowed() {
    let server = server_with_new_tenant(false).await;
    server.delete(&format!("{MODULES}/mod-authtoken")).await.expect_status(400);
    let database = server.database().await;
    let open = "UPDATE platform.tenant SET open_until = now() + interval '1 hour'";
    database.execute(open, &[]).await.expect("opened behind the API");
    server.stranger().with_header("x-okapi-tenant", OTHER_TENANT).get("/users").await.expect_status(401);
}

#[tokio::test]
async fn an_operator_opens_and_closes_a_tenant_by_an_installation() {
    let server = server_with_new_tenant(true).await;
    let stranger = server.stranger().with_header("x-okapi-tenant", OTHER_TENANT);
    let install = async |action: &str| {
        let modules = json!([{"id": "mod-authtoken", "action": action}]);
        server.post("/_/proxy/tenants/otherlib/install", &modules).await.expect(200)[0]["action"].clone()
    };
    assert_eq!(install("enable").await, "uptodate");
    assert_eq!(install("disable").await, "disable");
    stranger.get("/users").await.expect(200);
    assert_eq!(install("enable").await, "enable");
    stranger.get("/users").await.expect_status(401);
}
