//! The end of sessions, on every node.

use super::login::{log_in, sent, stranger, user_with_password};
use carrel_platform::ServerOptions;
use carrel_platform::http::Authorizer;
use carrel_platform::token::{Claims, TokenKind};
use carrel_testkit::{Client, Reply, TENANT, TestServer};
use carrel_users::authorizer::PermissionAuthorizer;
use serde_json::json;
use std::time::{Duration, Instant};
use uuid::Uuid;

const SELF: &str = "/bl-users/_self";

/// A user with a password, logged in by the older login and by a browser.
struct Session {
    user: Uuid,
    desk: Client,
    browser: Reply,
}

async fn session(server: &TestServer, name: &str) -> Session {
    let user = user_with_password(server, name, "right").await;
    let login = log_in(server, "/authn/login", name, "right").await;
    let desk = server.client_with(login.header("x-okapi-token").expect("a token"));
    desk.get(SELF).await.expect(200);
    let browser = log_in(server, "/authn/login-with-expiry", name, "right").await;
    browser.expect(201);
    Session { user, desk, browser }
}

impl Session {
    async fn expect_ended(&self, server: &TestServer) {
        self.desk.get(SELF).await.expect_status(401);
        let refresh = stranger(server).with_header("cookie", &sent(&self.browser, "folioRefreshToken"));
        refresh.call("POST", "/authn/refresh", None).await.expect_status(422);
    }
}

#[tokio::test]
async fn a_changed_password_ends_the_sessions_and_the_browser_that_sent_it_gets_a_new_one() {
    let server = TestServer::start().await;
    let session = session(&server, "careful").await;
    let change = json!({"username": "careful", "password": "right", "newPassword": "new"});
    let browser = stranger(&server).with_header("cookie", &sent(&session.browser, "folioAccessToken"));
    let changed = browser.post("/bl-users/settings/myprofile/password", &change).await;
    changed.expect_status(204);
    session.expect_ended(&server).await;
    let cookie = sent(&changed, "folioAccessToken");
    stranger(&server).with_header("cookie", &cookie).get(SELF).await.expect(200);
}

#[tokio::test]
async fn a_reset_password_ends_the_sessions() {
    let server = TestServer::start().await;
    let session = session(&server, "forgetful").await;
    let action =
        json!({"id": Uuid::new_v4(), "userId": session.user, "expirationTime": "2100-01-01T00:00:00Z"});
    server.post("/authn/password-reset-action", &action).await.expect(201);
    let reset = json!({"passwordResetActionId": action["id"], "newPassword": "new"});
    server.post("/authn/reset-password", &reset).await.expect(201);
    session.expect_ended(&server).await;
}

#[tokio::test]
async fn deleted_credentials_end_the_sessions() {
    let server = TestServer::start().await;
    let session = session(&server, "leaving").await;
    server.delete(&format!("/authn/credentials?userId={}", session.user)).await.expect(204);
    session.expect_ended(&server).await;
}

#[tokio::test]
async fn deleting_a_user_deletes_sessions_credentials_and_permissions() {
    let server = TestServer::start().await;
    for (name, path) in
        [("one", "/users/{id}"), ("two", "/users?query=username==two"), ("three", "/bl-users/by-id/{id}")]
    {
        let session = session(&server, name).await;
        let given = json!({"userId": session.user, "permissions": ["users.item.get"]});
        server.post("/perms/users", &given).await.expect(201);
        server.delete(&path.replace("{id}", &session.user.to_string())).await.expect(204);
        session.expect_ended(&server).await;
        let credentials = format!("/authn/credentials-existence?userId={}", session.user);
        assert_eq!(server.get(&credentials).await.expect(200)["credentialsExist"], false, "{path}");
        let permissions = format!("/perms/users?query=userId=={}", session.user);
        assert_eq!(server.get(&permissions).await.expect(200)["totalRecords"], 0, "{path}");
        // A new user with the same id has none of them.
        let user = json!({"id": session.user, "username": name, "personal": {"lastName": name}});
        server.post("/users", &user).await.expect(201);
        log_in(&server, "/authn/login", name, "right").await.expect_status(422);
    }
}

#[tokio::test]
async fn the_token_of_the_older_login_expires_unless_configured() {
    for endless_tokens in [false, true] {
        let options = ServerOptions { endless_tokens, ..ServerOptions::default() };
        let server = TestServer::start_in(options).await;
        let endless = server.node.keys.sign(&Claims {
            sub: "diku_admin".into(),
            user_id: server.admin_id,
            tenant: TENANT.into(),
            kind: TokenKind::LegacyAccess,
            exp: None,
            iat: 0,
            generation: 0,
            extra_permissions: Vec::new(),
            jti: None,
        });
        let expected = if endless_tokens { 200 } else { 401 };
        server.client_with(&endless).get("/users?limit=0").await.expect_status(expected);
        let login = log_in(&server, "/authn/login", "diku_admin", "admin").await;
        let token = login.header("x-okapi-token").expect("a token");
        let claims = server.node.keys.read(token, jiff::Timestamp::now()).expect("a token of ours");
        assert_eq!(claims.exp.is_none(), endless_tokens);
    }
}

/// The other node is constantly notified of newer actions, so that it never reads the version because of its age.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_token_is_refused_by_other_nodes_at_once() {
    let server = TestServer::start().await;
    let session = session(&server, "leaving").await;
    let other = server.another_node().await;
    let tenant = other.tenant(TENANT).expect("the node serves the tenant");
    let login = log_in(&server, "/authn/login", "leaving", "right").await;
    let token = login.header("x-okapi-token").expect("a token");
    let claims = other.keys.read(token, jiff::Timestamp::now()).expect("nodes share their key");
    let authorizer = PermissionAuthorizer::default();
    wait_until_listening(&server).await;
    assert!(!authorizer.is_revoked(&tenant, &claims).await.expect("the query succeeds"));
    server.delete(&format!("/users/{}", session.user)).await.expect(204);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !authorizer.is_revoked(&tenant, &claims).await.expect("the query succeeds") {
        assert!(Instant::now() < deadline, "the other node has not heard of it");
        tenant.saw_settings_version(0);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn wait_until_listening(server: &TestServer) {
    let database = server.database().await;
    // It listens before it asks anything else.
    let listens = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
                       AND application_name = 'carrel notifications' AND state = 'idle' AND query <> ''";
    while database.query(listens, &[]).await.expect("activity can be read").is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
