//! Password reset links, for staff and for users who have forgotten their password.
//!
//! Routes: `/bl-users/settings/myprofile/password`, where users change their own password, and
//! `/bl-users/password-reset/validate`. A link carries a token that allows `…/validate` and `…/reset`, and names the
//! password reset action. The routes that make links or redeem them are those of the module that mails users.

use crate::login::credentials::{self, ResetAction};
use crate::login::tokens;
use crate::permissions::refuse_if_account_has_more;
use carrel_platform::{Answer, Call, Json, Router};
use carrel_records::{Failure, Refusal, RefusalCode, time};
use jiff::SignedDuration;
use serde_json::Value;
use uuid::Uuid;

/// Prefix of the subject of a link's token, before the id of the action.
const SUBJECT: &str = "UNDEFINED_USER__RESET_PASSWORD_";
/// Lifetime of a link.
const LINK_LIFETIME: SignedDuration = SignedDuration::from_hours(24);
const PERMISSIONS: [&str; 2] =
    ["users-bl.password-reset-link.validate", "users-bl.password-reset-link.reset"];

pub fn connect(router: &mut Router) {
    router.on("POST", "/bl-users/settings/myprofile/password", credentials::change);
    router.on("POST", "/bl-users/password-reset/validate", |call| async move {
        action_of_token(&call).await?;
        Ok(Answer::no_content())
    });
}

/// A link for a user, and the other values of its mail.
pub struct PasswordResetLink {
    /// The user as stored.
    pub user: Value,
    pub link: String,
    /// The page at which users request a link.
    pub forgot_password_link: String,
    /// The user has a password, which the link replaces.
    pub has_password: bool,
}

/// Makes a link for a user, on behalf of staff who may set the password of the account.
pub async fn for_staff(call: &Call) -> Result<PasswordResetLink, Failure> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct LinkRequest {
        user_id: Uuid,
    }
    let request: LinkRequest = call.read_json()?;
    let parts = link_parts(call, request.user_id).await?;
    refuse_if_account_has_more(call, request.user_id).await?;
    create(call, request.user_id, parts).await
}

/// Creates a link that is disclosed to the user only.
pub async fn for_user(call: &Call, user: Uuid) -> Result<PasswordResetLink, Failure> {
    let parts = link_parts(call, user).await?;
    create(call, user, parts).await
}

/// The parts of a link besides its token.
struct LinkParts {
    user: Value,
    host: String,
    reset_path: String,
    forgot_path: String,
    has_password: bool,
}

/// Reads user and settings; refuses users who do not exist or have no username.
async fn link_parts(call: &Call, user_id: Uuid) -> Result<LinkParts, Failure> {
    let connection = call.tenant()?.writer().await?;
    let rows = connection
        .query(
            "SELECT doc AS user, EXISTS (SELECT 1 FROM auth_credentials WHERE user_id = $1) AS has_password,
                 (SELECT nullif(trim(doc->>'baseUrl'), '') FROM baseurl LIMIT 1) AS base_url,
                 (SELECT jsonb_object_agg(doc->>'key', doc->>'value') FROM settings
                  WHERE doc->>'scope' = 'mod-users-bl.config.manage' AND doc->>'key' LIKE '%Path'
                      AND doc->>'userId' IS NULL) AS settings,
                 (SELECT jsonb_object_agg(doc->>'code', doc->>'value') FROM config_data
                  WHERE doc->>'module' = 'USERSBL' AND doc->>'enabled' = 'true' AND doc->>'code' IS NOT NULL)
                     AS configuration
             FROM users WHERE id = $1",
            vec![user_id.into()],
        )
        .await?;
    drop(connection);
    let row = rows.first().ok_or_else(|| {
        Refusal::new(format!("User with id '{user_id}' not found"))
            .code(RefusalCode::PasswordResetUserNotFound)
    })?;
    let user = row.get::<_, Json>("user").parse();
    if user["username"].as_str().is_none_or(|name| name.trim().is_empty()) {
        let message = "User without username cannot reset password";
        return Err(Refusal::new(message).code(RefusalCode::UserAbsentUsername).into());
    }
    let base_url: Option<String> = row.get("base_url");
    let map = |column: &str| row.get::<_, Option<Json>>(column).map(|json| json.parse()).unwrap_or_default();
    // The older configuration applies if the tenant has no base URL.
    let (values, names) = match base_url {
        Some(_) => (map("settings"), ["", "resetPasswordPath", "forgotPasswordPath"]),
        None => (map("configuration"), ["FOLIO_HOST", "RESET_PASSWORD_UI_PATH", "FORGOT_PASSWORD_UI_PATH"]),
    };
    let value = |name: &str, default: &str| {
        let set = values[name].as_str().map(str::trim).filter(|text| !text.is_empty());
        set.unwrap_or(default).to_owned()
    };
    let host = base_url.unwrap_or_else(|| value(names[0], "http://localhost:3000"));
    Ok(LinkParts {
        user,
        host: host.trim_end_matches('/').to_owned(),
        reset_path: value(names[1], "/reset-password"),
        forgot_path: value(names[2], "/forgot-password"),
        has_password: row.get("has_password"),
    })
}

/// Stores the action that the link allows once, and signs its token.
async fn create(call: &Call, user_id: Uuid, parts: LinkParts) -> Result<PasswordResetLink, Failure> {
    let tenant = call.tenant()?;
    let (id, ends) = (Uuid::new_v4(), call.now + LINK_LIFETIME);
    let action = ResetAction { id, user_id, expiration_time: time::format(ends) };
    credentials::store_action(tenant, &action).await?;
    let keys = &call.node.keys;
    let token =
        tokens::for_one_purpose(keys, &tenant.id, format!("{SUBJECT}{id}"), &PERMISSIONS, ends, call.now);
    let LinkParts { user, host, reset_path, forgot_path, has_password } = parts;
    Ok(PasswordResetLink {
        user,
        link: format!("{host}{reset_path}/{token}?tenant={}", tenant.id),
        forgot_password_link: format!("{host}{forgot_path}"),
        has_password,
    })
}

/// A password that was set by a link.
pub struct PasswordSet {
    /// The user as stored.
    pub user: Value,
    /// It is the user's first one.
    pub is_first: bool,
}

/// Sets the password in the call's body for the user whom the caller's token names.
pub async fn reset(call: &Call) -> Result<PasswordSet, Failure> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct NewPassword {
        new_password: String,
    }
    let sent: NewPassword = call.read_json()?;
    let (action, user) = action_of_token(call).await?;
    let is_first = credentials::set_by_action(call, action, &sent.new_password).await?;
    Ok(PasswordSet { user, is_first })
}

/// The password reset action that the caller's token names, unless it is used or expired, and its user.
async fn action_of_token(call: &Call) -> Result<(Uuid, Value), Failure> {
    let refused = |message: String, code| Failure::from(Refusal::new(message).code(code));
    let name = call.caller.username.as_deref().unwrap_or_default();
    let id = name.strip_prefix(SUBJECT).and_then(|id| Uuid::parse_str(id).ok());
    let id = id.ok_or_else(|| refused("Invalid token.".into(), RefusalCode::LinkInvalid))?;
    let tenant = call.tenant()?;
    let (user, ends) = credentials::action_of(tenant, id).await?.ok_or_else(|| {
        refused(format!("PasswordResetAction with id = {id} is not found"), RefusalCode::LinkUsed)
    })?;
    if ends <= call.now {
        return Err(refused(
            format!("PasswordResetAction with id = {id} is expired"),
            RefusalCode::LinkExpired,
        ));
    }
    let connection = tenant.writer().await?;
    let rows = connection.query("SELECT doc FROM users WHERE id = $1", vec![user.into()]).await?;
    match rows.first() {
        None => Err(refused(format!("User with id = {user} in not found"), RefusalCode::LinkInvalid)),
        Some(row) => Ok((id, row.get::<_, Json>("doc").parse())),
    }
}
