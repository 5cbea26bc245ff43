//! The cookies that carry the tokens of a browser or script.

use crate::login::tokens::Pair;
use carrel_platform::SameSite;
use carrel_platform::{Answer, Call};
use http::header::SET_COOKIE;
use jiff::Timestamp;

/// Sets the cookies of both tokens; browsers send the refresh token to `/authn` only.
pub fn with_cookies(answer: Answer, pair: &Pair, call: &Call) -> Answer {
    answer
        .header(SET_COOKIE, set_cookie("folioAccessToken", &pair.access, "/", pair.access_ends, call))
        .header(SET_COOKIE, set_cookie("folioRefreshToken", &pair.refresh, "/authn", pair.refresh_ends, call))
}

/// Makes the browser delete both cookies.
pub fn without_cookies(answer: Answer, call: &Call) -> Answer {
    let epoch = Timestamp::UNIX_EPOCH;
    answer
        .header(SET_COOKIE, set_cookie("folioAccessToken", "", "/", epoch, call))
        .header(SET_COOKIE, set_cookie("folioRefreshToken", "", "/authn", epoch, call))
}

fn set_cookie(name: &str, value: &str, path: &str, ends: Timestamp, call: &Call) -> String {
    let options = &call.node.options;
    cookie(name, value, path, ends, call.now, options.secure_cookies, options.cookie_same_site)
}

/// Browsers send a `Secure` cookie over HTTPS only, and accept `SameSite=None` only together with it.
fn cookie(
    name: &str,
    value: &str,
    path: &str,
    ends: Timestamp,
    now: Timestamp,
    secure: bool,
    same_site: SameSite,
) -> String {
    let age = (ends.as_second() - now.as_second()).max(0);
    let expires = jiff::fmt::rfc2822::DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&ends)
        .unwrap_or_else(|_| "Thu, 01 Jan 1970 00:00:00 GMT".into());
    let secure = if secure { "Secure; " } else { "" };
    let site = match same_site {
        SameSite::Strict => "Strict",
        SameSite::Lax => "Lax",
        SameSite::None => "None",
    };
    format!(
        "{name}={value}; Max-Age={age}; Expires={expires}; Path={path}; HttpOnly; {secure}SameSite={site}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_has_its_lifetime_as_age_and_as_date() {
        let now = Timestamp::constant(1_767_225_600, 0);
        let ends = Timestamp::constant(1_767_226_200, 0);
        assert_eq!(
            cookie("folioAccessToken", "x", "/", ends, now, false, SameSite::Lax),
            "folioAccessToken=x; Max-Age=600; Expires=Thu, 01 Jan 2026 00:10:00 GMT; Path=/; HttpOnly; SameSite=Lax"
        );
    }

    #[test]
    fn cookies_are_secure_only_where_the_server_is_reached_by_https() {
        let now = Timestamp::UNIX_EPOCH;
        let ending = |secure, site| cookie("a", "b", "/", now, now, secure, site);
        assert!(ending(true, SameSite::Lax).ends_with("; HttpOnly; Secure; SameSite=Lax"));
        assert!(ending(true, SameSite::None).ends_with("; HttpOnly; Secure; SameSite=None"));
        assert!(!ending(false, SameSite::Strict).contains("Secure"));
    }
}
