//! Compares the exchange of bytes with the HTTP library's own parsing of the same requests.

use super::*;
use crate::http::connections;
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// One parsed request.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Read {
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    /// `None` if the body could not be read to its end.
    body: Option<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// The library without the exchange.
    Node,
    /// The library with the exchange, as the server uses it.
    Server,
}

/// Sends the bytes in pieces and reads requests until the connection ends; returns the requests, and the statuses of
/// the answers.
async fn read_all(bytes: &[u8], reader: Reader, piece: usize) -> (Vec<Read>, Vec<u16>) {
    let (mut client, server) = tokio::io::duplex(1 << 20);
    let requests = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&requests);
    let service = service_fn(move |request: Request<Incoming>| {
        let kept = Arc::clone(&kept);
        async move {
            let read = read_one(request, reader).await;
            kept.lock().expect("no test panics here").push(read);
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        }
    });
    let mut builder = connections::http1(Duration::from_secs(60));
    // The client closes its sending side at once, and waits for its answers.
    builder.half_close(true);
    let serving = async move {
        match reader {
            Reader::Node => {
                let _ = builder.serve_connection(TokioIo::<DuplexStream>::new(server), service).await;
            }
            Reader::Server => {
                let _ = builder.serve_connection(TokioIo::new(Exchanging(server)), service).await;
            }
        }
    };
    let talking = async {
        for piece in bytes.chunks(piece) {
            if client.write_all(piece).await.is_err() {
                break;
            }
            tokio::task::yield_now().await;
        }
        let _ = client.shutdown().await;
        let mut answers = Vec::new();
        let _ = client.read_to_end(&mut answers).await;
        answers
    };
    let ((), answers) = tokio::join!(serving, talking);
    let answers = String::from_utf8_lossy(&answers);
    let statuses =
        answers.split("HTTP/1.1 ").skip(1).map(|answer| answer[..3].parse().unwrap_or(0)).collect();
    let requests = requests.lock().expect("no test panics here").clone();
    (requests, statuses)
}

async fn read_one(request: Request<Incoming>, reader: Reader) -> Read {
    let (mut head, body) = request.into_parts();
    let mut target = head.uri.to_string();
    let mut body = body.collect().await.ok().map(|body| body.to_bytes().to_vec());
    if reader == Reader::Server {
        restore_headers(&mut head.headers);
        target = restored(&target);
        if let Some(body) = &mut body {
            exchange(body);
        }
    }
    let headers = head.headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    Read { method: head.method.to_string(), target, headers: headers.collect(), body }
}

/// Requests with everything that servers have parsed differently, valid and invalid; the second copy has the target's
/// raw characters escaped.
fn generate(random: &mut StdRng) -> (Vec<u8>, Vec<u8>) {
    let (mut raw, mut escaped) = (Vec::new(), Vec::new());
    for _ in 0..random.random_range(1..=5) {
        let mut rest = Vec::new();
        let method = ["GET", "POST", "DELETE", "PUT", "HEAD"].choose(random).expect("some");
        let targets = [
            "/users?query=a==\"b\"",
            "/a?b<>c",
            "/loans?query=(status.name<>\"Closed\")&limit=1",
            "/é?ü=\"ö\"",
        ];
        let target = match random.random_range(0..3) {
            0 => (*targets.choose(random).expect("some")).to_owned(),
            1 => format!("/a?{}", "x".repeat(random.random_range(0..300))),
            _ => "/circulation/loans?limit=1".to_owned(),
        };
        let version = if random.random_bool(0.97) {
            "HTTP/1.1"
        } else {
            *["HTTP/1.0", "HTTP/2.0", "http/1.1", ""].choose(random).expect("some")
        };
        let line_end = if random.random_bool(0.97) {
            "\r\n"
        } else {
            *["\n", "\r", "\r\r\n", " \r\n"].choose(random).expect("some")
        };
        rest.extend_from_slice(format!(" {version}{line_end}").as_bytes());
        let filling = match random.random_range(0..100) {
            0 => random.random_range(85..130),
            1 => 3000,
            _ => random.random_range(0..4),
        };
        for number in 0..filling {
            let value =
                ["b", "\"<>#", "`^|", "", "  x ", "\u{e9}", "GET /x HTTP/1.1"].choose(random).expect("some");
            rest.extend_from_slice(format!("a{number}: {value}\r\n").as_bytes());
        }
        if random.random_range(0..200) == 0 {
            rest.extend_from_slice(
                format!("long: {}\r\n", "x".repeat(random.random_range(90_000..140_000))).as_bytes(),
            );
        }
        // A body that looks like a request.
        let body =
            ["", "abc", "GET /smuggled?\" HTTP/1.1\r\nHost: x\r\n\r\n", "{\"a\":\"<b>#`^|\"}", "\r\n\r\n"]
                .choose(random)
                .expect("some");
        let length = body.len();
        match random.random_range(0..14) {
            0 | 1 => rest.extend_from_slice(format!("Content-Length: {length}\r\n\r\n{body}").as_bytes()),
            2 => rest.extend_from_slice(format!("Content-Length: {:0>100}\r\n\r\n{body}", length).as_bytes()),
            3 => rest.extend_from_slice(
                format!("Content-Length: {length}\r\nContent-Length: {length}\r\n\r\n{body}").as_bytes(),
            ),
            4 => rest.extend_from_slice(
                format!("Content-Length: {length}\r\nContent-Length: {}\r\n\r\n{body}", length + 1)
                    .as_bytes(),
            ),
            5 => {
                let odd = ["+5", "-1", "5 5", "5,5", "0x5", "", "99999999999999999999", "\"5\"", "^5"]
                    .choose(random)
                    .expect("some");
                rest.extend_from_slice(format!("Content-Length: {odd}\r\n\r\n{body}").as_bytes());
            }
            6 | 7 => rest.extend_from_slice(
                format!("Transfer-Encoding: chunked\r\n\r\n{}", chunked(random, body)).as_bytes(),
            ),
            8 => {
                let odd = [
                    "gzip, chunked",
                    "chunked, gzip",
                    "Chunked",
                    " chunked",
                    "\"chunked\"",
                    "xchunked",
                    "identity",
                    "chunked;q=<1>",
                ]
                .choose(random)
                .expect("some");
                rest.extend_from_slice(
                    format!("Transfer-Encoding: {odd}\r\n\r\n{}", chunked(random, body)).as_bytes(),
                );
            }
            9 => rest.extend_from_slice(
                format!(
                    "Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n\r\n{}",
                    chunked(random, body)
                )
                .as_bytes(),
            ),
            10 => rest.extend_from_slice(format!("Content-Length : {length}\r\n\r\n{body}").as_bytes()),
            11 => {
                rest.extend_from_slice(format!("x: y\r\n Content-Length: {length}\r\n\r\n{body}").as_bytes())
            }
            12 => rest.extend_from_slice(b"Connection: close\r\n\r\n"),
            _ => rest.extend_from_slice(b"\r\n"),
        }
        raw.extend_from_slice(format!("{method} {target}").as_bytes());
        let target = target.replace('"', "%22").replace('<', "%3C").replace('>', "%3E");
        escaped.extend_from_slice(format!("{method} {target}").as_bytes());
        raw.extend_from_slice(&rest);
        escaped.extend_from_slice(&rest);
    }
    (raw, escaped)
}

fn chunked(random: &mut StdRng, body: &str) -> String {
    let extension = ["", ";a=\"<b>\"", ";#`^|", " ", ";x"].choose(random).expect("some");
    let size = match random.random_range(0..10) {
        0 => format!("{:X}", body.len() + 1),
        1 => format!("0x{:x}", body.len()),
        2 => format!("{:0>20x}", body.len()),
        _ => format!("{:x}", body.len()),
    };
    let trailer = ["", "", "", "t: \"<>\"\r\n", "no trailer\r\n"].choose(random).expect("some");
    match body {
        "" => format!("0{extension}\r\n{trailer}\r\n"),
        _ => format!("{size}{extension}\r\n{body}\r\n0\r\n{trailer}\r\n"),
    }
}

fn with_escaped_targets(requests: Vec<Read>) -> Vec<Read> {
    let escaped = |mut read: Read| {
        read.target = read.target.replace('"', "%22").replace('<', "%3C").replace('>', "%3E");
        read
    };
    requests.into_iter().map(escaped).collect()
}

/// The number of connections, of three requests each on average.
const CONNECTIONS: u64 = 40_000;

#[tokio::test(flavor = "current_thread")]
async fn a_hundred_thousand_requests_are_framed_as_the_library_alone_frames_them() {
    let (mut requests, mut refusals) = (0, 0);
    let mut random = StdRng::seed_from_u64(8);
    for connection in 0..CONNECTIONS {
        let (raw, escaped) = generate(&mut random);
        let piece = [usize::MAX, 1 << 16, 100, 7][random.random_range(0..4)].min(raw.len());
        let piece = if raw.len() > 10_000 { raw.len() } else { piece };
        let expected = read_all(&escaped, Reader::Node, piece).await;
        let found = read_all(&raw, Reader::Server, piece).await;
        requests += raw.windows(6).filter(|bytes| bytes == b" HTTP/").count();
        refusals += usize::from(found.1.last().is_some_and(|status| *status >= 400));
        assert_eq!(
            (with_escaped_targets(found.0), found.1),
            expected,
            "connection {connection}: {}",
            String::from_utf8_lossy(&raw[..raw.len().min(5_000)])
        );
    }
    assert!(requests > 100_000, "only {requests} requests were generated");
    assert!(refusals > 1_000, "only {refusals} connections ended with a refusal");
}

async fn served(bytes: &str) -> (Vec<Read>, Vec<u16>) {
    read_all(bytes.as_bytes(), Reader::Server, bytes.len()).await
}

#[tokio::test]
async fn raw_characters_of_a_query_arrive_as_they_were_sent() {
    let (requests, statuses) = served(
        "POST /users?query=a<>\"Zoë\" HTTP/1.1\r\nX-A: \"<>#`^|\r\nContent-Length: 7\r\n\r\n\"<>#`^|GET /b?c=\"\" HTTP/1.1\r\n\r\n",
    )
    .await;
    assert_eq!(statuses, [200, 200]);
    assert_eq!(requests[0].target, "/users?query=a<>\"Zoë\"");
    assert_eq!(requests[0].body.as_deref(), Some(&b"\"<>#`^|"[..]));
    assert_eq!(requests[0].headers[0], ("x-a".to_owned(), b"\"<>#`^|".to_vec()));
    assert_eq!(requests[1].target, "/b?c=\"\"");
}

#[tokio::test]
async fn ambiguous_framing_closes_the_connection() {
    let smuggled = "DELETE /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    let length = smuggled.len();
    let many = "a: b\r\n".repeat(120);
    let long = "x".repeat(150_000);
    for head in [
        format!("POST /users HTTP/1.1\r\n{many}Content-Length: {length}\r\n"),
        format!("POST /users HTTP/1.1\r\na: {long}\r\nContent-Length: {length}\r\n"),
        format!("POST /{long} HTTP/1.1\r\nContent-Length: {length}\r\n"),
        format!("POST /users HTTP/1.1\r\nContent-Length: +{length}\r\n"),
        format!("POST /users HTTP/1.1\r\nContent-Length: {length}\r\nContent-Length: 0\r\n"),
        format!("POST /users#x HTTP/1.1\r\nContent-Length: {length}\r\n"),
    ] {
        let (requests, statuses) = served(&format!("{head}\r\n{smuggled}")).await;
        assert_eq!(requests, [], "{}", &head[..head.len().min(200)]);
        assert!(matches!(statuses[..], [400 | 414 | 431]), "{statuses:?}: {}", &head[..head.len().min(200)]);
    }
}

#[tokio::test]
async fn a_length_with_a_hundred_leading_zeros_covers_its_body() {
    let smuggled = "DELETE /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    let head = format!("POST /users HTTP/1.1\r\nContent-Length: {:0>100}\r\n\r\n", smuggled.len());
    let (requests, _) = served(&format!("{head}{smuggled}")).await;
    assert!(requests.iter().all(|request| request.target != "/smuggled"), "{requests:?}");
}

#[test]
fn no_byte_that_delimits_a_message_is_exchanged() {
    for byte in 0..=255_u8 {
        assert_eq!(EXCHANGED[usize::from(EXCHANGED[usize::from(byte)])], byte);
        let delimits = byte.is_ascii_alphanumeric() || byte <= b' ' || b":;,+-=./?&%".contains(&byte);
        assert!(!delimits || EXCHANGED[usize::from(byte)] == byte, "{byte}");
    }
}
