//! A client of the public API, whose answers describe themselves when a test fails.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use std::net::SocketAddr;

/// A client with its default headers.
#[derive(Clone)]
pub struct Client {
    http: HyperClient<HttpConnector, Full<Bytes>>,
    address: SocketAddr,
    headers: HeaderMap,
}

impl Client {
    /// A client without headers.
    pub fn new(address: SocketAddr) -> Client {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let http = HyperClient::builder(TokioExecutor::new()).build(connector);
        Client { http, address, headers: HeaderMap::new() }
    }

    /// The same client at another address.
    pub fn at(&self, address: SocketAddr) -> Client {
        Client { address, ..self.clone() }
    }

    /// The same client with a header added or replaced.
    pub fn with_header(&self, name: &'static str, value: &str) -> Client {
        let mut client = self.clone();
        let value = HeaderValue::from_str(value).expect("the test's header value can stand in a header");
        client.headers.insert(HeaderName::from_static(name), value);
        client
    }

    /// The same client without a header.
    pub fn without_header(&self, name: &'static str) -> Client {
        let mut client = self.clone();
        client.headers.remove(name);
        client
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.call("GET", path, None).await
    }
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.call("POST", path, Some(body.to_string().into())).await
    }
    pub async fn put(&self, path: &str, body: &Value) -> Reply {
        self.call("PUT", path, Some(body.to_string().into())).await
    }
    pub async fn delete(&self, path: &str) -> Reply {
        self.call("DELETE", path, None).await
    }

    /// Any request, with any bytes as body.
    pub async fn call(&self, method: &str, path: &str, body: Option<Bytes>) -> Reply {
        self.try_call(method, path, body).await.unwrap_or_else(|words| panic!("{words}"))
    }

    /// Any request; an error if no answer comes.
    pub async fn try_call(&self, method: &str, path: &str, body: Option<Bytes>) -> Result<Reply, String> {
        let line = format!("{method} {path}");
        let mut request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).expect("the test names a method"))
            .uri(format!("http://{}{}", self.address, encoded(path)));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if body.is_some() && !self.headers.contains_key("content-type") {
            request = request.header("content-type", "application/json");
        }
        let request = request
            .body(Full::new(body.unwrap_or_default()))
            .map_err(|error| format!("{line}: the test's request cannot be sent: {error}"))?;
        let response =
            self.http.request(request).await.map_err(|error| format!("{line}: no answer: {error}"))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(|error| format!("{line}: the answer was aborted: {error}"))?
            .to_bytes();
        Ok(Reply { request: line, status, headers, body })
    }
}

/// Percent-encodes blanks, quotes and similar characters of a test's query.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len() + 16);
    for letter in path.chars() {
        match letter {
            ' ' | '"' | '<' | '>' | '^' | '\\' | '{' | '}' | '|' | '`' => {
                out.push_str(&format!("%{:02X}", letter as u32));
            }
            letter if letter.is_ascii() => out.push(letter),
            letter => {
                let mut bytes = [0; 4];
                for byte in letter.encode_utf8(&mut bytes).bytes() {
                    out.push_str(&format!("%{byte:02X}"));
                }
            }
        }
    }
    out
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Method and path, for messages.
    pub request: String,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Reply {
    /// The body of an answer with this status: JSON, or else its text.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        self.expect_status(status);
        serde_json::from_slice(&self.body).unwrap_or_else(|_| Value::String(self.text()))
    }

    /// An answer with this status, whatever its body.
    #[track_caller]
    pub fn expect_status(&self, status: u16) {
        assert!(
            self.status == status,
            "{} was answered with {} instead of {status}: {}",
            self.request,
            self.status,
            self.text()
        );
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!(
                "{} was answered with {} and no JSON ({error}): {}",
                self.request,
                self.status,
                self.text()
            )
        })
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header's first value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Messages of a 422's errors.
    #[track_caller]
    pub fn refusals(&self) -> Vec<String> {
        let errors = self.expect(422);
        let errors = errors["errors"].as_array().unwrap_or_else(|| {
            panic!("{} was refused without a list of errors: {}", self.request, self.text())
        });
        errors.iter().map(|error| error["message"].as_str().unwrap_or("").to_owned()).collect()
    }
}
