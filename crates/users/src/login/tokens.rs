//! Pairs of tokens, and the memory of refresh tokens: each is good for one use.

use crate::login::LoggedIn;
use carrel_platform::token::{ACCESS_SECONDS, Claims, Keys, REFRESH_SECONDS, TokenKind};
use carrel_platform::{Flight, Tx};
use carrel_records::Failure;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

/// An access token and the refresh token that can be given for the next one.
pub struct Pair {
    pub access: String,
    pub access_ends: Timestamp,
    pub refresh: String,
    pub refresh_ends: Timestamp,
    refresh_id: Uuid,
}

/// Signs both tokens.
pub fn pair(keys: &Keys, tenant: &str, who: &LoggedIn, now: Timestamp) -> Pair {
    let access_ends = now + SignedDuration::from_secs(ACCESS_SECONDS);
    let refresh_ends = now + SignedDuration::from_secs(REFRESH_SECONDS);
    let refresh_id = Uuid::new_v4();
    let claims = |kind, ends: Timestamp, id| Claims {
        sub: who.username.clone(),
        user_id: who.user_id,
        tenant: tenant.to_owned(),
        kind,
        exp: Some(ends.as_second()),
        iat: now.as_second(),
        jti: id,
    };
    Pair {
        access: keys.sign(&claims(TokenKind::Access, access_ends, None)),
        access_ends,
        refresh: keys.sign(&claims(TokenKind::Refresh, refresh_ends, Some(refresh_id))),
        refresh_ends,
        refresh_id,
    }
}

/// The token of the older login, which has no end.
pub fn legacy(keys: &Keys, tenant: &str, who: &LoggedIn, now: Timestamp) -> String {
    keys.sign(&Claims {
        sub: who.username.clone(),
        user_id: who.user_id,
        tenant: tenant.to_owned(),
        kind: TokenKind::LegacyAccess,
        exp: None,
        iat: now.as_second(),
        jti: None,
    })
}

/// Keeps the refresh token's id until it is used or ends.
pub async fn remember(tx: Tx, user: Uuid, pair: &Pair, now: Timestamp) -> Result<(), Failure> {
    let mut flight = Flight::new();
    flight.add("DELETE FROM refresh_token WHERE ends < $1", vec![now.into()]);
    flight.add(
        "INSERT INTO refresh_token (id, user_id, ends) VALUES ($1, $2, $3)",
        vec![pair.refresh_id.into(), user.into(), pair.refresh_ends.into()],
    );
    tx.fly_and_commit(flight).await?;
    Ok(())
}

/// Takes the refresh token out of memory; false where it was used or taken back before.
pub async fn use_up(mut tx: Tx, id: Uuid) -> Result<bool, Failure> {
    let used = tx.query("DELETE FROM refresh_token WHERE id = $1 RETURNING id", vec![id.into()]).await?;
    tx.commit().await?;
    Ok(!used.is_empty())
}

/// Ends every token of the user that was made before now.
pub async fn end_all(tx: Tx, user: Uuid, now: Timestamp) -> Result<(), Failure> {
    let mut flight = Flight::new();
    flight.add("DELETE FROM refresh_token WHERE user_id = $1", vec![user.into()]);
    flight.add(
        "INSERT INTO tokens_ended (user_id, before) VALUES ($1, $2)
         ON CONFLICT (user_id) DO UPDATE SET before = excluded.before",
        vec![user.into(), now.into()],
    );
    carrel_platform::tenant::move_stamp(&mut flight);
    tx.fly_and_commit(flight).await?;
    Ok(())
}
