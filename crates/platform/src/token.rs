//! Access and refresh tokens: signed with a key that all nodes share, verified without a query.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use carrel_records::Failure;
use hmac::{Hmac, Mac};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use uuid::Uuid;

/// Lifetime of an access token, in seconds.
pub const ACCESS_SECONDS: i64 = 600;
/// Lifetime of a refresh token, in seconds.
pub const REFRESH_SECONDS: i64 = 604_800;

/// Longest token that is parsed, in bytes.
const MAX_TOKEN_BYTES: usize = 8192;

/// The claims of a token, with the names of FOLIO's tokens.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Claims {
    /// Username, or a text in its stead.
    pub sub: String,
    /// Nil if the token belongs to no user.
    #[serde(default)]
    pub user_id: Uuid,
    pub tenant: String,
    #[serde(rename = "type")]
    pub kind: TokenKind,
    /// Seconds since 1970 at which the token expires; a legacy token has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exp: Option<i64>,
    pub iat: i64,
    /// The number of the user's token generation: each revocation begins a new one, and tokens of earlier ones are
    /// refused.
    #[serde(default)]
    pub generation: i64,
    /// The permissions of a token without a user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_permissions: Vec<String>,
    /// Id of a refresh token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jti: Option<Uuid>,
}

/// The use of a token.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum TokenKind {
    Access,
    Refresh,
    /// Without expiration, from the older login.
    LegacyAccess,
    /// Without a user, for one purpose: a link to set a password.
    DummyExpiring,
}

/// Signs and verifies tokens: JSON Web Tokens with HMAC-SHA-256, and no other kind.
///
/// A general library for such tokens would add public-key code that is not needed.
pub struct Keys {
    key: Hmac<Sha256>,
}

/// `{"alg":"HS256","typ":"JWT"}`: the only header that is written or accepted.
const HEAD: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";

impl Keys {
    pub fn new(secret: &[u8]) -> Keys {
        Keys { key: Hmac::new_from_slice(secret).expect("HMAC takes keys of any length") }
    }

    pub fn sign(&self, claims: &Claims) -> String {
        let claims = serde_json::to_vec(claims).expect("claims are JSON");
        let text = format!("{HEAD}.{}", URL_SAFE_NO_PAD.encode(claims));
        let mut mac = self.key.clone();
        mac.update(text.as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes());
        format!("{text}.{signature}")
    }

    /// Verifies a token; refuses one that is forged or has expired.
    pub fn read(&self, token: &str, now: Timestamp) -> Result<Claims, Failure> {
        let invalid = || Failure::Unauthenticated("Invalid token".into());
        if token.len() > MAX_TOKEN_BYTES {
            return Err(invalid());
        }
        let (text, signature) = token.rsplit_once('.').ok_or_else(invalid)?;
        let body = text.strip_prefix(HEAD).and_then(|rest| rest.strip_prefix('.')).ok_or_else(invalid)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| invalid())?;
        let mut mac = self.key.clone();
        mac.update(text.as_bytes());
        // Compares in constant time.
        mac.verify_slice(&signature).map_err(|_| invalid())?;
        let body = URL_SAFE_NO_PAD.decode(body).map_err(|_| invalid())?;
        let claims: Claims = serde_json::from_slice(&body).map_err(|_| invalid())?;
        if claims.exp.is_some_and(|end| end <= now.as_second()) {
            return Err(invalid());
        }
        Ok(claims)
    }
}

/// Why a text cannot be a token at all, whatever its signature.
pub fn malformed(token: &str) -> Option<String> {
    let mut parts = token.split('.');
    let (Some(_), Some(payload), Some(_)) = (parts.next(), parts.next(), parts.next()) else {
        return Some("Missing . separator for token".into());
    };
    let Ok(payload) = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')) else {
        return Some("The payload is not base64".into());
    };
    serde_json::from_slice::<serde_json::Map<_, serde_json::Value>>(&payload)
        .err()
        .map(|error| format!("The payload is not a JSON object: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(exp: Option<i64>) -> Claims {
        Claims {
            sub: "amelia".into(),
            user_id: Uuid::nil(),
            tenant: "diku".into(),
            kind: TokenKind::Access,
            exp,
            iat: 0,
            generation: 0,
            extra_permissions: Vec::new(),
            jti: None,
        }
    }

    #[test]
    fn a_token_is_read_back_until_it_ends() {
        let keys = Keys::new(b"secret");
        let token = keys.sign(&claims(Some(100)));
        let at = |second| Timestamp::from_second(second).expect("in range");
        assert_eq!(keys.read(&token, at(99)).expect("read"), claims(Some(100)));
        assert!(keys.read(&token, at(100)).is_err());
    }

    #[test]
    fn a_malformed_token_is_reported_with_the_reason() {
        assert_eq!(malformed("a.b").as_deref(), Some("Missing . separator for token"));
        assert_eq!(malformed("a.!.c").as_deref(), Some("The payload is not base64"));
        assert!(
            malformed("a.ewo=.c")
                .is_some_and(|reason| reason.starts_with("The payload is not a JSON object"))
        );
        assert_eq!(malformed("a.eyB9Cg==.c"), None);
        assert_eq!(malformed(&Keys::new(b"secret").sign(&claims(None))), None);
    }

    #[test]
    fn an_overlong_token_is_refused() {
        let keys = Keys::new(b"secret");
        let token = keys.sign(&Claims { sub: "x".repeat(MAX_TOKEN_BYTES), ..claims(None) });
        assert!(keys.read(&token, Timestamp::UNIX_EPOCH).is_err());
    }

    #[test]
    fn a_token_signed_with_another_key_is_refused() {
        let token = Keys::new(b"other").sign(&claims(None));
        assert!(Keys::new(b"secret").read(&token, Timestamp::UNIX_EPOCH).is_err());
    }
}
