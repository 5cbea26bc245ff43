//! Password reset links, given out by staff.
//!
//! Routes: `/bl-users/settings/myprofile/password`, `/bl-users/password-reset/link`, `…/validate`, `…/reset`. The
//! link carries a token that allows the last two routes and names the password reset action. FOLIO also mails the link;
//! here the answer contains it. Users change their own password at the first route.

use crate::login::credentials::{self, ResetAction};
use crate::login::tokens;
use crate::permissions::refuse_if_account_has_more;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, Refusal, time};
use jiff::SignedDuration;
use serde_json::json;
use uuid::Uuid;

/// Prefix of the subject of a link's token, before the id of the action.
const SUBJECT: &str = "UNDEFINED_USER__RESET_PASSWORD_";
/// Lifetime of a link.
const LINK_LIFETIME: SignedDuration = SignedDuration::from_hours(24);
const PERMISSIONS: [&str; 2] =
    ["users-bl.password-reset-link.validate", "users-bl.password-reset-link.reset"];

pub fn connect(router: &mut Router) {
    router.on("POST", "/bl-users/settings/myprofile/password", credentials::change);
    router.on("POST", "/bl-users/password-reset/link", link);
    router.on("POST", "/bl-users/password-reset/validate", |call| async move {
        action_of_token(&call).await?;
        Ok(Answer::no_content())
    });
    router.on("POST", "/bl-users/password-reset/reset", reset);
}

async fn link(call: Call) -> Result<Answer, Failure> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct LinkRequest {
        user_id: Uuid,
    }
    let request: LinkRequest = call.read_json()?;
    let tenant = call.tenant()?;
    let connection = tenant.writer().await?;
    let rows = connection
        .query(
            "SELECT coalesce(doc->>'username', '') AS username,
                    (SELECT doc->>'baseUrl' FROM baseurl LIMIT 1) AS base_url
             FROM users WHERE id = $1",
            vec![request.user_id.into()],
        )
        .await?;
    drop(connection);
    let (username, base): (String, Option<String>) =
        rows.first().map(|row| (row.get("username"), row.get("base_url"))).ok_or_else(|| {
            Refusal::new(format!("User with id '{}' not found", request.user_id)).code("user.not-found")
        })?;
    if username.trim().is_empty() {
        let message = "User without username cannot reset password";
        return Err(Refusal::new(message).code("user.absent-username").into());
    }
    refuse_if_account_has_more(&call, request.user_id).await?;
    let (id, ends) = (Uuid::new_v4(), call.now + LINK_LIFETIME);
    let action = ResetAction { id, user_id: request.user_id, expiration_time: time::format(ends) };
    credentials::store_action(tenant, &action).await?;
    let keys = &call.node.keys;
    let token =
        tokens::for_one_purpose(keys, &tenant.id, format!("{SUBJECT}{id}"), &PERMISSIONS, ends, call.now);
    let base = base.unwrap_or_else(|| "http://localhost:3000".into());
    let base = base.trim_end_matches('/');
    Ok(Answer::json(&json!({"link": format!("{base}/reset-password/{token}?tenant={}", tenant.id)})))
}

async fn reset(call: Call) -> Result<Answer, Failure> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct NewPassword {
        new_password: String,
    }
    let sent: NewPassword = call.read_json()?;
    let action = action_of_token(&call).await?;
    credentials::set_by_action(&call, action, &sent.new_password).await?;
    Ok(Answer::no_content())
}

/// The password reset action that the caller's token names, unless it is used or expired.
async fn action_of_token(call: &Call) -> Result<Uuid, Failure> {
    let refused = |message: String, code| Failure::from(Refusal::new(message).code(code));
    let name = call.caller.username.as_deref().unwrap_or_default();
    let id = name.strip_prefix(SUBJECT).and_then(|id| Uuid::parse_str(id).ok());
    let id = id.ok_or_else(|| refused("Invalid token.".into(), "link.invalid"))?;
    let tenant = call.tenant()?;
    let (user, ends) = credentials::action_of(tenant, id)
        .await?
        .ok_or_else(|| refused(format!("PasswordResetAction with id = {id} is not found"), "link.used"))?;
    if ends <= call.now {
        return Err(refused(format!("PasswordResetAction with id = {id} is expired"), "link.expired"));
    }
    let connection = tenant.writer().await?;
    let rows = connection.query("SELECT 1 FROM users WHERE id = $1", vec![user.into()]).await?;
    match rows.is_empty() {
        true => Err(refused(format!("User with id = {user} in not found"), "link.invalid")),
        false => Ok(id),
    }
}
