//! Pages of other origins: browsers ask first whether their pages may call, and read answers only where that is said.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};

/// Preflights are answered without a question about permission, as browsers send them without credentials.
pub(super) fn preflight(asked: &HeaderMap, origin: Option<HeaderValue>) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
    );
    let wanted = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned().unwrap_or_else(|| {
        HeaderValue::from_static(
            "content-type, authorization, x-okapi-tenant, x-okapi-token, x-okapi-request-id",
        )
    });
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    allow_origin(headers, origin);
    response
}

/// Lets the page that called read the answer.
pub(super) fn allow_origin(headers: &mut HeaderMap, origin: Option<HeaderValue>) {
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("location, x-okapi-token, x-okapi-request-id"),
        );
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
}
