//! Pages of other origins: what they may read, and which requests they may cause a browser to send.
//!
//! Origins listed in the configuration, and the server's own, may use cookies. Every other page may call only with a
//! token in a header (`X-Okapi-Token`, `Authorization`): it can read the answers, but a write is never authenticated by
//! a cookie of the browser, and a login needs a content type that a browser sends only after a preflight.

use crate::http::Answer;
use crate::http::authentication::{cookie, has_token_header};
use crate::node::ServerOptions;
use http::header::{self, HeaderMap, HeaderName};
use http::{HeaderValue, Method, StatusCode};

/// Cookies that carry a session.
const SESSION_COOKIES: [&str; 2] = ["folioAccessToken", "folioRefreshToken"];

/// The origin of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// The server's own pages, or a client that is not a browser.
    Own,
    /// An origin listed in the configuration.
    Listed(HeaderValue),
    /// Any other page.
    Foreign,
}

impl Origin {
    pub fn of(headers: &HeaderMap, options: &ServerOptions) -> Origin {
        let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
        let Some(origin) = headers.get(header::ORIGIN) else {
            // Browsers send no Origin header with same-origin reads, but always with cross-origin writes.
            return if matches!(site, Some("cross-site" | "same-site")) {
                Origin::Foreign
            } else {
                Origin::Own
            };
        };
        let text = origin.to_str().unwrap_or_default();
        if options.allowed_origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(text)) {
            return Origin::Listed(origin.clone());
        }
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let is_own = text.split_once("://").is_some_and(|(_, of_page)| Some(of_page) == host);
        if is_own || site == Some("same-origin") { Origin::Own } else { Origin::Foreign }
    }

    /// Refuses a write that a page of another origin may have caused a browser to send.
    pub fn refuse_forgery(&self, method: &Method, headers: &HeaderMap) -> Result<(), Answer> {
        let is_read = matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        if *self != Origin::Foreign || is_read || has_token_header(headers) {
            return Ok(());
        }
        if SESSION_COOKIES.iter().any(|name| cookie(headers, name).is_some()) {
            let text = "Pages of this origin may not use cookies: the operator lists those that may (--allowed-origin)";
            return Err(Answer::text(StatusCode::FORBIDDEN, text));
        }
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        if media_type.eq_ignore_ascii_case("application/json") {
            return Ok(());
        }
        let text = "From a page of another origin the Content-Type must be application/json";
        Err(Answer::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, text))
    }

    /// Lets the calling page read the answer.
    pub fn allow_reading(&self, requested: &HeaderMap, headers: &mut HeaderMap) {
        if !requested.contains_key(header::ORIGIN) {
            return;
        }
        let origin = match self {
            Origin::Listed(origin) => Some(origin.clone()),
            Origin::Own => requested.get(header::ORIGIN).cloned(),
            Origin::Foreign => None,
        };
        let with_cookies = origin.is_some();
        let anybody = HeaderValue::from_static("*");
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.unwrap_or(anybody));
        if with_cookies {
            headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("location, x-okapi-token, x-okapi-request-id"),
        );
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }

    /// The answer to a preflight, which needs no permission: browsers send it without credentials.
    pub fn preflight(&self, requested: &HeaderMap) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut insert = |name: HeaderName, value: HeaderValue| headers.insert(name, value);
        insert(
            header::ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
        );
        let wanted = requested.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned().unwrap_or_else(|| {
            HeaderValue::from_static(
                "content-type, authorization, x-okapi-tenant, x-okapi-token, x-okapi-request-id",
            )
        });
        insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted);
        insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
        self.allow_reading(requested, &mut headers);
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        pairs.collect()
    }

    fn options() -> ServerOptions {
        ServerOptions { allowed_origins: vec!["https://desk.example.org".into()], ..ServerOptions::default() }
    }

    #[test]
    fn an_origin_is_own_listed_or_foreign() {
        let listed = Origin::Listed(HeaderValue::from_static("https://desk.example.org"));
        for (pairs, expected) in [
            (&[][..], Origin::Own),
            (&[("origin", "https://desk.example.org"), ("host", "api")], listed),
            (&[("origin", "http://api:9130"), ("host", "api:9130")], Origin::Own),
            (
                &[("origin", "https://public"), ("host", "inner:9130"), ("sec-fetch-site", "same-origin")],
                Origin::Own,
            ),
            (&[("origin", "http://api:9131"), ("host", "api:9130")], Origin::Foreign),
            (&[("origin", "null"), ("host", "api")], Origin::Foreign),
            (&[("origin", "https://desk.example.org.evil"), ("host", "api")], Origin::Foreign),
            (&[("sec-fetch-site", "cross-site")], Origin::Foreign),
        ] {
            assert_eq!(Origin::of(&headers(pairs), &options()), expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_foreign_page_writes_with_its_own_token_only() {
        let status = |pairs: &[(&'static str, &'static str)]| {
            let refused = Origin::Foreign.refuse_forgery(&Method::POST, &headers(pairs));
            refused.err().map_or(200, |answer| answer.status.as_u16())
        };
        assert_eq!(status(&[("cookie", "folioAccessToken=x"), ("content-type", "application/json")]), 403);
        assert_eq!(status(&[("cookie", "folioRefreshToken=x")]), 403);
        assert_eq!(status(&[("cookie", "folioAccessToken=x"), ("x-okapi-token", "y")]), 200);
        assert_eq!(status(&[("content-type", "text/plain")]), 415);
        assert_eq!(status(&[("content-type", "application/json; charset=utf-8")]), 200);
    }
}
