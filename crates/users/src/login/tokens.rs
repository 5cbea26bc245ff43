//! Pairs of tokens, and the memory of refresh tokens: each is good for one use.

use crate::login::LoggedIn;
use carrel_platform::token::{ACCESS_SECONDS, Claims, Keys, REFRESH_SECONDS, TokenKind};
use carrel_platform::{Pipeline, Tx};
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
        made: now.as_millisecond(),
        extra_permissions: Vec::new(),
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
        made: now.as_millisecond(),
        extra_permissions: Vec::new(),
        jti: None,
    })
}

/// A token without a user, good for the permissions named until it ends.
pub fn for_one_purpose(
    keys: &Keys,
    tenant: &str,
    sub: String,
    permissions: &[&str],
    ends: Timestamp,
    now: Timestamp,
) -> String {
    keys.sign(&Claims {
        sub,
        user_id: Uuid::nil(),
        tenant: tenant.to_owned(),
        kind: TokenKind::DummyExpiring,
        exp: Some(ends.as_second()),
        iat: now.as_second(),
        made: now.as_millisecond(),
        extra_permissions: permissions.iter().map(|name| (*name).to_owned()).collect(),
        jti: None,
    })
}

/// Keeps the refresh token's id until it is used or ends.
pub fn remember(pipeline: &mut Pipeline, user: Uuid, pair: &Pair, now: Timestamp) {
    pipeline.add("DELETE FROM refresh_token WHERE ends < $1", vec![now.into()]);
    pipeline.add(
        "INSERT INTO refresh_token (id, user_id, ends) VALUES ($1, $2, $3)",
        vec![pair.refresh_id.into(), user.into(), pair.refresh_ends.into()],
    );
}

/// Takes the refresh token out of memory; false where it was used or taken back before.
pub async fn redeem(mut tx: Tx, id: Uuid) -> Result<bool, Failure> {
    let used = tx.query("DELETE FROM refresh_token WHERE id = $1 RETURNING id", vec![id.into()]).await?;
    tx.commit().await?;
    Ok(!used.is_empty())
}

/// Forgets every refresh token of the user; access tokens run out by themselves.
pub async fn forget_all(tx: Tx, user: Uuid) -> Result<(), Failure> {
    let mut pipeline = Pipeline::new();
    pipeline.add("DELETE FROM refresh_token WHERE user_id = $1", vec![user.into()]);
    tx.send_and_commit(pipeline).await?;
    Ok(())
}

/// Adds what ends every token of the users that was made before now, access tokens too. The settings version moves, as the
/// authorizer reads it from memory: declare it stale afterwards.
pub fn end_all(pipeline: &mut Pipeline, users: Vec<Uuid>, now: Timestamp) {
    pipeline.add("DELETE FROM refresh_token WHERE user_id = ANY($1)", vec![users.clone().into()]);
    pipeline.add(
        "INSERT INTO tokens_ended (user_id, before) SELECT gone, $2 FROM unnest($1::uuid[]) gone
         ON CONFLICT (user_id) DO UPDATE SET before = excluded.before",
        vec![users.into(), now.into()],
    );
    carrel_platform::tenant::move_settings_version(pipeline);
}
