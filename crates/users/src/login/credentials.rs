//! Credentials: created, changed, and reset by an action.
//!
//! Routes: `/authn/credentials`, `/authn/credentials-existence`, `/authn/update`, `/authn/password/repeatable`,
//! `/authn/password-reset-action…`, `/authn/reset-password`. Changes credentials and their history; changing or
//! deleting a password revokes the user's tokens. A caller cannot set the password of an account with more permissions
//! than their own.

use crate::login::cookies::with_cookies;
use crate::login::password::PasswordHasher;
use crate::login::{Credentials, LoggedIn, attempts, check, delete_credentials, events, password, tokens};
use crate::permissions::refuse_if_account_has_more;
use crate::user::lookup;
use carrel_platform::http::cookie;
use carrel_platform::{Answer, Call, Pipeline, Router, Tenant};
use carrel_records::{Failure, Refusal, time};
use http::StatusCode;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

/// Latest passwords, the current one included, that cannot be used again.
const HISTORY_LENGTH: i64 = 10;

pub fn connect(router: &mut Router) {
    router.on("POST", "/authn/credentials", create);
    router.on("DELETE", "/authn/credentials", delete);
    router.on("GET", "/authn/credentials-existence", exists);
    router.on("POST", "/authn/update", change);
    router.on("POST", "/authn/password/repeatable", repeatable);
    router.on("POST", "/authn/password-reset-action", create_action);
    router.on("GET", "/authn/password-reset-action/{actionId}", find_action);
    router.on("POST", "/authn/reset-password", reset);
}

/// Creates the credentials of a user without any.
async fn create(call: Call) -> Result<Answer, Failure> {
    let credentials = call.read_json::<Credentials>()?;
    let sent = credentials.password.clone().unwrap_or_default();
    if sent.is_empty() {
        let refusal = Refusal::new("Password is missing or empty").of_storage();
        return Err(match credentials.user_id {
            Some(user) => refusal.with("'userId'", user.to_string()),
            None => refusal.with_null("'userId'"),
        }
        .into());
    }
    credentials.refuse_if_too_long()?;
    let tenant = call.tenant()?;
    let user = user_of(tenant, &credentials).await?;
    refuse_if_account_has_more(&call, user).await?;
    let hash = call.node.state.of::<PasswordHasher>().hash(&sent).await?;
    let mut pipeline = Pipeline::new();
    pipeline.add(
        "INSERT INTO auth_credentials (user_id, id, hash, changed) VALUES ($1, $2, $3, $4)
         ON CONFLICT (user_id) DO NOTHING RETURNING user_id",
        vec![user.into(), Uuid::new_v4().into(), hash.into(), call.now.into()],
    );
    let results = tenant.begin().await?.send_and_commit(pipeline).await?;
    if results.first(0).is_none() {
        return Err(Refusal::new(format!("There already exists credentials for user id '{user}'"))
            .with("'userId'", user.to_string())
            .of_storage()
            .into());
    }
    Ok(Answer::text(StatusCode::CREATED, ""))
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let user = requested_user(&call)?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let found =
        tx.query("SELECT 1 FROM auth_credentials WHERE user_id = $1 FOR UPDATE", vec![user.into()]).await?;
    if found.is_empty() {
        return Err(Failure::NotFound(format!("No credentials for userId {user} found")));
    }
    let mut pipeline = Pipeline::new();
    delete_credentials(&mut pipeline, vec![user], call.now);
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

async fn exists(call: Call) -> Result<Answer, Failure> {
    let user = requested_user(&call)?;
    Ok(Answer::json(&json!({"credentialsExist": has_password(call.tenant()?, user).await?})))
}

pub(crate) async fn has_password(tenant: &Tenant, user: Uuid) -> Result<bool, Failure> {
    let connection = tenant.writer().await?;
    let rows =
        connection.query("SELECT 1 FROM auth_credentials WHERE user_id = $1", vec![user.into()]).await?;
    Ok(!rows.is_empty())
}

/// Users change their own password by giving the old one. All their sessions end; a browser that sent the change
/// gets a new one with the answer.
pub(crate) async fn change(call: Call) -> Result<Answer, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Change {
        username: Option<String>,
        user_id: Option<Uuid>,
        password: Option<String>,
        new_password: Option<String>,
    }
    let change: Change = call.read_json()?;
    let tenant = call.tenant()?;
    let new = change.new_password.filter(|new| !new.is_empty());
    if change.username.is_none() && change.user_id.is_none() {
        return Err(Failure::Invalid("You must provide a username or userId".into()));
    }
    let Some(new) = new else {
        return Err(Failure::Invalid("You must provide a new password that isn't empty".into()));
    };
    password::refuse_if_too_long(&new)?;
    let old = Credentials { username: change.username, user_id: change.user_id, password: change.password };
    let (user, attempt) = check(&call, &old).await.map_err(|failure| match failure {
        Failure::Refused(_) => Failure::Unauthenticated("Invalid credentials".into()),
        other => other,
    })?;
    let hash = call.node.state.of::<PasswordHasher>().hash(&new).await?;
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    attempt.count_success(&mut pipeline, call.now);
    replace(&mut pipeline, user.user_id, hash, call.now);
    let revoked = tokens::revoke_all(&mut pipeline, vec![user.user_id], call.now);
    let results = tx.send(pipeline).await?;
    let generation: i64 = results.first(revoked).map_or(0, |row| row.get("generation"));
    let user = LoggedIn { generation, ..user };
    let is_own_browser =
        call.caller.user_id == Some(user.user_id) && cookie(&call.headers, "folioAccessToken").is_some();
    let pair = is_own_browser.then(|| tokens::pair(&call.node.keys, &tenant.id, &user, call.now));
    let mut pipeline = Pipeline::new();
    if let Some(pair) = &pair {
        tokens::store(&mut pipeline, user.user_id, pair);
    }
    tx.send_and_commit(pipeline).await?;
    events::log_event(tenant, events::PASSWORD_CHANGE, user.user_id, call.now).await?;
    let answer = Answer::no_content();
    Ok(match &pair {
        Some(pair) => with_cookies(answer, pair, &call),
        None => answer,
    })
}

/// Adds the statements that replace the hash and move the old one to the history.
fn replace(pipeline: &mut Pipeline, user: Uuid, hash: String, now: Timestamp) {
    pipeline.add(
        "INSERT INTO auth_credentials_history (id, user_id, hash, replaced)
         SELECT $2, user_id, hash, $3 FROM auth_credentials WHERE user_id = $1",
        vec![user.into(), Uuid::new_v4().into(), now.into()],
    );
    pipeline.add(
        "DELETE FROM auth_credentials_history WHERE user_id = $1 AND id NOT IN
             (SELECT id FROM auth_credentials_history WHERE user_id = $1 ORDER BY replaced DESC LIMIT $2)",
        vec![user.into(), (HISTORY_LENGTH - 1).into()],
    );
    pipeline.add(
        "INSERT INTO auth_credentials (user_id, id, hash, changed) VALUES ($1, $2, $3, $4)
         ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, changed = excluded.changed",
        vec![user.into(), Uuid::new_v4().into(), hash.into(), now.into()],
    );
}

/// Whether a password may be used: not if it is the current one or one of the latest.
async fn repeatable(call: Call) -> Result<Answer, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Candidate {
        password: String,
        user_id: Uuid,
    }
    let candidate: Candidate = call.read_json()?;
    let hasher = call.node.state.of::<PasswordHasher>();
    let admission = hasher.admit()?;
    let connection = call.tenant()?.writer().await?;
    let rows = connection
        .query(
            "SELECT hash FROM auth_credentials WHERE user_id = $1
             UNION ALL SELECT hash FROM auth_credentials_history WHERE user_id = $1",
            vec![candidate.user_id.into()],
        )
        .await?;
    drop(connection);
    for row in rows {
        if admission.verify(&candidate.password, row.get("hash")).await? {
            return Ok(Answer::json(&json!({"result": "invalid"})));
        }
    }
    Ok(Answer::json(&json!({"result": "valid"})))
}

/// Allows one change of a password without the old one, to anyone who has its id.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResetAction {
    pub id: Uuid,
    pub user_id: Uuid,
    pub expiration_time: String,
}

async fn create_action(call: Call) -> Result<Answer, Failure> {
    let action: ResetAction = call.read_json()?;
    refuse_if_account_has_more(&call, action.user_id).await?;
    let exists = store_action(call.tenant()?, &action).await?;
    Ok(Answer::created(&json!({"passwordExists": exists})))
}

/// Stores the action; true where the user has a password already.
pub(crate) async fn store_action(tenant: &Tenant, action: &ResetAction) -> Result<bool, Failure> {
    let ends = time::parse(&action.expiration_time)
        .ok_or_else(|| Failure::Invalid("expirationTime must be a date and time".into()))?;
    let mut pipeline = Pipeline::new();
    pipeline.add(
        "INSERT INTO auth_password_action (id, user_id, ends) VALUES ($1, $2, $3)",
        vec![action.id.into(), action.user_id.into(), ends.into()],
    );
    tenant.begin().await?.send_and_commit(pipeline).await.map_err(|error| {
        match error.is_unique_violation() {
            true => Failure::Invalid(format!("A password action with ID {} exists already", action.id)),
            false => error.into(),
        }
    })?;
    has_password(tenant, action.user_id).await
}

async fn find_action(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let (user, ends) =
        action_of(call.tenant()?, id).await?.ok_or_else(|| Failure::NotFound(no_action(id)))?;
    Ok(Answer::json(&json!({"id": id, "userId": user, "expirationTime": time::format(ends)})))
}

/// The user whose password the action resets, and until when.
pub(crate) async fn action_of(tenant: &Tenant, id: Uuid) -> Result<Option<(Uuid, Timestamp)>, Failure> {
    let connection = tenant.writer().await?;
    let rows = connection
        .query("SELECT user_id, ends FROM auth_password_action WHERE id = $1", vec![id.into()])
        .await?;
    Ok(rows.first().map(|row| (row.get("user_id"), row.get("ends"))))
}

async fn reset(call: Call) -> Result<Answer, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Reset {
        password_reset_action_id: Uuid,
        new_password: String,
    }
    let reset: Reset = call.read_json()?;
    let is_new = set_by_action(&call, reset.password_reset_action_id, &reset.new_password).await?;
    Ok(Answer::created(&json!({"isNewPassword": is_new})))
}

/// Redeems the action, sets the password and ends the user's sessions; true where it is the user's first password.
pub(crate) async fn set_by_action(call: &Call, action: Uuid, new: &str) -> Result<bool, Failure> {
    if new.is_empty() {
        return Err(Failure::Invalid("You must provide a new password that isn't empty".into()));
    }
    let tenant = call.tenant()?;
    let hash = call.node.state.of::<PasswordHasher>().hash(new).await?;
    let mut tx = tenant.begin().await?;
    let redeemed = tx
        .query(
            "DELETE FROM auth_password_action WHERE id = $1 AND ends > $2 RETURNING user_id",
            vec![action.into(), call.now.into()],
        )
        .await?;
    let user: Uuid =
        redeemed.first().map(|row| row.get("user_id")).ok_or_else(|| Failure::Invalid(no_action(action)))?;
    let known = tx.query("SELECT 1 FROM auth_credentials WHERE user_id = $1", vec![user.into()]).await?;
    let mut pipeline = Pipeline::new();
    replace(&mut pipeline, user, hash, call.now);
    attempts::reset(&mut pipeline, user);
    tokens::revoke_all(&mut pipeline, vec![user], call.now);
    tx.send_and_commit(pipeline).await?;
    let is_new = known.is_empty();
    let event = if is_new { events::PASSWORD_CREATE } else { events::PASSWORD_RESET };
    events::log_event(tenant, event, user, call.now).await?;
    Ok(is_new)
}

fn no_action(id: Uuid) -> String {
    format!("Password action with ID: `{id}` was not found in the db")
}

fn requested_user(call: &Call) -> Result<Uuid, Failure> {
    let text = call.query.get("userId").unwrap_or_default();
    Uuid::parse_str(text).map_err(|_| Failure::Invalid(format!("userId '{text}' is not a UUID")))
}

async fn user_of(tenant: &Tenant, credentials: &Credentials) -> Result<Uuid, Failure> {
    if let Some(id) = credentials.user_id {
        return Ok(id);
    }
    let name = credentials.username.as_deref().unwrap_or_default();
    let connection = tenant.writer().await?;
    lookup::id_of_username(&connection, name)
        .await?
        .ok_or_else(|| Failure::Invalid(format!("Error looking up user: No user found by username {name}")))
}
