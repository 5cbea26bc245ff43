//! The size and speed of requests are bounded before they use resources.

use carrel_platform::ServerOptions;
use carrel_testkit::{TENANT, TestServer};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// For effects that are immediate on an idle machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_open_route_takes_a_few_kilobytes() {
    let server = TestServer::start().await;
    let stranger = server.stranger().with_header("x-okapi-tenant", TENANT);
    let body = json!({"username": "x".repeat(9_000), "password": "y"});
    for path in ["/authn/login", "/authn/login-with-expiry", "/bl-users/login"] {
        let refused = stranger.post(path, &body).await;
        assert_eq!(refused.status, 413, "{path}: {}", refused.text());
    }
}

#[tokio::test]
async fn a_large_body_is_refused_before_it_is_read() {
    let server = TestServer::start().await;
    let mut stream = TcpStream::connect(server.address).await.expect("a connection");
    let head =
        "POST /authn/login HTTP/1.1\r\nhost: x\r\nx-okapi-tenant: diku\r\ncontent-length: 67108864\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("the head goes out");
    let mut start = [0; 12];
    tokio::time::timeout(PATIENCE, stream.read_exact(&mut start))
        .await
        .expect("the answer comes without the body")
        .expect("an answer");
    assert_eq!(&start, b"HTTP/1.1 413");
}

#[tokio::test]
async fn bodies_beyond_the_memory_for_them_are_refused_and_the_memory_is_free_again_at_once() {
    let options = ServerOptions { body_memory: 256 * 1024, ..ServerOptions::default() };
    let server = TestServer::start_in(options).await;
    let token = server.token_of(server.admin_id, "diku_admin", TENANT);
    let head = format!(
        "POST /groups HTTP/1.1\r\nhost: x\r\nx-okapi-token: {token}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    // Half-sent bodies that use up the memory.
    let mut slow = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(server.address).await.expect("a connection");
        stream.write_all(head.as_bytes()).await.expect("the head goes out");
        let half = vec![b' '; 100 * 1024];
        stream.write_all(format!("{:x}\r\n", half.len()).as_bytes()).await.expect("sent");
        stream.write_all(&half).await.expect("sent");
        slow.push(stream);
    }
    let chunk = vec![b' '; 250 * 1024];
    let third = || async {
        let mut stream = TcpStream::connect(server.address).await.expect("a connection");
        stream.write_all(head.as_bytes()).await.expect("the head goes out");
        let _ = stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await;
        let _ = stream.write_all(&chunk).await;
        let _ = stream.write_all(b"\r\n0\r\n\r\n").await;
        let mut start = [0; 12];
        let _ = tokio::time::timeout(PATIENCE, stream.read_exact(&mut start)).await.expect("an answer");
        String::from_utf8_lossy(&start).into_owned()
    };
    let started = std::time::Instant::now();
    // The other bodies are counted once the server has read them.
    while third().await != "HTTP/1.1 503" {
        assert!(started.elapsed() < PATIENCE, "the memory is not bounded");
    }
    drop(slow);
    while third().await != "HTTP/1.1 400" {
        assert!(started.elapsed() < 2 * PATIENCE, "the memory is not free again");
    }
}

#[tokio::test]
async fn a_body_of_unknown_keys_gets_a_short_answer() {
    let server = TestServer::start().await;
    let keys: Map<String, Value> = (0..300_000).map(|number| (format!("k{number}"), 1.into())).collect();
    let refused = server.post("/users", &Value::Object(keys)).await;
    refused.expect_status(422);
    assert!(refused.body.len() < 100_000, "{} bytes of refusals", refused.body.len());
    let errors = refused.json()["errors"].as_array().map(Vec::len);
    assert!(errors.is_some_and(|errors| (1..=100).contains(&errors)), "{errors:?} refusals");
}

#[tokio::test]
async fn an_incomplete_head_times_out() {
    let options = ServerOptions { header_timeout: Duration::from_millis(300), ..ServerOptions::default() };
    let server = TestServer::start_in(options).await;
    let streams = join_all((0..50).map(|_| async {
        let mut stream = TcpStream::connect(server.address).await.expect("a connection");
        stream.write_all(b"GET /users HTTP/1.1\r\nhost: x\r\na: ").await.expect("half a head goes out");
        stream
    }))
    .await;
    for mut stream in streams {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "the server waits for the head for ever");
    }
}

#[tokio::test]
async fn the_connections_of_an_address_are_bounded() {
    let options = ServerOptions { connections_per_address: 3, ..ServerOptions::default() };
    let server = TestServer::start_in(options).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(server.address).await.expect("a connection");
        stream.write_all(b"GET /_/version HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("a call goes out");
        let mut start = [0; 12];
        stream.read_exact(&mut start).await.expect("an answer");
        assert_eq!(&start, b"HTTP/1.1 200");
        open.push(stream);
    }
    let answer = || async {
        let mut stream = TcpStream::connect(server.address).await.expect("the system accepts it");
        let _ = stream.write_all(b"GET /_/version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
        let mut answer = Vec::new();
        let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("it is closed");
        String::from_utf8_lossy(&answer).into_owned()
    };
    // Because of unread bytes, the connection may be reset before the answer is read.
    let refused = answer().await;
    assert!(refused.is_empty() || refused.starts_with("HTTP/1.1 429"), "{refused}");
    open.pop();
    let started = std::time::Instant::now();
    while !answer().await.starts_with("HTTP/1.1 200") {
        assert!(started.elapsed() < PATIENCE, "a closed connection frees no slot");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn slow_readers_of_long_lists_leave_connections_to_short_pages() {
    let server = TestServer::start().await;
    let fill = format!(
        "INSERT INTO {schema}.groups (id, doc)
         SELECT id, jsonb_build_object('id', id, 'group', id::text, 'desc', repeat('x', 4000))
         FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 8000)) AS ids",
        schema = server.tenant.schema
    );
    server.database().await.batch_execute(&fill).await.expect("groups can be written");
    let token = server.token_of(server.admin_id, "diku_admin", TENANT);
    let call = format!("GET /groups?limit=100000 HTTP/1.1\r\nhost: x\r\nx-okapi-token: {token}\r\n\r\n");
    let mut slow = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(server.address).await.expect("a connection");
        stream.write_all(call.as_bytes()).await.expect("the call goes out");
        slow.push(stream);
    }
    // The first bytes of the first list show that the lists are being read.
    let mut start = [0; 12];
    slow[0].read_exact(&mut start).await.expect("a list begins");
    for _ in 0..20 {
        let page = tokio::time::timeout(PATIENCE, server.get("/groups?limit=10")).await.expect("an answer");
        page.expect(200);
    }
}
