//! Undocumented behavior of FOLIO's gateway that clients rely on.

use carrel_testkit::TestServer;
use serde_json::json;

#[tokio::test]
async fn a_preflight_of_a_listed_origin_allows_credentials() {
    let options = carrel_platform::ServerOptions {
        allowed_origins: vec!["http://desk.example.org".into()],
        ..Default::default()
    };
    let server = TestServer::start_in(options).await;
    let page = server
        .stranger()
        .with_header("origin", "http://desk.example.org")
        .with_header("access-control-request-method", "GET")
        .with_header("access-control-request-headers", "content-type,x-okapi-tenant,x-okapi-token");
    let reply = page.call("OPTIONS", "/users", None).await;
    assert!(reply.status < 300 && reply.body.is_empty(), "{reply:?}");
    assert_eq!(reply.header("access-control-allow-origin"), Some("http://desk.example.org"));
    assert_eq!(reply.header("access-control-allow-credentials"), Some("true"));
    assert_eq!(
        reply.header("access-control-allow-headers"),
        Some("content-type,x-okapi-tenant,x-okapi-token")
    );
}

#[tokio::test]
async fn json_is_read_under_any_content_type() {
    let server = TestServer::start().await;
    let caller = server.admin.with_header("content-type", "text/plain; charset=UTF-8");
    caller.post("/groups", &json!({"group": "plain"})).await.expect(201);
}

#[tokio::test]
async fn malformed_bodies_are_400_and_too_large_ones_413() {
    let options = carrel_platform::ServerOptions { largest_body: 1000, ..Default::default() };
    let server = TestServer::start_in(options).await;
    for body in ["{\"group\":", "[]", "", "\u{0}"] {
        server.admin.call("POST", "/groups", Some(body.into())).await.expect_status(400);
    }
    server.admin.call("POST", "/groups", Some(vec![b' '; 1001].into())).await.expect_status(413);
}

#[tokio::test]
async fn an_unknown_path_and_a_wrong_method_are_404_in_okapi_s_words() {
    let server = TestServer::start().await;
    let unknown = server.get("/no/such/path").await;
    assert_eq!(
        (unknown.status, unknown.text()),
        (404, "No suitable module found for path /no/such/path for tenant diku".to_owned())
    );
    server.put("/users", &json!({})).await.expect_status(404);
    server.stranger().get("/consortia").await.expect_status(404);
}

#[tokio::test]
async fn a_tenant_s_modules_are_listed_with_versions() {
    let server = TestServer::start().await;
    let modules = server.get("/_/proxy/tenants/diku/modules").await.expect(200);
    let ids: Vec<&str> =
        modules.as_array().expect("an array").iter().filter_map(|module| module["id"].as_str()).collect();
    let users = ids.iter().find(|id| id.starts_with("mod-users-1")).expect("clients look for mod-users");
    assert!(users["mod-users-".len()..].split('.').count() == 3, "{users}");
    let interfaces = server.get("/_/proxy/tenants/diku/interfaces").await.expect(200);
    assert!(interfaces.as_array().expect("an array").iter().any(|one| one["id"] == "circulation"));
}

#[tokio::test]
async fn a_user_id_in_a_header_is_not_trusted() {
    let server = TestServer::start().await;
    let other = server.admin.with_header("x-okapi-user-id", "11111111-1111-4111-8111-111111111111");
    other.get("/users").await.expect_status(403);
}

#[tokio::test]
async fn head_is_get_without_a_body() {
    let server = TestServer::start().await;
    let reply = server.admin.call("HEAD", "/users", None).await;
    assert!(reply.status == 200 && reply.body.is_empty() && reply.header("content-length").is_some());
}

#[tokio::test]
async fn modules_are_found_by_name_and_by_interface() {
    let server = TestServer::start().await;
    let ids = async |query: &str| -> Vec<String> {
        let path = format!("/_/proxy/tenants/diku/modules?{query}");
        let modules = server.get(&path).await.expect(200);
        let modules = modules.as_array().expect("an array").iter();
        modules.map(|module| module["id"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let users = ids("filter=mod-users").await;
    assert!(users.len() == 1 && users[0].starts_with("mod-users-1"), "{users:?}");
    assert_eq!(ids(&format!("filter={}", users[0])).await, users);
    assert_eq!(ids("provide=users").await, users);
    assert!(ids("filter=mod-nothing").await.is_empty());
    let full = server.get("/_/proxy/tenants/diku/interfaces?full=true").await.expect(200);
    let users = full.as_array().expect("an array").iter().find(|one| one["id"] == "users");
    assert!(users.is_some_and(|users| users["handlers"][0]["pathPattern"].is_string()), "{users:?}");
}

#[tokio::test]
async fn tenants_are_created_listed_renamed_and_deleted() {
    let server = TestServer::start().await;
    let made = server.post("/_/proxy/tenants", &json!({"id": "town_hall", "name": "Town"})).await;
    assert_eq!(made.expect(201)["name"], "Town");
    assert_eq!(made.header("location"), Some("/_/proxy/tenants/town_hall"));
    let listed = server.get("/_/proxy/tenants").await.expect(200);
    assert!(
        listed.as_array().expect("an array").iter().any(|tenant| tenant["id"] == "town_hall"),
        "{listed}"
    );
    for taken_or_bad in ["town_hall", "Town Hall", "a\"; DROP SCHEMA x; --", "1st"] {
        server.post("/_/proxy/tenants", &json!({"id": taken_or_bad, "name": "x"})).await.expect_status(400);
    }
    let path = "/_/proxy/tenants/town_hall";
    server.put(path, &json!({"id": "town_hall", "name": "City"})).await.expect(200);
    assert_eq!(server.get(path).await.expect(200)["name"], "City");
    server.delete(path).await.expect(204);
    server.get(path).await.expect_status(404);
}

#[tokio::test]
async fn version_and_health_need_no_token() {
    let server = TestServer::start().await;
    let version = server.stranger().get("/_/version").await;
    assert_eq!(version.text().split('.').count(), 3, "{version:?}");
    for path in ["/_/health", "/_/proxy/health", "/admin/health"] {
        server.stranger().get(path).await.expect(200);
    }
}

#[tokio::test]
async fn modules_cannot_be_disabled() {
    let server = TestServer::start().await;
    let of_tenant = |rest: &str| format!("/_/proxy/tenants/diku/{rest}");
    let modules = server.admin.get(&of_tenant("modules")).await.expect(200);
    let users = modules.as_array().expect("a list").iter().find(|module| module["name"] == "mod-users");
    let id = users.expect("a module of users")["id"].as_str().expect("an id").to_owned();
    let again = server.admin.post(&of_tenant("modules"), &json!({"id": id})).await;
    again.expect_status(400);
    assert_eq!(again.text(), format!("Module {id} already provided"));
    let installed = [json!({"id": "mod-users", "action": "enable"})];
    let answer = server.admin.post(&of_tenant("install"), &json!(installed)).await.expect(200);
    assert_eq!(answer, json!([{"id": id, "action": "uptodate"}]));
    server
        .admin
        .post(&of_tenant("install"), &json!([{"id": "nope-1.0", "action": "enable"}]))
        .await
        .expect_status(400);
    let disabled = json!([{"id": "mod-users", "action": "disable"}]);
    server.admin.post(&of_tenant("install"), &disabled).await.expect_status(400);
    server.admin.delete(&of_tenant(&format!("modules/{id}"))).await.expect_status(400);
    server.admin.delete(&of_tenant("modules/nope-1.0.0")).await.expect_status(404);
}

#[tokio::test]
async fn every_interface_that_is_listed_has_a_name() {
    let server = TestServer::start().await;
    for path in ["/_/proxy/tenants/diku/interfaces", "/_/proxy/tenants/diku/interfaces?full=true"] {
        let interfaces = server.admin.get(path).await.expect(200);
        let unnamed = interfaces.as_array().expect("a list").iter().filter(|interface| interface["id"] == "");
        assert_eq!(unnamed.count(), 0, "{path}");
    }
}

#[tokio::test]
async fn modules_and_interfaces_of_the_own_tenant_need_no_permission() {
    let server = TestServer::start().await;
    let nobody = server.staff_with(&[]).await;
    for path in ["modules", "interfaces", "interfaces/users"] {
        nobody.get(&format!("/_/proxy/tenants/diku/{path}")).await.expect(200);
        nobody.get(&format!("/_/proxy/tenants/other/{path}")).await.expect_status(403);
    }
    nobody.get("/_/proxy/tenants/diku").await.expect_status(403);
}
