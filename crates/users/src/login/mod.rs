//! Logging in: a password for tokens, tokens renewed and revoked.
//!
//! Routes: `/authn/login`, `/authn/login-with-expiry`, `/authn/refresh`, `/authn/logout`, `/authn/logout-all`,
//! `/authn/loginAttempts/{id}`, `/token/invalidate`, `/token/invalidate-all`; credentials and events have their
//! own files. Reads users by name; changes credentials (`auth_credentials`), counts of attempts (`login_attempt`),
//! refresh tokens (`refresh_token`) and generations of tokens (`token_revocation`).

mod attempts;
mod cleanup;
mod cookies;
pub mod credentials;
pub mod events;
pub mod password;
mod route;
pub mod tokens;

pub use cleanup::CLEANUP;

use crate::extensions::Extensions;
use crate::login::attempts::{Attempt, AttemptLocks};
use crate::login::password::{MAX_PASSWORD_BYTES, PasswordHasher};
use crate::login::tokens::Pair;
use crate::user::lookup;
use carrel_platform::{Call, Pipeline, Router, Tenant};
use carrel_records::{Failure, Refusal, RefusalCode};
use jiff::Timestamp;
use uuid::Uuid;

/// Longest user name that can log in, in bytes.
pub const MAX_USERNAME_BYTES: usize = 1024;

pub fn connect(router: &mut Router, extensions: &'static Extensions) {
    route::connect(router, extensions);
    credentials::connect(router);
    events::connect(router);
}

/// What a client sends to log in.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    pub username: Option<String>,
    pub user_id: Option<Uuid>,
    pub password: Option<String>,
}

impl Credentials {
    /// Refuses fields beyond their bounds: the routes that read them are open to everybody.
    fn refuse_if_too_long(&self) -> Result<(), Failure> {
        let too_long = |text: &Option<String>, bytes| text.as_ref().is_some_and(|text| text.len() > bytes);
        if too_long(&self.username, MAX_USERNAME_BYTES) {
            return Err(Failure::Invalid(format!("A username has at most {MAX_USERNAME_BYTES} bytes")));
        }
        if too_long(&self.password, MAX_PASSWORD_BYTES) {
            return Err(Failure::Invalid(format!("A password has at most {MAX_PASSWORD_BYTES} bytes")));
        }
        Ok(())
    }
}

/// A user whose password was verified.
pub struct LoggedIn {
    pub user_id: Uuid,
    pub username: String,
    /// Generation of the tokens that the user gets; see [`tokens`].
    pub generation: i64,
}

/// An account with a password.
struct Account {
    user: LoggedIn,
    active: bool,
    hash: String,
}

/// Verifies name and password. An unknown name, a wrong password, an account that is closed to the caller's address
/// and one that is not active are answered in the same words and the same time.
pub(crate) async fn check(call: &Call, credentials: &Credentials) -> Result<(LoggedIn, Attempt), Failure> {
    credentials.refuse_if_too_long()?;
    if credentials.username.is_none() && credentials.user_id.is_none() {
        return Err(Failure::Invalid("You must provide a username or userId".into()));
    }
    let Some(password) = &credentials.password else {
        return Err(Failure::Invalid("You must provide a password".into()));
    };
    let hasher = call.node.state.of::<PasswordHasher>();
    // The queue's bound also bounds the database's work for those who wait.
    let admission = hasher.admit()?;
    let tenant = call.tenant()?;
    let account = find(tenant, credentials).await?;
    let account_id = match (&account, credentials.user_id, &credentials.username) {
        (Some(account), ..) => account.user.user_id,
        (None, Some(user), _) => user,
        (None, None, name) => {
            attempts::account_of_unknown_name(&lookup::folded(name.as_deref().unwrap_or_default()))
        }
    };
    let locks = call.node.state.of::<AttemptLocks>();
    let attempt = attempts::count(tenant, &locks, account_id, call.address, call.now).await?;
    let attempt = attempt.ok_or_else(refused)?;
    let Some(account) = account else {
        admission.verify_dummy(password).await?;
        return Err(refused());
    };
    let is_verified = admission.verify(password, &account.hash).await?;
    drop(admission);
    if !is_verified {
        events::log_event(tenant, events::FAILED_LOGIN, account_id, call.now).await?;
        return Err(refused());
    }
    if account.active { Ok((account.user, attempt)) } else { Err(refused()) }
}

fn refused() -> Failure {
    Refusal::new("Wrong username or wrong password or account blocked")
        .kind("error")
        .code(RefusalCode::WrongUsernameOrWrongPasswordOrAccountBlocked)
        .into()
}

async fn find(tenant: &Tenant, credentials: &Credentials) -> Result<Option<Account>, Failure> {
    let connection = tenant.writer().await?;
    let user = match (credentials.user_id, &credentials.username) {
        (Some(user), _) => Some(user),
        (None, Some(name)) => lookup::id_of_username(&connection, name).await?,
        (None, None) => None,
    };
    let Some(user_id) = user else { return Ok(None) };
    let rows = connection
        .query(
            "SELECT u.doc->>'username' AS username, coalesce((u.doc->>'active')::boolean, false) AS active, c.hash,
                    coalesce(r.generation, 0) AS generation
             FROM users u
             JOIN auth_credentials c ON c.user_id = u.id
             LEFT JOIN token_revocation r ON r.user_id = u.id
             WHERE u.id = $1",
            vec![user_id.into()],
        )
        .await?;
    Ok(rows.first().map(|row| {
        let username: Option<String> = row.get("username");
        let username = username.unwrap_or_else(|| user_id.to_string());
        let user = LoggedIn { user_id, username, generation: row.get("generation") };
        Account { user, active: row.get("active"), hash: row.get("hash") }
    }))
}

/// Tokens for a user who has logged in. The refresh token is stored, and earlier failures no longer count.
pub(crate) async fn tokens_for(call: &Call, user: &LoggedIn, attempt: &Attempt) -> Result<Pair, Failure> {
    let tenant = call.tenant()?;
    let pair = tokens::pair(&call.node.keys, &tenant.id, user, call.now);
    let mut pipeline = Pipeline::new();
    tokens::store(&mut pipeline, user.user_id, &pair);
    attempt.count_success(&mut pipeline, call.now);
    tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(pair)
}

/// Adds the statements that delete what the users log in with, and revoke their tokens.
pub(crate) fn delete_credentials(pipeline: &mut Pipeline, users: Vec<Uuid>, now: Timestamp) {
    for sql in [
        "DELETE FROM auth_credentials WHERE user_id = ANY($1)",
        "DELETE FROM auth_credentials_history WHERE user_id = ANY($1)",
        "DELETE FROM auth_password_action WHERE user_id = ANY($1)",
        "DELETE FROM patronpin WHERE id = ANY($1)",
    ] {
        pipeline.add(sql, vec![users.clone().into()]);
    }
    attempts::delete(pipeline, users.clone());
    tokens::revoke_all(pipeline, users, now);
}
