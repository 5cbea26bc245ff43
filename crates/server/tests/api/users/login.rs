//! Login, renewal of tokens, and logout.

use carrel_testkit::{ADMIN, Client, PASSWORD, Reply, TENANT, TestServer};
use serde_json::{Value, json};
use uuid::Uuid;

pub(super) fn stranger(server: &TestServer) -> Client {
    server.stranger().with_header("x-okapi-tenant", TENANT)
}

pub(super) async fn log_in(server: &TestServer, path: &str, name: &str, password: &str) -> Reply {
    stranger(server).post(path, &json!({"username": name, "password": password})).await
}

pub(super) fn cookies(reply: &Reply) -> Vec<String> {
    let lines = reply.headers.get_all("set-cookie").iter();
    lines.map(|line| line.to_str().expect("a cookie is text").to_owned()).collect()
}

/// The cookie as a browser sends it back.
pub(super) fn sent(reply: &Reply, name: &str) -> String {
    let lines = cookies(reply);
    let line = lines.iter().find(|line| line.starts_with(name)).expect("the cookie was set");
    line.split(';').next().expect("a cookie has a value").to_owned()
}

pub(super) async fn user_with_password(server: &TestServer, name: &str, password: &str) -> Uuid {
    let id = Uuid::new_v4();
    let user = json!({"id": id, "username": name, "active": true, "personal": {"lastName": name}});
    server.post("/users", &user).await.expect(201);
    server.post("/authn/credentials", &json!({"userId": id, "password": password})).await.expect(201);
    id
}

#[tokio::test]
async fn every_login_sets_both_cookies_with_their_lifetime() {
    let server = TestServer::start().await;
    for path in ["/authn/login", "/authn/login-with-expiry", "/bl-users/login-with-expiry"] {
        let reply = log_in(&server, path, ADMIN, PASSWORD).await;
        reply.expect(201);
        let lines = cookies(&reply);
        assert_eq!(lines.len(), 2, "{path}");
        for (line, (name, age, scope)) in lines.iter().zip([
            ("folioAccessToken=", "Max-Age=600", "Path=/;"),
            ("folioRefreshToken=", "Max-Age=604800", "Path=/authn;"),
        ]) {
            assert!(line.starts_with(name) && line.contains(age) && line.contains(scope), "{line}");
            assert!(line.contains("Expires=") && line.contains("HttpOnly"), "{line}");
            assert!(!line.contains("Secure") && !line.contains("Domain"), "{line}");
        }
    }
}

#[tokio::test]
async fn the_older_login_returns_its_token_in_header_and_body() {
    let server = TestServer::start().await;
    let reply = log_in(&server, "/authn/login", ADMIN, PASSWORD).await;
    let token = reply.expect(201)["okapiToken"].as_str().expect("a token").to_owned();
    assert_eq!(reply.header("x-okapi-token"), Some(&*token));
    server.client_with(&token).get("/users?limit=0").await.expect(200);
}

#[tokio::test]
async fn a_token_is_accepted_as_header_bearer_or_cookie() {
    let server = TestServer::start().await;
    let reply = log_in(&server, "/authn/login-with-expiry", ADMIN, PASSWORD).await;
    let cookie = sent(&reply, "folioAccessToken");
    let token = cookie.strip_prefix("folioAccessToken=").expect("named so");
    let stranger = server.stranger();
    stranger.with_header("x-okapi-token", token).get("/users?limit=0").await.expect(200);
    stranger.with_header("cookie", &cookie).get("/users?limit=0").await.expect(200);
    stranger.with_header("authorization", &format!("Bearer {token}")).get("/users?limit=0").await.expect(200);
    let unsigned = stranger.with_header("x-okapi-token", "a.eyB9Cg==.c").get("/users?limit=0").await;
    assert_eq!((unsigned.status, unsigned.text()), (401, "Invalid token".to_owned()));
}

#[tokio::test]
async fn a_malformed_token_is_400_where_it_must_name_the_tenant() {
    let server = TestServer::start().await;
    let malformed = server.stranger().with_header("x-okapi-token", "x");
    let reply = malformed.get("/users?limit=0").await;
    assert_eq!((reply.status, reply.text().as_str()), (400, "Invalid Token: Missing . separator for token"));
    malformed.with_header("x-okapi-tenant", TENANT).get("/users?limit=0").await.expect_status(401);
    let two = server.admin.with_header("authorization", "Bearer a.b.c").get("/users?limit=0").await;
    assert_eq!((two.status, two.text().as_str()), (400, "X-Okapi-Token is not equal to Authorization token"));
}

#[tokio::test]
async fn the_composite_of_a_login_has_the_id_of_the_record_of_permissions() {
    let server = TestServer::start().await;
    let composite = log_in(&server, "/bl-users/login", ADMIN, PASSWORD).await.expect(201);
    let records = server.get(&format!("/perms/users?query=userId=={}", server.admin_id)).await.expect(200);
    assert_eq!(composite["permissions"]["id"], records["permissionUsers"][0]["id"]);
    assert_eq!(records["resultInfo"]["totalRecords"], 1);
}

#[tokio::test]
async fn an_unknown_name_a_wrong_password_and_an_inactive_user_get_the_same_answer() {
    let server = TestServer::start().await;
    user_with_password(&server, "idle", "right").await;
    let unknown = log_in(&server, "/authn/login", "nobody", "x").await;
    let wrong = log_in(&server, "/authn/login", "idle", "wrong").await;
    assert_eq!(unknown.refusals(), ["Wrong username or wrong password or account blocked"]);
    assert_eq!(unknown.text(), wrong.text());
    assert_eq!(wrong.json()["errors"][0]["code"], "wrong.username.or.wrong.password.or.account.blocked");
}

#[tokio::test]
async fn five_wrong_passwords_close_the_account_to_their_address() {
    let server = TestServer::start().await;
    let id = user_with_password(&server, "victim", "right").await;
    for _ in 0..5 {
        log_in(&server, "/authn/login", "victim", "wrong").await.expect(422);
    }
    log_in(&server, "/authn/login", "victim", "right").await.expect(422);
    let attempts = server.get(&format!("/authn/loginAttempts/{id}")).await.expect(200);
    assert_eq!(attempts["attemptCount"], 5);
}

#[tokio::test]
async fn a_refresh_token_can_be_used_once_and_reuse_ends_the_session() {
    let server = TestServer::start().await;
    let first = log_in(&server, "/authn/login-with-expiry", ADMIN, PASSWORD).await;
    let refresh = |reply: &Reply| stranger(&server).with_header("cookie", &sent(reply, "folioRefreshToken"));
    let second = refresh(&first).call("POST", "/authn/refresh", None).await;
    second.expect(201);
    let again = refresh(&first).call("POST", "/authn/refresh", None).await;
    assert_eq!(again.expect(422)["errors"][0]["code"], "token.refresh.unprocessable");
    refresh(&second).call("POST", "/authn/refresh", None).await.expect(422);
}

#[tokio::test]
async fn a_refresh_token_is_no_access_token() {
    let server = TestServer::start().await;
    let reply = log_in(&server, "/authn/login-with-expiry", ADMIN, PASSWORD).await;
    let cookie = sent(&reply, "folioRefreshToken");
    let token = cookie.strip_prefix("folioRefreshToken=").expect("named so");
    server.client_with(token).get("/users").await.expect_status(401);
}

#[tokio::test]
async fn logout_clears_the_cookies_and_revokes_the_refresh_token() {
    let server = TestServer::start().await;
    let reply = log_in(&server, "/authn/login-with-expiry", ADMIN, PASSWORD).await;
    let both = format!("{}; {}", sent(&reply, "folioAccessToken"), sent(&reply, "folioRefreshToken"));
    let session = stranger(&server).with_header("cookie", &both);
    let out = session.call("POST", "/authn/logout", None).await;
    out.expect(204);
    assert!(cookies(&out).iter().all(|line| line.contains("=;") && line.contains("01 Jan 1970")), "{out:?}");
    session.call("POST", "/authn/refresh", None).await.expect(422);
}

#[tokio::test]
async fn logout_all_revokes_every_earlier_token() {
    let server = TestServer::start().await;
    let token = |reply: Reply| reply.header("x-okapi-token").expect("a token").to_owned();
    let desk = server.client_with(&token(log_in(&server, "/authn/login", ADMIN, PASSWORD).await));
    let home = server.client_with(&token(log_in(&server, "/authn/login", ADMIN, PASSWORD).await));
    desk.call("POST", "/authn/logout-all", None).await.expect(204);
    home.get("/users").await.expect_status(401);
    let anew = server.client_with(&token(log_in(&server, "/authn/login", ADMIN, PASSWORD).await));
    anew.get("/users?limit=0").await.expect(200);
}

#[tokio::test]
async fn a_deactivated_user_is_logged_out_at_once() {
    let server = TestServer::start().await;
    let id = user_with_password(&server, "leaver", "pw").await;
    let reply = log_in(&server, "/authn/login", "leaver", "pw").await;
    let leaver = server.client_with(reply.header("x-okapi-token").expect("a token"));
    leaver.get("/bl-users/_self").await.expect(200);
    let mut user = server.get(&format!("/users/{id}")).await.expect(200);
    user["active"] = false.into();
    server.put(&format!("/users/{id}"), &user).await.expect(204);
    leaver.get("/bl-users/_self").await.expect_status(401);
    log_in(&server, "/authn/login", "leaver", "pw").await.expect(422);
}

#[tokio::test]
async fn a_password_is_changed_with_the_old_one_and_not_repeated() {
    let server = TestServer::start().await;
    let id = user_with_password(&server, "careful", "old").await;
    let change = |old: &str| json!({"username": "careful", "password": old, "newPassword": "new"});
    let wrong = server.post("/authn/update", &change("guess")).await;
    assert_eq!((wrong.status, wrong.text()), (401, "Invalid credentials".to_owned()));
    server.post("/authn/update", &change("old")).await.expect(204);
    let result = async |password: &str| {
        let body = json!({"userId": id, "password": password});
        server.post("/authn/password/repeatable", &body).await.expect(200)["result"].clone()
    };
    assert_eq!((result("old").await, result("fresh").await), (json!("invalid"), json!("valid")));
}

#[tokio::test]
async fn a_reset_link_sets_a_password_once() {
    let server = TestServer::start().await;
    let id = user_with_password(&server, "forgetful", "lost").await;
    let link: Value = server.post("/bl-users/password-reset/link", &json!({"userId": id})).await.expect(200);
    let link = link["link"].as_str().expect("a link").to_owned();
    let token = link.split("/reset-password/").nth(1).and_then(|rest| rest.split('?').next());
    let bearer = server.client_with(token.expect("the link carries a token"));
    bearer.call("POST", "/bl-users/password-reset/validate", None).await.expect(204);
    bearer.get("/users").await.expect_status(403);
    bearer.post("/bl-users/password-reset/reset", &json!({"newPassword": "found"})).await.expect(204);
    log_in(&server, "/authn/login", "forgetful", "found").await.expect(201);
    let again = bearer.call("POST", "/bl-users/password-reset/validate", None).await;
    assert_eq!(again.expect(422)["errors"][0]["code"], "link.used");
}

#[tokio::test]
async fn credentials_are_created_once_and_deleted() {
    let server = TestServer::start().await;
    let id = user_with_password(&server, "leaving", "secret").await;
    let exist = async || {
        let path = format!("/authn/credentials-existence?userId={id}");
        server.get(&path).await.expect(200)["credentialsExist"].clone()
    };
    assert_eq!(exist().await, true);
    server.post("/authn/credentials", &json!({"userId": id, "password": "other"})).await.expect(422);
    server.delete(&format!("/authn/credentials?userId={id}")).await.expect(204);
    assert_eq!(exist().await, false);
    log_in(&server, "/authn/login", "leaving", "secret").await.expect(422);
    server.delete(&format!("/authn/credentials?userId={id}")).await.expect_status(404);
}

#[tokio::test]
async fn a_password_reset_action_can_be_used_once() {
    let server = TestServer::start().await;
    let id = user_with_password(&server, "reset", "old").await;
    let action = Uuid::new_v4();
    let leave = json!({"id": action, "userId": id, "expirationTime": "2100-01-01T00:00:00Z"});
    let made = server.post("/authn/password-reset-action", &leave).await.expect(201);
    assert_eq!(made["passwordExists"], true);
    let found = server.get(&format!("/authn/password-reset-action/{action}")).await.expect(200);
    assert_eq!(found["userId"], json!(id));
    let new = json!({"passwordResetActionId": action, "newPassword": "new"});
    assert_eq!(server.post("/authn/reset-password", &new).await.expect(201)["isNewPassword"], false);
    log_in(&server, "/authn/login", "reset", "new").await.expect(201);
    server.post("/authn/reset-password", &new).await.expect_status(400);
}
