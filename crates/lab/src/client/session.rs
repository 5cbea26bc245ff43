//! A login and the headers that come from it.

use super::connection::{Answer, Connection};
use crate::error::{Context, LabError, Result};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, SET_COOKIE, USER_AGENT};
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TENANT: HeaderName = HeaderName::from_static("x-okapi-tenant");
const TOKEN: HeaderName = HeaderName::from_static("x-okapi-token");
/// Access tokens live ten minutes; a phase lasts seconds, so half of that is early enough.
const RENEW_AFTER: Duration = Duration::from_secs(300);

/// Tenant, username and password.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The tenant.
    pub tenant: String,
    /// The name of a user with the permissions of a circulation worker.
    pub username: String,
    /// The user's password.
    pub password: String,
}

/// A login, its headers ready for every call.
#[derive(Clone)]
pub struct Session {
    credentials: Credentials,
    headers: Arc<HeaderMap>,
    since: Instant,
}

impl Session {
    /// Logs in, with an expiring token if the server issues such, otherwise with one without expiration.
    pub async fn login(connection: &mut Connection, credentials: Credentials) -> Result<Session> {
        let headers = Arc::new(log_in(connection, &credentials).await?);
        Ok(Session { credentials, headers, since: Instant::now() })
    }

    /// The headers of every call.
    pub fn headers(&self) -> Arc<HeaderMap> {
        self.headers.clone()
    }

    /// Logs in again when the token is about to expire.
    pub async fn renew(&mut self, connection: &mut Connection) -> Result<()> {
        if self.since.elapsed() > RENEW_AFTER { self.login_again(connection).await } else { Ok(()) }
    }

    /// Logs in again regardless of the token's age.
    pub async fn login_again(&mut self, connection: &mut Connection) -> Result<()> {
        self.headers = Arc::new(log_in(connection, &self.credentials).await?);
        self.since = Instant::now();
        Ok(())
    }

    /// Reads a JSON record or collection; an answer other than 200 is a failure.
    pub async fn get(&self, connection: &mut Connection, target: &str) -> Result<Value> {
        let answer = connection.call(Method::GET, target, &self.headers, Bytes::new()).await?;
        if answer.status != StatusCode::OK {
            return Err(LabError::new(format!("GET {target} answered {}", answer.brief())));
        }
        answer.json()
    }

    /// Sends a JSON body and returns the answer, whatever its status.
    pub async fn send(
        &self,
        connection: &mut Connection,
        method: Method,
        target: &str,
        body: &Value,
    ) -> Result<Answer> {
        Ok(connection.call(method, target, &self.headers, body.to_string().into()).await?)
    }
}

/// The headers of a call before a login.
pub fn headers_without_login(credentials: &Credentials) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(TENANT, credentials.tenant.parse().context("writing the tenant header")?);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/plain"));
    headers.insert(USER_AGENT, HeaderValue::from_static("carrel-lab"));
    Ok(headers)
}

async fn log_in(connection: &mut Connection, credentials: &Credentials) -> Result<HeaderMap> {
    let mut headers = headers_without_login(credentials)?;
    let body = Bytes::from(
        json!({ "username": credentials.username, "password": credentials.password }).to_string(),
    );
    let mut answer =
        connection.call(Method::POST, "/authn/login-with-expiry", &headers, body.clone()).await?;
    if matches!(answer.status.as_u16(), 404 | 405 | 501) {
        answer = connection.call(Method::POST, "/authn/login", &headers, body).await?;
    }
    if answer.status != StatusCode::CREATED {
        return Err(LabError::new(format!(
            "{} could not log in to tenant {}: {}",
            credentials.username,
            credentials.tenant,
            answer.brief()
        )));
    }
    let token = token(&answer).ok_or_else(|| LabError::new("the login response has no token"))?;
    headers.insert(TOKEN, token.parse().context("writing the token header")?);
    Ok(headers)
}

/// The access token, from the cookie or from the header.
pub fn token(answer: &Answer) -> Option<String> {
    let cookies = answer.headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
    let access = cookies.filter_map(|cookie| cookie.strip_prefix("folioAccessToken=")).next();
    let from_cookie = access.map(|rest| rest.split(';').next().unwrap_or(rest).trim().to_string());
    from_cookie.or_else(|| Some(answer.headers.get(TOKEN)?.to_str().ok()?.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(name: HeaderName, values: &[&'static str]) -> Answer {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name.clone(), HeaderValue::from_static(value));
        }
        Answer { status: StatusCode::CREATED, headers, body: Bytes::new() }
    }

    #[test]
    fn the_token_is_read_from_cookie_or_header() {
        let cookies = answer(
            SET_COOKIE,
            &[
                "folioRefreshToken=r.r; Max-Age=9; Path=/authn",
                "folioAccessToken=a.b.c; Max-Age=600; HttpOnly",
            ],
        );
        assert_eq!(token(&cookies).as_deref(), Some("a.b.c"));
        assert_eq!(token(&answer(TOKEN, &["x.y.z"])).as_deref(), Some("x.y.z"));
        assert_eq!(token(&answer(USER_AGENT, &["none"])), None);
    }
}
