//! Access and refresh tokens: issued, redeemed, revoked.
//!
//! A refresh token is valid for one use. Tokens are revoked by the user's generation, a number in `token_revocation`
//! that every token contains: a token of an earlier generation is refused, independent of the clocks of nodes.

use crate::login::LoggedIn;
use carrel_platform::token::{ACCESS_SECONDS, Claims, Keys, REFRESH_SECONDS, TokenKind};
use carrel_platform::{Pipeline, Tx};
use carrel_records::Failure;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

/// Life of the token of the older login, in seconds: a working day, as its clients do not renew it.
const LEGACY_SECONDS: i64 = 12 * 3600;

/// An access token and the refresh token for the next pair.
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
    let access = claims(tenant, who, TokenKind::Access, Some(access_ends), now);
    let refresh = claims(tenant, who, TokenKind::Refresh, Some(refresh_ends), now);
    Pair {
        access: keys.sign(&access),
        access_ends,
        refresh: keys.sign(&Claims { jti: Some(refresh_id), ..refresh }),
        refresh_ends,
        refresh_id,
    }
}

/// The token of the older login; `endless` as the server's options say.
pub fn legacy(keys: &Keys, tenant: &str, who: &LoggedIn, endless: bool, now: Timestamp) -> String {
    let ends = (!endless).then(|| now + SignedDuration::from_secs(LEGACY_SECONDS));
    keys.sign(&claims(tenant, who, TokenKind::LegacyAccess, ends, now))
}

fn claims(tenant: &str, who: &LoggedIn, kind: TokenKind, ends: Option<Timestamp>, now: Timestamp) -> Claims {
    Claims {
        sub: who.username.clone(),
        user_id: who.user_id,
        tenant: tenant.to_owned(),
        kind,
        exp: ends.map(Timestamp::as_second),
        iat: now.as_second(),
        generation: who.generation,
        extra_permissions: Vec::new(),
        jti: None,
    }
}

/// A token without a user, valid for the given permissions until it expires.
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
        generation: 0,
        extra_permissions: permissions.iter().map(|name| (*name).to_owned()).collect(),
        jti: None,
    })
}

/// Adds the statement that makes the pair's refresh token redeemable.
pub fn store(pipeline: &mut Pipeline, user: Uuid, pair: &Pair) {
    pipeline.add(
        "INSERT INTO refresh_token (id, user_id, ends) VALUES ($1, $2, $3)",
        vec![pair.refresh_id.into(), user.into(), pair.refresh_ends.into()],
    );
}

/// Deletes the refresh token and returns the user's generation; `None` if it was redeemed or revoked before, or is of
/// an earlier generation.
pub async fn redeem(tx: &mut Tx, token: &Claims) -> Result<Option<i64>, Failure> {
    let mut pipeline = Pipeline::new();
    let redeemed = pipeline.add(
        "DELETE FROM refresh_token WHERE id = $1 AND user_id = $2 RETURNING id",
        vec![token.jti.into(), token.user_id.into()],
    );
    let generation = pipeline
        .add("SELECT generation FROM token_revocation WHERE user_id = $1", vec![token.user_id.into()]);
    let results = tx.send(pipeline).await?;
    let generation: i64 = results.first(generation).map_or(0, |row| row.get("generation"));
    Ok((results.first(redeemed).is_some() && token.generation >= generation).then_some(generation))
}

/// Deletes every refresh token of the user; access tokens expire.
pub async fn forget_refresh_tokens(tx: Tx, user: Uuid) -> Result<(), Failure> {
    let mut pipeline = Pipeline::new();
    pipeline.add("DELETE FROM refresh_token WHERE user_id = $1", vec![user.into()]);
    tx.send_and_commit(pipeline).await?;
    Ok(())
}

/// Adds the statements that revoke every token of the users, including access tokens, and returns the number of the
/// statement that returns each user's new `generation`. Nodes cache generations by the tenant's settings version, which
/// is incremented.
pub fn revoke_all(pipeline: &mut Pipeline, users: Vec<Uuid>, now: Timestamp) -> usize {
    pipeline.add("DELETE FROM refresh_token WHERE user_id = ANY($1)", vec![users.clone().into()]);
    pipeline.add(
        "INSERT INTO token_revocation AS known (user_id, generation, revoked)
         SELECT DISTINCT given, 1, $2::timestamptz FROM unnest($1::uuid[]) given
         ON CONFLICT (user_id) DO UPDATE SET generation = known.generation + 1, revoked = excluded.revoked
         RETURNING user_id, generation",
        vec![users.into(), now.into()],
    )
}
