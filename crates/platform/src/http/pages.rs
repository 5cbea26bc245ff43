//! Security headers of answers and pages.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::header::{self, HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

/// For a single-page application of this origin: only bundled scripts and styles, only this API, pictures also as data;
/// no inline script, frame or plug-in.
const POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// For answers that are not pages but that a browser would show, such as an SVG.
const DRAWING_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/// The policy of a page with exactly this inline style and script.
pub fn content_security_policy(style: &str, script: &str) -> String {
    let digest = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    format!("{POLICY}; style-src 'self' {}; script-src 'self' {}", digest(style), digest(script))
}

/// Adds the headers of every answer, and those of a page.
pub(super) fn protect(content_type: &str, headers: &mut HeaderMap) {
    let mut add = |name: HeaderName, value: &'static str| {
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    };
    add(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    let policy = if content_type.starts_with("text/html") {
        POLICY
    } else if content_type.starts_with("image/svg") {
        DRAWING_POLICY
    } else {
        return;
    };
    add(header::CONTENT_SECURITY_POLICY, policy);
    add(header::X_FRAME_OPTIONS, "DENY");
    add(header::REFERRER_POLICY, "same-origin");
}
