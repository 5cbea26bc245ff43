//! A body is never run as a request, and no query is lost.

use carrel_testkit::TestServer;
use serde_json::json;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends the bytes and reads until the server closes the connection.
async fn conversation(server: &TestServer, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).await.expect("a connection");
    // The server may close the connection before it has read everything.
    let _ = stream.write_all(bytes).await;
    let mut answers = Vec::new();
    let reading = stream.read_to_end(&mut answers);
    let _ = tokio::time::timeout(Duration::from_secs(120), reading).await.expect("the connection is closed");
    String::from_utf8_lossy(&answers).into_owned()
}

/// A request that creates a patron group, to be smuggled in a body.
fn smuggled(server: &TestServer) -> String {
    let token = server.token_of(server.admin_id, "diku_admin", "diku");
    let body = json!({"group": "smuggled"}).to_string();
    format!(
        "POST /groups HTTP/1.1\r\nhost: x\r\nx-okapi-token: {token}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn a_body_after_a_refused_head_is_not_run_as_a_request() {
    let server = TestServer::start().await;
    let smuggled = smuggled(&server);
    let length = smuggled.len();
    for (name, fields) in [
        ("many headers", format!("{}content-length: {length}\r\n", "a: b\r\n".repeat(120))),
        ("a long header", format!("a: {}\r\ncontent-length: {length}\r\n", "x".repeat(100_000))),
        ("a longer header", format!("a: {}\r\ncontent-length: {length}\r\n", "x".repeat(200_000))),
        ("leading zeros", format!("content-length: {length:0>100}\r\n")),
        ("a sign", format!("content-length: +{length}\r\n")),
        ("two lengths", format!("content-length: {length}\r\ncontent-length: 0\r\n")),
        (
            "a chunked body with a length",
            format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n"),
        ),
        ("an unknown encoding", format!("transfer-encoding: xchunked\r\ncontent-length: {length}\r\n")),
    ] {
        let request = format!(
            "POST /authn/login HTTP/1.1\r\nhost: x\r\n{fields}connection: keep-alive\r\n\r\n{smuggled}"
        );
        let answers = tokio::time::timeout(Duration::from_secs(300), async {
            let mut stream = TcpStream::connect(server.address).await.expect("a connection");
            let _ = stream.write_all(request.as_bytes()).await;
            let _ = stream.shutdown().await;
            let mut answers = Vec::new();
            let _ = stream.read_to_end(&mut answers).await;
            String::from_utf8_lossy(&answers).into_owned()
        })
        .await
        .expect("the connection is closed");
        assert!(answers.matches("HTTP/1.1 ").count() <= 1, "{name}: {answers}");
    }
    let made = server.get("/groups?query=group==smuggled").await.expect(200);
    assert_eq!(made["totalRecords"], 0, "a request was smuggled: {made}");
}

#[tokio::test]
async fn a_head_that_is_refused_closes_the_connection() {
    let server = TestServer::start().await;
    for (name, request, status) in [
        ("many headers", format!("GET /users HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(200)), 431),
        ("long headers", format!("GET /users HTTP/1.1\r\na: {}\r\n\r\n", "b".repeat(200_000)), 431),
        ("a long target", format!("GET /users?query={} HTTP/1.1\r\n\r\n", "a".repeat(66_000)), 414),
        ("a fragment", "DELETE /users?query=a==b#c HTTP/1.1\r\n\r\n".to_owned(), 400),
    ] {
        let answers = conversation(&server, request.as_bytes()).await;
        // If the server has not read everything, the answer may be lost with the connection.
        let expected = format!("HTTP/1.1 {status}");
        assert!(answers.is_empty() || answers.starts_with(&expected), "{name}: {answers}");
    }
}

#[tokio::test]
async fn a_query_after_a_long_path_is_not_lost() {
    let server = TestServer::start().await;
    let token = server.token_of(server.admin_id, "diku_admin", "diku");
    let slashes = "/".repeat(64_000);
    let request = format!(
        "DELETE /groups{slashes}?query=group==%22{}%22 HTTP/1.1\r\nhost: x\r\nx-okapi-token: {token}\r\nconnection: close\r\n\r\n",
        "a".repeat(3_000)
    );
    conversation(&server, request.as_bytes()).await;
    let left = server.get("/groups").await.expect(200);
    assert!(left["totalRecords"].as_u64().is_some_and(|left| left > 0), "all groups were deleted");
}
