//! A client of the server's API.

use carrel_lab::{Address, Answer, Connection, Credentials, Session};
use http::Method;
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A connection with a login.
pub struct Api {
    connection: Connection,
    session: Session,
}

impl Api {
    pub async fn log_in(
        address: SocketAddr,
        tenant: &str,
        username: &str,
        password: &str,
    ) -> Result<Api, String> {
        let address = Address::parse(&reachable(address).to_string()).map_err(|error| error.to_string())?;
        let mut connection = Connection::new(address);
        let credentials =
            Credentials { tenant: tenant.into(), username: username.into(), password: password.into() };
        let session = Session::login(&mut connection, credentials)
            .await
            .map_err(|error| format!("{error} (was the password changed?)"))?;
        Ok(Api { connection, session })
    }

    /// The record or collection at the path; `None` for 404.
    pub async fn find(&mut self, target: &str) -> Result<Option<Value>, String> {
        let answer = self.call(Method::GET, target, &Value::Null).await?;
        match answer.status.as_u16() {
            200 => answer.json().map(Some).map_err(|error| error.to_string()),
            404 => Ok(None),
            _ => Err(format!("GET {target} was answered with {}", answer.brief())),
        }
    }

    /// Any request; the answer may have any status.
    pub async fn call(&mut self, method: Method, target: &str, body: &Value) -> Result<Answer, String> {
        self.session.send(&mut self.connection, method, target, body).await.map_err(|error| error.to_string())
    }

    /// A request that must succeed.
    pub async fn send(&mut self, method: Method, target: &str, body: &Value) -> Result<Answer, String> {
        let answer = self.call(method.clone(), target, body).await?;
        if answer.status.is_success() {
            Ok(answer)
        } else {
            Err(format!("{method} {target} was answered with {}", answer.brief()))
        }
    }
}

/// The loopback address of a server that listens on all addresses.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
