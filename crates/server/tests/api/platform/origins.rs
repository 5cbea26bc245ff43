//! Permissions of pages of other origins, and the security headers of this server's pages.

use carrel_platform::ServerOptions;
use carrel_testkit::{ADMIN, Client, PASSWORD, TENANT, TestServer};
use serde_json::json;

const LISTED: &str = "https://desk.example.org";
const FOREIGN: &str = "https://evil.example.org";

async fn server() -> TestServer {
    TestServer::start_in(ServerOptions { allowed_origins: vec![LISTED.into()], ..ServerOptions::default() })
        .await
}

/// A browser that has logged in and calls for a page of this origin.
async fn browser(server: &TestServer, origin: &str) -> Client {
    let stranger = server.stranger().with_header("x-okapi-tenant", TENANT);
    let login =
        stranger.post("/authn/login-with-expiry", &json!({"username": ADMIN, "password": PASSWORD})).await;
    login.expect_status(201);
    let cookies: Vec<&str> = login
        .headers
        .get_all("set-cookie")
        .iter()
        .filter_map(|cookie| cookie.to_str().ok()?.split(';').next())
        .collect();
    server.stranger().with_header("cookie", &cookies.join("; ")).with_header("origin", origin_of(origin))
}

fn origin_of(origin: &str) -> &str {
    origin
}

#[tokio::test]
async fn cookies_authenticate_writes_of_listed_origins_only() {
    let server = server().await;
    let group = |name: &str| json!({"group": name});
    browser(&server, LISTED).await.post("/groups", &group("listed")).await.expect_status(201);
    let refused = browser(&server, FOREIGN).await.post("/groups", &group("foreign")).await;
    refused.expect_status(403);
    assert!(refused.text().contains("--allowed-origin"), "{}", refused.text());
    browser(&server, FOREIGN).await.call("POST", "/authn/refresh", None).await.expect_status(403);
    browser(&server, "null").await.post("/groups", &group("null")).await.expect_status(403);
    let own = format!("http://{}", server.address);
    browser(&server, &own).await.post("/groups", &group("own")).await.expect_status(201);
}

#[tokio::test]
async fn only_listed_origins_may_read_with_cookies() {
    let server = server().await;
    for (origin, allowed, credentials) in [(LISTED, LISTED, Some("true")), (FOREIGN, "*", None)] {
        for method in ["OPTIONS", "GET"] {
            let reply = browser(&server, origin).await.call(method, "/groups", None).await;
            assert_eq!(reply.header("access-control-allow-origin"), Some(allowed), "{method} {origin}");
            assert_eq!(reply.header("access-control-allow-credentials"), credentials, "{method} {origin}");
        }
    }
}

#[tokio::test]
async fn a_page_with_a_token_may_write_from_any_origin() {
    let server = server().await;
    let page = server.admin.with_header("origin", FOREIGN);
    page.post("/groups", &json!({"group": "by token"})).await.expect_status(201);
}

#[tokio::test]
async fn a_login_that_a_form_of_another_origin_could_send_is_refused() {
    let server = server().await;
    let page = server.stranger().with_header("x-okapi-tenant", TENANT).with_header("origin", FOREIGN);
    let credentials = json!({"username": ADMIN, "password": PASSWORD});
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let form = page.with_header("content-type", content_type);
        let refused = form.post("/authn/login-with-expiry", &credentials).await;
        refused.expect_status(415);
        assert!(refused.header("set-cookie").is_none(), "{refused:?}");
    }
    page.post("/authn/login-with-expiry", &credentials).await.expect_status(201);
}

#[tokio::test]
async fn cookies_are_lax_unless_configured() {
    use carrel_platform::SameSite;
    for (options, expected) in [
        (ServerOptions { secure_cookies: true, ..ServerOptions::default() }, "; Secure; SameSite=Lax"),
        (
            ServerOptions {
                secure_cookies: true,
                cookie_same_site: SameSite::None,
                ..ServerOptions::default()
            },
            "; Secure; SameSite=None",
        ),
    ] {
        let server = TestServer::start_in(options).await;
        let stranger = server.stranger().with_header("x-okapi-tenant", TENANT);
        let credentials = json!({"username": ADMIN, "password": PASSWORD});
        let login = stranger.post("/authn/login-with-expiry", &credentials).await;
        let cookies = login.headers.get_all("set-cookie");
        for cookie in cookies.iter().map(|cookie| cookie.to_str().expect("text")) {
            assert!(cookie.ends_with(expected), "{cookie}");
        }
    }
}

#[tokio::test]
async fn pages_carry_security_headers() {
    let server = TestServer::start().await;
    for page in ["/", "/api-docs"] {
        let reply = server.stranger().get(page).await;
        let policy = reply.header("content-security-policy").unwrap_or_default();
        for part in [
            "default-src 'self'",
            "frame-ancestors 'none'",
            "object-src 'none'",
            "script-src 'self' 'sha256-",
        ] {
            assert!(policy.contains(part), "{page}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{page}: {policy}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("x-frame-options"), Some("DENY"));
    }
    assert_eq!(server.get("/groups").await.header("x-content-type-options"), Some("nosniff"));
}
