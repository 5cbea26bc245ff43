//! Logging in: password for tokens, tokens renewed and taken back.
//!
//! Routes: `/authn/login`, `/authn/login-with-expiry`, `/authn/refresh`, `/authn/logout`, `/authn/logout-all`,
//! `/authn/loginAttempts/{id}`, `/token/invalidate`, `/token/invalidate-all`; credentials and events have their
//! own files. Reads users by name; writes credentials (`auth_credentials`), failed tries (`auth_attempts`) and
//! refresh tokens (`refresh_token`).

mod cookies;
pub mod credentials;
pub mod events;
pub mod password;
mod route;
pub mod tokens;

use crate::login::tokens::Pair;
use carrel_platform::{Pipeline, Router, Tenant, Tx};
use carrel_records::{Failure, Refusal};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

/// After so many failures in a row the account is closed to logins for a while.
const TRIES: i32 = 5;
/// How long it stays closed.
const CLOSED_FOR: SignedDuration = SignedDuration::from_mins(10);

pub fn connect(router: &mut Router) {
    route::connect(router);
    credentials::connect(router);
    events::connect(router);
}

/// What somebody sends to log in.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    pub username: Option<String>,
    pub user_id: Option<Uuid>,
    pub password: Option<String>,
}

/// Who has logged in.
pub struct LoggedIn {
    pub user_id: Uuid,
    pub username: String,
}

/// What is known of one who wants to log in.
struct Known {
    who: LoggedIn,
    active: bool,
    hash: String,
    failed: i32,
    last_failed: Option<Timestamp>,
}

/// Why somebody does not get in; all of them are reported in the same words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    WrongPassword,
    /// Too many failures in a row, not long ago.
    Closed,
    Inactive,
}

/// Checks name and password. The answer to an unknown name takes as long and says the same as that to a wrong
/// password, to a closed account and to one that is not active.
pub async fn check(tenant: &Tenant, credentials: &Credentials, now: Timestamp) -> Result<LoggedIn, Failure> {
    if credentials.username.is_none() && credentials.user_id.is_none() {
        return Err(Failure::Invalid("You must provide a username or userId".into()));
    }
    let Some(password) = &credentials.password else {
        return Err(Failure::Invalid("You must provide a password".into()));
    };
    let Some(known) = find(tenant, credentials).await? else {
        password::verify_dummy(password).await?;
        return Err(refused());
    };
    let fits = password::fits(password, &known.hash).await?;
    match obstacle(&known, fits, now) {
        None => Ok(known.who),
        Some(Obstacle::WrongPassword) => {
            count_failure(tenant.begin().await?, known.who.user_id, now).await?;
            events::note(tenant, events::FAILED_LOGIN, known.who.user_id, now).await?;
            Err(refused())
        }
        Some(Obstacle::Closed | Obstacle::Inactive) => Err(refused()),
    }
}

fn obstacle(known: &Known, fits: bool, now: Timestamp) -> Option<Obstacle> {
    let lately = known.last_failed.is_some_and(|last| now < last + CLOSED_FOR);
    if known.failed >= TRIES && lately {
        return Some(Obstacle::Closed);
    }
    if !fits {
        return Some(Obstacle::WrongPassword);
    }
    (!known.active).then_some(Obstacle::Inactive)
}

fn refused() -> Failure {
    Refusal::new("Wrong username or wrong password or account blocked")
        .kind("error")
        .code("wrong.username.or.wrong.password.or.account.blocked")
        .into()
}

async fn find(tenant: &Tenant, credentials: &Credentials) -> Result<Option<Known>, Failure> {
    let connection = tenant.writer().await?;
    let rows = connection
        .query(
            "SELECT u.id, u.doc->>'username', coalesce((u.doc->>'active')::boolean, false), c.hash,
                    coalesce(a.failed, 0), a.last_failed
             FROM users u
             JOIN auth_credentials c ON c.user_id = u.id
             LEFT JOIN auth_attempts a ON a.user_id = u.id
             WHERE CASE WHEN $2::uuid IS NOT NULL THEN u.id = $2
                   ELSE lower(carrel.f_unaccent(u.doc->>'username')) = lower(carrel.f_unaccent($1)) END",
            vec![credentials.username.clone().into(), credentials.user_id.into()],
        )
        .await?;
    Ok(rows.first().map(|row| {
        let user_id: Uuid = row.get(0);
        let username: Option<String> = row.get(1);
        Known {
            who: LoggedIn { user_id, username: username.unwrap_or_else(|| user_id.to_string()) },
            active: row.get(2),
            hash: row.get(3),
            failed: row.get(4),
            last_failed: row.get(5),
        }
    }))
}

/// Tokens for one who has logged in; the refresh token is remembered so that it can be taken back, and earlier
/// failures are forgotten.
pub async fn tokens_for(
    tenant: &Tenant,
    keys: &carrel_platform::token::Keys,
    who: &LoggedIn,
    now: Timestamp,
) -> Result<Pair, Failure> {
    let pair = tokens::pair(keys, &tenant.id, who, now);
    let mut pipeline = Pipeline::new();
    tokens::remember(&mut pipeline, who.user_id, &pair, now);
    pipeline.add(
        "UPDATE auth_attempts SET failed = 0 WHERE user_id = $1 AND failed > 0",
        vec![who.user_id.into()],
    );
    tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(pair)
}

async fn count_failure(tx: Tx, user: Uuid, now: Timestamp) -> Result<(), Failure> {
    let mut pipeline = Pipeline::new();
    pipeline.add(
        "INSERT INTO auth_attempts (user_id, failed, last_failed) VALUES ($1, 1, $2)
         ON CONFLICT (user_id) DO UPDATE SET failed = CASE WHEN auth_attempts.failed >= $3 THEN 1
             ELSE auth_attempts.failed + 1 END, last_failed = $2",
        vec![user.into(), now.into(), TRIES.into()],
    );
    tx.send_and_commit(pipeline).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn known() -> Known {
        Known {
            who: LoggedIn { user_id: Uuid::nil(), username: "amelia".into() },
            active: true,
            hash: String::new(),
            failed: 0,
            last_failed: None,
        }
    }

    #[test]
    fn the_right_password_opens_an_active_account() {
        assert_eq!(obstacle(&known(), true, NOW), None);
        assert_eq!(obstacle(&known(), false, NOW), Some(Obstacle::WrongPassword));
        assert_eq!(obstacle(&Known { active: false, ..known() }, true, NOW), Some(Obstacle::Inactive));
    }

    #[test]
    fn five_failures_close_an_account_for_ten_minutes_even_to_the_right_password() {
        let failed = |failed, minutes| Known {
            failed,
            last_failed: Some(NOW - SignedDuration::from_mins(minutes)),
            ..known()
        };
        assert_eq!(obstacle(&failed(4, 1), true, NOW), None);
        assert_eq!(obstacle(&failed(5, 9), true, NOW), Some(Obstacle::Closed));
        assert_eq!(obstacle(&failed(5, 10), true, NOW), None);
    }
}
