//! One HTTP connection that is kept open and, when the server closed it, opened again.

use super::tls::Tls;
use crate::error::{Context, LabError, Result, with_causes};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::net::TcpStream;

/// Time-out of a call.
const PATIENCE: Duration = Duration::from_secs(60);

/// The address of the API.
#[derive(Clone)]
pub struct Address {
    authority: String,
    tls: Option<Tls>,
}

impl Address {
    /// Reads `https://host:port`, `http://host:port` or `host:port`. Certificates are trusted as [`Tls::to`] says.
    pub fn parse(text: &str) -> Result<Address> {
        let (bare, encrypted) = match text.strip_prefix("https://") {
            Some(bare) => (bare, true),
            None => (text.trim_start_matches("http://"), false),
        };
        let bare = bare.trim_end_matches('/');
        let uri: Uri = bare.parse().context(format!("reading the address {text}"))?;
        let authority = uri.authority().filter(|_| !bare.contains('/'));
        let authority = authority
            .ok_or_else(|| LabError::new(format!("{text} is not an address like http://host:9130")))?;
        let port = match authority.port() {
            Some(_) => "",
            None if encrypted => ":443",
            None => ":80",
        };
        let tls = encrypted.then(|| Tls::to(authority.host())).transpose()?;
        Ok(Address { authority: format!("{authority}{port}"), tls })
    }

    /// The same address by TLS, trusting the certificates in a PEM file only.
    pub fn trusting(self, file: &std::path::Path) -> Result<Address> {
        let host = self.authority.rsplit_once(':').map_or(&*self.authority, |(host, _)| host);
        Ok(Address { tls: Some(Tls::trusting(file, host)?), ..self })
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority)
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

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The kind by which errors are counted.
    pub kind: ErrorKind,
    /// What happened.
    pub text: String,
}

/// Kinds of errors that are counted separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// An answer with an unexpected status.
    Status(u16),
    /// An answer that fails a check.
    Check,
    /// No connection could be opened.
    Connect,
    /// No answer in time.
    Timeout,
    /// The connection broke before the whole answer was received.
    Broken,
    /// The login was refused.
    Login,
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ErrorKind::Status(status) => write!(f, "HTTP {status}"),
            ErrorKind::Check => f.write_str("failed check"),
            ErrorKind::Connect => f.write_str("no connection"),
            ErrorKind::Timeout => f.write_str("no answer in time"),
            ErrorKind::Broken => f.write_str("broken connection"),
            ErrorKind::Login => f.write_str("login refused"),
        }
    }
}

impl Failed {
    fn new(kind: ErrorKind, text: impl std::fmt::Display) -> Failed {
        Failed { kind, text: text.to_string() }
    }
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Failed> for LabError {
    fn from(failed: Failed) -> LabError {
        LabError::new(failed.text)
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
    ) -> std::result::Result<Answer, Failed> {
        match tokio::time::timeout(PATIENCE, self.exchange(method, target, headers, body)).await {
            Ok(answer) => answer,
            Err(_) => {
                // A late answer would be taken for that of the next call.
                self.sender = None;
                let text = format!("no answer from {target} within {} s", PATIENCE.as_secs());
                Err(Failed::new(ErrorKind::Timeout, text))
            }
        }
    }

    async fn exchange(
        &mut self,
        method: Method,
        target: &str,
        headers: &HeaderMap,
        body: Bytes,
    ) -> std::result::Result<Answer, Failed> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        let broken = |error: LabError| Failed::new(ErrorKind::Broken, error);
        *request.uri_mut() =
            target.parse().context(format!("writing the address {target}")).map_err(broken)?;
        *request.headers_mut() = headers.clone();
        let host = self.address.authority.parse().context("writing the host header").map_err(broken)?;
        request.headers_mut().insert(http::header::HOST, host);
        let ready = self.ready().await.map_err(|error| Failed::new(ErrorKind::Connect, error))?;
        match ready.send_request(request).await {
            Ok(response) => {
                let (parts, body) = response.into_parts();
                let body = body.collect().await.context(format!("reading the answer of {target}"));
                let body = body.map_err(broken)?.to_bytes();
                Ok(Answer { status: parts.status, headers: parts.headers, body })
            }
            Err(error) => {
                self.sender = None;
                let text = format!("calling {target}: {}", with_causes(&error));
                Err(Failed::new(ErrorKind::Broken, text))
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
            // The task ends with the connection; after an error the next call fails.
            self.sender = Some(match &self.address.tls {
                None => {
                    let (sender, connection) =
                        handshake(TokioIo::new(stream)).await.context(format!("opening {}", self.address))?;
                    tokio::spawn(connection);
                    sender
                }
                Some(tls) => {
                    let stream = tls.encrypt(stream).await.context(format!("opening {}", self.address))?;
                    let (sender, connection) =
                        handshake(TokioIo::new(stream)).await.context(format!("opening {}", self.address))?;
                    tokio::spawn(connection);
                    sender
                }
            });
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
        for text in ["ftp://folio.example", "http://host:9130/path", "https://host/path", ""] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
