//! Bounds on the routes of login.

use super::login::{log_in, stranger, user_with_password};
use carrel_platform::ServerOptions;
use carrel_testkit::{ADMIN, Client, PASSWORD, TestServer};
use futures_util::future::join_all;
use serde_json::json;
use std::net::{IpAddr, Ipv4Addr};
use uuid::Uuid;

const LOGIN: &str = "/authn/login";

/// A server that trusts a proxy on loopback, so that a test can call from any address.
async fn behind_a_proxy() -> TestServer {
    let trusted_proxies = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
    TestServer::start_in(ServerOptions { trusted_proxies, ..ServerOptions::default() }).await
}

fn from(server: &TestServer, address: &str) -> Client {
    stranger(server).with_header("x-forwarded-for", address)
}

async fn try_password(client: &Client, name: &str, password: &str) -> u16 {
    client.post(LOGIN, &json!({"username": name, "password": password})).await.status
}

#[tokio::test]
async fn an_overlong_username_or_password_is_refused() {
    let server = TestServer::start().await;
    // Within the bound of the body, so that the bound of the field refuses it.
    let long = "é".repeat(3_000);
    let caller = stranger(&server);
    for path in [LOGIN, "/authn/login-with-expiry", "/bl-users/login", "/bl-users/login-with-expiry"] {
        caller.post(path, &json!({"username": long, "password": "x"})).await.expect_status(400);
        caller.post(path, &json!({"username": ADMIN, "password": long})).await.expect_status(400);
    }
    let credentials = json!({"username": ADMIN, "password": PASSWORD, "newPassword": long});
    server.post("/authn/update", &credentials).await.expect_status(400);
    server.post("/authn/credentials", &json!({"userId": Uuid::new_v4(), "password": long})).await.expect(400);
}

#[tokio::test]
async fn a_username_with_wildcards_finds_no_other_user() {
    let server = TestServer::start().await;
    for name in ["diku_*", "*", "diku?admin", "\"", "\\", "", " "] {
        log_in(&server, LOGIN, name, PASSWORD).await.expect_status(422);
    }
    log_in(&server, LOGIN, "DIKU_Ádmin", PASSWORD).await.expect_status(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_guesses_count_like_consecutive_ones() {
    let server = TestServer::start().await;
    let user = user_with_password(&server, "target", "right").await;
    let client = stranger(&server);
    let statuses = join_all((0..41).map(|_| try_password(&client, "target", "wrong"))).await;
    assert!(statuses.iter().all(|status| [422, 429].contains(status)), "{statuses:?}");
    let attempts = server.get(&format!("/authn/loginAttempts/{user}")).await.expect(200);
    assert_eq!(attempts["attemptCount"], 5, "each counted attempt is one password that was tried");
    log_in(&server, LOGIN, "target", "right").await.expect_status(422);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_concurrent_logins_to_one_account_are_not_failures() {
    let server = TestServer::start().await;
    user_with_password(&server, "shared", "right").await;
    let client = stranger(&server);
    let statuses = join_all((0..20).map(|_| try_password(&client, "shared", "right"))).await;
    assert_eq!(statuses, [201; 20]);
}

#[tokio::test]
async fn guesses_of_an_unknown_name_are_answered_like_those_of_a_known_one() {
    let server = TestServer::start().await;
    user_with_password(&server, "known", "right").await;
    for _ in 0..7 {
        let (known, unknown) = (
            log_in(&server, LOGIN, "known", "wrong").await,
            log_in(&server, LOGIN, "unknown", "wrong").await,
        );
        assert_eq!((known.status, known.text()), (unknown.status, unknown.text()));
    }
}

#[tokio::test]
async fn guesses_close_an_account_only_to_their_address() {
    let server = behind_a_proxy().await;
    user_with_password(&server, "victim", "right").await;
    let (attacker, owner) = (from(&server, "198.51.100.1"), from(&server, "192.0.2.1"));
    for _ in 0..6 {
        assert_eq!(try_password(&attacker, "victim", "wrong").await, 422);
    }
    assert_eq!(try_password(&attacker, "victim", "right").await, 422);
    assert_eq!(try_password(&owner, "victim", "right").await, 201);
}

#[tokio::test]
async fn guesses_from_many_addresses_are_stopped_without_locking_the_owner_out() {
    let server = behind_a_proxy().await;
    let user = user_with_password(&server, "victim", "right").await;
    let owner = from(&server, "192.0.2.1");
    assert_eq!(try_password(&owner, "victim", "right").await, 201);
    let database = server.database().await;
    let used_up = "UPDATE login_attempt SET attempts = 50 WHERE account_id = $1 AND address = ''";
    database.execute(used_up, &[&user]).await.expect("fifty guesses from everywhere");
    assert_eq!(try_password(&from(&server, "198.51.100.7"), "victim", "right").await, 422);
    assert_eq!(try_password(&owner, "victim", "right").await, 201);
}

#[tokio::test]
async fn one_address_has_a_limit_over_all_accounts() {
    let server = behind_a_proxy().await;
    let database = server.database().await;
    let attacker = from(&server, "198.51.100.1");
    assert_eq!(try_password(&attacker, "somebody", "guess").await, 422);
    let used_up = "UPDATE login_attempt SET attempts = 100
                   WHERE account_id = '00000000-0000-0000-0000-000000000000' AND address = '198.51.100.1'";
    database.execute(used_up, &[]).await.expect("a hundred guesses on many names");
    let refused = attacker.post(LOGIN, &json!({"username": ADMIN, "password": PASSWORD})).await;
    refused.expect_status(429);
    assert!(refused.header("retry-after").is_some());
    assert_eq!(try_password(&from(&server, "198.51.100.2"), ADMIN, PASSWORD).await, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logins_beyond_the_queue_are_429() {
    let server = TestServer::start().await;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let client = stranger(&server);
    let credentials = json!({"username": ADMIN, "password": PASSWORD});
    let replies = join_all((0..100 * processors).map(|_| client.post(LOGIN, &credentials))).await;
    let refused: Vec<_> = replies.iter().filter(|reply| reply.status == 429).collect();
    assert!(!refused.is_empty(), "all of {} logins were admitted", replies.len());
    assert!(refused.iter().all(|reply| reply.header("retry-after").is_some()));
    log_in(&server, LOGIN, ADMIN, PASSWORD).await.expect_status(201);
}

#[tokio::test]
async fn a_reset_password_opens_a_closed_account() {
    let server = TestServer::start().await;
    let user = user_with_password(&server, "forgetful", "old").await;
    for _ in 0..6 {
        log_in(&server, LOGIN, "forgetful", "wrong").await.expect_status(422);
    }
    let action = json!({"id": Uuid::new_v4(), "userId": user, "expirationTime": "2100-01-01T00:00:00Z"});
    server.post("/authn/password-reset-action", &action).await.expect(201);
    let reset = json!({"passwordResetActionId": action["id"], "newPassword": "new"});
    server.post("/authn/reset-password", &reset).await.expect(201);
    log_in(&server, LOGIN, "forgetful", "new").await.expect_status(201);
}
