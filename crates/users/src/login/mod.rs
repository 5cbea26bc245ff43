//! Logging in: password for tokens, tokens renewed and taken back.
//!
//! Routes: `/authn/login`, `/authn/login-with-expiry`, `/authn/refresh`, `/authn/logout`, `/authn/logout-all`,
//! `/authn/credentials`, `/authn/credentials-existence`, `/authn/update`. Reads users by name; writes
//! credentials (`auth_credentials`), failed tries (`auth_attempts`) and refresh tokens (`refresh_token`).

pub mod password;
mod route;
mod tokens;

pub use route::connect;

/// Tables of this room.
pub const TABLES: &str = include_str!("tables.sql");

use crate::login::tokens::Pair;
use carrel_platform::{Tenant, Tx};
use carrel_records::{Failure, Refusal};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

/// After so many failures in a row the account is closed to logins for a while.
const TRIES: i32 = 5;
/// How long it stays closed.
const CLOSED_FOR: SignedDuration = SignedDuration::from_mins(10);

/// What somebody sends to log in.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    pub username: Option<String>,
    pub user_id: Option<Uuid>,
    pub password: String,
}

/// Who has logged in.
pub struct LoggedIn {
    pub user_id: Uuid,
    pub username: String,
}

/// Checks name and password. The answer to an unknown name takes as long and says the same as that to a wrong
/// password.
pub async fn check(tenant: &Tenant, credentials: &Credentials, now: Timestamp) -> Result<LoggedIn, Failure> {
    let refused = || {
        let name = credentials.username.clone().unwrap_or_default();
        Failure::from(
            Refusal::new("Password does not match").with("username", name).code("password.incorrect"),
        )
    };
    let connection = tenant.writer().await?;
    let rows = connection
        .query(
            "SELECT u.id, u.doc->>'username', coalesce((u.doc->>'active')::boolean, false), c.hash,
                    a.failed, a.last_failed
             FROM users u
             LEFT JOIN auth_credentials c ON c.user_id = u.id
             LEFT JOIN auth_attempts a ON a.user_id = u.id
             WHERE CASE WHEN $2::uuid IS NOT NULL THEN u.id = $2
                   ELSE lower(carrel.f_unaccent(u.doc->>'username')) = lower(carrel.f_unaccent($1)) END",
            vec![credentials.username.clone().into(), credentials.user_id.into()],
        )
        .await?;
    let known = rows.first().and_then(|row| {
        let hash: Option<String> = row.get(3);
        let user: (Uuid, Option<String>, bool) = (row.get(0), row.get(1), row.get(2));
        let failures: (Option<i32>, Option<Timestamp>) = (row.get(4), row.get(5));
        hash.map(|hash| (user, hash, failures))
    });
    drop(connection);
    let Some(((user_id, username, active), hash, (failed, last_failed))) = known else {
        password::pretend(&credentials.password).await?;
        return Err(refused());
    };
    let closed = failed.unwrap_or(0) >= TRIES && last_failed.is_some_and(|last| now < last + CLOSED_FOR);
    if closed {
        return Err(Refusal::new(
            "Your account has been locked because of multiple failed login attempts. Try again in ten minutes.",
        )
        .with("username", username.unwrap_or_default())
        .code("fifth.failed.attempt.blocked")
        .into());
    }
    let fits = password::fits(&credentials.password, &hash).await?;
    let tx = tenant.begin().await?;
    if !fits {
        count_failure(tx, user_id, now).await?;
        return Err(refused());
    }
    if !active {
        return Err(Refusal::new("User must be flagged as active").code("user.blocked").into());
    }
    if failed.unwrap_or(0) > 0 {
        forget_failures(tx, user_id).await?;
    }
    Ok(LoggedIn { user_id, username: username.unwrap_or_default() })
}

/// Tokens for one who has logged in; the refresh token is remembered so that it can be taken back.
pub async fn tokens_for(
    tenant: &Tenant,
    keys: &carrel_platform::token::Keys,
    who: &LoggedIn,
    now: Timestamp,
) -> Result<Pair, Failure> {
    let pair = tokens::pair(keys, &tenant.id, who, now);
    tokens::remember(tenant.begin().await?, who.user_id, &pair, now).await?;
    Ok(pair)
}

async fn count_failure(tx: Tx, user: Uuid, now: Timestamp) -> Result<(), Failure> {
    let mut flight = carrel_platform::Flight::new();
    flight.add(
        "INSERT INTO auth_attempts (user_id, failed, last_failed) VALUES ($1, 1, $2)
         ON CONFLICT (user_id) DO UPDATE SET failed = CASE WHEN auth_attempts.failed >= 5 THEN 1
             ELSE auth_attempts.failed + 1 END, last_failed = $2",
        vec![user.into(), now.into()],
    );
    tx.fly_and_commit(flight).await?;
    Ok(())
}

async fn forget_failures(tx: Tx, user: Uuid) -> Result<(), Failure> {
    let mut flight = carrel_platform::Flight::new();
    flight.add("DELETE FROM auth_attempts WHERE user_id = $1", vec![user.into()]);
    tx.fly_and_commit(flight).await?;
    Ok(())
}
