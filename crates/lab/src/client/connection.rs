//! One HTTP connection that is kept open and, when the server closed it, opened again.

use crate::error::{Context, LabError, Result, with_causes};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::net::TcpStream;

/// Longer than any worker waits; a server that takes longer has failed the call.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the API answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    authority: String,
}

impl Address {
    /// Reads `http://host:port` (or `host:port`).
    pub fn parse(text: &str) -> Result<Address> {
        if text.starts_with("https:") {
            return Err(LabError::new(
                "the lab speaks plain HTTP; give it the address behind the TLS terminator",
            ));
        }
        let bare = text.trim_start_matches("http://").trim_end_matches('/');
        let uri: Uri = bare.parse().context(format!("reading the address {text}"))?;
        let authority = uri.authority().filter(|_| !bare.contains('/'));
        let authority = authority
            .ok_or_else(|| LabError::new(format!("{text} is not an address like http://host:9130")))?;
        let port = if authority.port().is_some() { "" } else { ":80" };
        Ok(Address { authority: format!("{authority}{port}") })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}", self.authority)
    }
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    /// Its status code.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, to the last byte.
    pub body: Bytes,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Result<serde_json::Value> {
        serde_json::from_slice(&self.body).context("reading an answer as JSON")
    }

    /// Status and the beginning of the body, for a message about a failure.
    pub fn brief(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let beginning: String =
            text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect();
        format!("{} {beginning}", self.status.as_u16())
    }
}

/// A connection to the API.
pub struct Connection {
    address: Address,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Connection {
    /// A connection that opens with its first call.
    pub fn new(address: Address) -> Connection {
        Connection { address, sender: None }
    }

    /// Sends a request and reads the whole answer. An answer of any status is a success here.
    pub async fn call(
        &mut self,
        method: Method,
        target: &str,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Answer> {
        match tokio::time::timeout(PATIENCE, self.exchange(method, target, headers, body)).await {
            Ok(answer) => answer,
            Err(_) => {
                // What comes late would be taken for the next answer.
                self.sender = None;
                Err(LabError::new(format!("no answer from {target} within {} s", PATIENCE.as_secs())))
            }
        }
    }

    async fn exchange(
        &mut self,
        method: Method,
        target: &str,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Answer> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = target.parse().context(format!("writing the address {target}"))?;
        *request.headers_mut() = headers.clone();
        let host = self.address.authority.parse().context("writing the host header")?;
        request.headers_mut().insert(http::header::HOST, host);
        match self.ready().await?.send_request(request).await {
            Ok(response) => {
                let (parts, body) = response.into_parts();
                let body =
                    body.collect().await.context(format!("reading the answer of {target}"))?.to_bytes();
                Ok(Answer { status: parts.status, headers: parts.headers, body })
            }
            Err(error) => {
                self.sender = None;
                Err(LabError::new(format!("calling {target}: {}", with_causes(&error))))
            }
        }
    }

    async fn ready(&mut self) -> Result<&mut SendRequest<Full<Bytes>>> {
        let alive = match &mut self.sender {
            Some(sender) => sender.ready().await.is_ok(),
            None => false,
        };
        if !alive {
            let authority = &self.address.authority;
            let stream =
                TcpStream::connect(authority).await.context(format!("connecting to {}", self.address))?;
            stream.set_nodelay(true).context("turning off packet delay")?;
            let (sender, connection) =
                handshake(TokioIo::new(stream)).await.context(format!("opening {}", self.address))?;
            // The task ends with the connection; an error shows in the next answer.
            tokio::spawn(connection);
            self.sender = Some(sender);
        }
        Ok(self.sender.as_mut().expect("it was alive or has just been opened"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_and_without_scheme_and_port() {
        for (text, authority) in [
            ("http://localhost:9130", "localhost:9130"),
            ("http://localhost:9130/", "localhost:9130"),
            ("127.0.0.1:9130", "127.0.0.1:9130"),
            ("http://okapi", "okapi:80"),
        ] {
            assert_eq!(Address::parse(text).unwrap().authority, authority, "{text}");
        }
    }

    #[test]
    fn what_the_lab_cannot_reach_is_refused() {
        for text in ["https://folio.example", "http://host:9130/path", ""] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
