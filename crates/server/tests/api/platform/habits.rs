//! Undocumented behavior that load plans and old clients rely on. Preflights, content types and cookies are tested in
//! `users`, the spaces around the colon with check-out.

use carrel_testkit::TestServer;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends a call as bytes and reads the answer up to the end of its head.
async fn exchange(stream: &mut TcpStream, call: &str) -> String {
    stream.write_all(call.as_bytes()).await.expect("the call goes out");
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while !answer.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = stream.read(&mut piece).await.expect("an answer comes in");
        assert!(length > 0, "the answer broke off: {}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..length]);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn the_token_comes_in_a_header_of_small_letters() {
    let server = TestServer::start().await;
    let body = json!({"username": "diku_admin", "password": "admin"}).to_string();
    let call = format!(
        "POST /authn/login HTTP/1.1\r\nhost: carrel\r\nx-okapi-tenant: diku\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(server.address).await.expect("a connection");
    let answer = exchange(&mut stream, &call).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert!(answer.contains("\r\nx-okapi-token: "), "a case-sensitive pattern reads it: {answer}");
}

#[tokio::test]
async fn a_refresh_needs_no_body() {
    let server = TestServer::start().await;
    let caller = server.stranger().with_header("x-okapi-tenant", "diku");
    let login = caller
        .post("/authn/login-with-expiry", &json!({"username": "diku_admin", "password": "admin"}))
        .await;
    login.expect_status(201);
    let cookies: Vec<&str> = login
        .headers
        .get_all("set-cookie")
        .iter()
        .filter_map(|cookie| cookie.to_str().ok()?.split(';').next())
        .collect();
    let again = caller.with_header("cookie", &cookies.join("; "));
    again.call("POST", "/authn/refresh", None).await.expect_status(201);
}

#[tokio::test]
async fn loosely_written_queries_find_nothing_rather_than_fail() {
    let server = TestServer::start().await;
    for path in [
        "/users?query=(barcode==\"1234\"  or  externalSystemId==\"1234\")",
        "/users?query=(barcode==1234 OR username==1234)",
        "/users?query=(username=nobody* AND active==true)",
        "/users?query=id==${userId}",
        "/users?query=id==NOT_FOUND",
        "/users?query=(username = \"nobody*\"  or  barcode=\"nobody*\")  sortby  personal.lastName",
        "/inventory/items?query=(barcode==10101)",
        "/item-storage/items?query=holdingsRecordId==(a or b)",
        "/circulation/requests?query=(itemId==itemId_NOT_FOUND and (status==\"Open - Awaiting pickup\" or status==\"Open - Awaiting delivery\"))",
        "/circulation/loans?query=(userId==userId_NOT_FOUND and status.name<>Closed)&limit=1",
        "/accounts?query=(userId==userId_NOT_FOUND and status.name<>Closed)&limit=100",
        "/manualblocks?query=(userId==userId_NOT_FOUND)&limit=100",
        "/proxiesfor?query=(userId==userId_NOT_FOUND)",
        "/configurations/entries?query=(module=CHECKOUT and configName=other_settings)",
    ] {
        let found = server.get(path).await.expect(200);
        assert_eq!(found["totalRecords"], 0, "{path}: {found}");
    }
}

#[tokio::test]
async fn users_and_groups_are_listed_without_a_query() {
    let server = TestServer::start().await;
    for (path, collection) in [("/users", "users"), ("/groups", "usergroups")] {
        let page = server.get(path).await.expect(200);
        assert!(page[collection].as_array().is_some_and(|records| !records.is_empty()), "{page}");
    }
}

#[tokio::test]
async fn stored_records_are_sent_without_blanks_between_names_and_values() {
    let server = TestServer::start().await;
    let id = "c0ffee00-0000-4000-8000-000000000001";
    let group = json!({"id": id, "group": "with: a, blank", "desc": "said \"so\""});
    server.post("/groups", &group).await.expect(201);
    for path in [
        format!("/groups/{id}"),
        format!("/groups?query=id=={id}"),
        format!("/groups?limit=1500&query=id=={id}"),
    ] {
        let text = server.get(&path).await.text();
        // Load plans extract values from the answer with such a pattern.
        assert!(text.contains(&format!("\"id\":\"{id}\"")), "{text}");
        assert!(text.contains("\"group\":\"with: a, blank\"") && !text.contains("\": "), "{text}");
    }
}

#[tokio::test]
async fn an_answer_is_sent_without_delay() {
    let server = TestServer::start().await;
    let mut stream = TcpStream::connect(server.address).await.expect("a connection");
    stream.set_nodelay(true).expect("an option of the connection");
    let mut quickest = Duration::MAX;
    for _ in 0..20 {
        let started = Instant::now();
        exchange(&mut stream, "GET /_/version HTTP/1.1\r\nhost: carrel\r\n\r\n").await;
        quickest = quickest.min(started.elapsed());
    }
    // Without TCP_NODELAY every call of a kept connection would take 40 ms.
    assert!(quickest < Duration::from_millis(30), "{quickest:?}");
}

#[tokio::test]
async fn a_replacement_changes_the_record_in_the_path() {
    let server = TestServer::start().await;
    let admin = &server.admin;
    let made = admin.post("/material-types", &json!({"name": "globe", "source": "local"})).await.expect(201);
    let path = format!("/material-types/{}", made["id"].as_str().expect("an id"));
    let other = json!({"id": uuid::Uuid::new_v4(), "name": "map", "source": "local"});
    admin.put(&path, &other).await.expect_status(204);
    let stored = admin.get(&path).await.expect(200);
    assert_eq!((&stored["id"], &stored["name"]), (&made["id"], &json!("map")));
}

/// A call of the administrator with an unescaped target.
async fn reported_raw(server: &TestServer, target: &str, headers: &str) -> String {
    let token = server.token_of(server.admin_id, "diku_admin", "diku");
    let call = format!("GET {target} HTTP/1.1\r\nhost: carrel\r\nx-okapi-token: {token}\r\n{headers}\r\n");
    let mut stream = TcpStream::connect(server.address).await.expect("a connection");
    exchange(&mut stream, &call).await
}

#[tokio::test]
async fn a_query_with_unescaped_characters_is_accepted() {
    let server = TestServer::start().await;
    for target in ["/users?query=(username==\"diku_admin\")&limit=1", "/users?query=username<>\"Zoë\""] {
        let answer = reported_raw(&server, target, "").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{target}: {answer}");
    }
}

#[tokio::test]
async fn too_many_concurrent_calls_of_a_user_are_429() {
    let options = carrel_platform::ServerOptions { most_calls_at_once: 1, ..Default::default() };
    let server = TestServer::start_in(options).await;
    let token = server.token_of(server.admin_id, "diku_admin", "diku");
    let call = format!(
        "POST /groups HTTP/1.1\r\nhost: carrel\r\nx-okapi-token: {token}\r\ncontent-length: 9\r\n\r\n"
    );
    let started = Instant::now();
    let mut head_start = Duration::from_millis(20);
    let (mut slow, refused) = loop {
        let mut slow = TcpStream::connect(server.address).await.expect("a connection");
        slow.write_all(call.as_bytes()).await.expect("the call begins");
        // The server counts the call once it has authenticated its caller. If the other call was faster, the slow one
        // was refused, and both start again.
        tokio::time::sleep(head_start).await;
        let reply = server.get("/groups").await;
        if reply.status == 429 {
            break (slow, reply);
        }
        assert!(started.elapsed() < Duration::from_secs(120), "{}: {}", reply.status, reply.text());
        head_start *= 2;
    };
    assert_eq!(refused.header("retry-after"), Some("1"));
    slow.write_all(b"{\"a\":\"b\"}").await.expect("the call ends");
    drop(slow);
}

#[tokio::test]
async fn a_query_of_eight_hundred_escaped_ids_is_accepted() {
    let server = TestServer::start().await;
    let one = "patronGroup%3D%3D%2200000000-0000-4000-8000-000000000000%22%20or%20".repeat(800);
    let last = format!("/users?query={one}username%3D%3D%22diku_admin%22");
    let answer = reported_raw(&server, &last, "").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let length =
        format!("content-length: {}", server.get("/users?query=username==diku_admin").await.body.len());
    assert!(answer.contains(&length), "the end of the query counts: {answer}");
}
