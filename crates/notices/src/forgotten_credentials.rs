//! Mails to users who have forgotten their password or username, get a password reset link from staff, or have set a
//! password by a link.
//!
//! Routes: `POST /bl-users/forgotten/password`, `POST /bl-users/forgotten/username` (both without a token), `POST
//! `POST /bl-users/password-reset/link` and `…/reset`. Reads users and settings; stores a password reset action and a notification,
//! event configuration determines the mail.
//!
//! The answers of the first two reveal no more than FOLIO's: that no user or only an inactive one has the name, number
//! or address. A user gets at most one mail of a kind a minute.

use crate::notifications;
use carrel_platform::record_store::read::{self, PageRequest};
use carrel_platform::{Answer, Call, Json, Router};
use carrel_records::{Failure, Refusal, RefusalCode};
use carrel_users::records::people::USER;
use carrel_users::users_bl::password_reset_link::{self, PasswordResetLink, PasswordSet};
use jiff::SignedDuration;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Codes of the configuration entries with the fields by which users are found.
const FOR_PASSWORD: [&str; 3] = ["userName", "phoneNumber", "email"];
const FOR_USERNAME: [&str; 2] = ["phoneNumber", "email"];
/// The fields without such an entry.
const DEFAULT_FIELDS: [&str; 4] = ["personal.email", "personal.phone", "personal.mobilePhone", "username"];
/// Entries that are read.
const MAX_ENTRIES: i64 = 3;
/// Time between two mails of a kind to one user.
const PAUSE: SignedDuration = SignedDuration::from_mins(1);
/// Characters of a name, number or address.
const MAX_LENGTH: usize = 500;

pub fn connect(router: &mut Router) {
    router.on("POST", "/bl-users/forgotten/password", |call| async move {
        if let Some(user) = locate(&call, &FOR_PASSWORD).await?
            && may_be_mailed(&call, &user, "password").await?
        {
            let id = id_of(&user)?;
            let link = password_reset_link::for_user(&call, id).await?;
            mail_link(&call, id, link).await;
        }
        Ok(Answer::no_content())
    });
    router.on("POST", "/bl-users/forgotten/username", |call| async move {
        if let Some(user) = locate(&call, &FOR_USERNAME).await?
            && may_be_mailed(&call, &user, "username").await?
        {
            let id = id_of(&user)?;
            mail(&call, id, "USERNAME_LOCATED_EVENT", json!({"user": user})).await;
        }
        Ok(Answer::no_content())
    });
    router.on("POST", "/bl-users/password-reset/link", |call| async move {
        let link = password_reset_link::for_staff(&call).await?;
        let answer = Answer::json(&json!({"link": link.link}));
        let id = id_of(&link.user)?;
        mail_link(&call, id, link).await;
        Ok(answer)
    });
    router.on("POST", "/bl-users/password-reset/reset", |call| async move {
        let PasswordSet { user, is_first } = password_reset_link::reset(&call).await?;
        let id = id_of(&user)?;
        if is_first {
            mail(&call, id, "PASSWORD_CREATED_EVENT", json!({"user": user})).await;
        } else {
            let context = json!({"user": user, "detailedDateTime": call.now.to_string()});
            mail(&call, id, "PASSWORD_CHANGED_EVENT", context).await;
        }
        Ok(Answer::no_content())
    });
}

fn id_of(user: &Value) -> Result<Uuid, Failure> {
    let id = user["id"].as_str().and_then(|id| Uuid::parse_str(id).ok());
    id.ok_or_else(|| Failure::internal("a stored user has an id"))
}

/// The active user with the name, number or address in the body; `None` if there are several, who get no mail.
async fn locate(call: &Call, codes: &[&str]) -> Result<Option<Value>, Failure> {
    let body = call.object()?;
    let sent = body.get("id").and_then(Value::as_str).unwrap_or_default();
    let not_found = || Failure::Invalid(format!("User is not found: {sent}"));
    if sent.trim().is_empty() || sent.len() > MAX_LENGTH {
        return Err(not_found());
    }
    let connection = call.tenant()?.reader().await?;
    let codes: Vec<String> = codes.iter().map(|code| (*code).to_owned()).collect();
    let rows = connection
        .query(
            "SELECT doc->>'value' AS fields FROM config_data
             WHERE doc->>'module' = 'USERSBL' AND doc->>'code' = ANY($1) ORDER BY id LIMIT $2",
            vec![codes.into(), MAX_ENTRIES.into()],
        )
        .await?;
    let configured: Vec<Option<String>> = rows.iter().map(|row| row.get("fields")).collect();
    let query = query_of(&configured, sent);
    let requested = PageRequest { limit: 2, ..PageRequest::read(&carrel_platform::http::Query::default())? };
    let query = read::parse(&query).map_err(|_| not_found())?;
    let requested = PageRequest { query: Some(query), ..requested };
    let page = match read::list(&connection, &USER, &call.node.records, &requested).await {
        // A configured field that users do not have.
        Err(Failure::Invalid(_)) => return Err(not_found()),
        page => page?,
    };
    let users: Vec<Value> = page.documents.iter().map(Json::parse).collect();
    let [user] = &users[..] else {
        return if users.is_empty() { Err(not_found()) } else { Ok(None) };
    };
    if user["active"] != true {
        let message = format!("Users associated with '{sent}' is not active");
        return Err(Refusal::new(message).code(RefusalCode::ForgottenPasswordFoundInactive).into());
    }
    Ok(Some(user.clone()))
}

/// Finds users with a field that equals the text of the request. A configured value may contain several fields.
fn query_of(configured: &[Option<String>], sent: &str) -> String {
    let mut fields: Vec<&str> = configured
        .iter()
        .flatten()
        .flat_map(|value| {
            value.split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '.'))
        })
        .filter(|field| !field.is_empty())
        .collect();
    if fields.is_empty() {
        fields.extend(DEFAULT_FIELDS);
    }
    let mut term = String::new();
    for letter in sent.trim().chars() {
        // The text is quoted: no wildcards, and no end of the term.
        if matches!(letter, '\\' | '"' | '*' | '?' | '^') {
            term.push('\\');
        }
        term.push(letter);
    }
    let conditions: Vec<String> = fields.iter().map(|field| format!("{field}==\"{term}\"")).collect();
    conditions.join(" or ")
}

/// Whether the user may get a mail of a kind now; if so, the next one waits. Of calls at once, one may.
async fn may_be_mailed(call: &Call, user: &Value, kind: &str) -> Result<bool, Failure> {
    let since = call.now.checked_sub(PAUSE).unwrap_or(call.now);
    let connection = call.tenant()?.writer().await?;
    let rows = connection
        .query(
            "INSERT INTO forgotten_credentials_mail AS last (user_id, kind, mailed) VALUES ($1, $2, $3)
             ON CONFLICT (user_id, kind) DO UPDATE SET mailed = excluded.mailed WHERE last.mailed <= $4
             RETURNING 1",
            vec![id_of(user)?.into(), kind.into(), call.now.into(), since.into()],
        )
        .await?;
    Ok(!rows.is_empty())
}

async fn mail_link(call: &Call, user: Uuid, link: PasswordResetLink) {
    let PasswordResetLink { user: document, link, forgot_password_link, has_password } = link;
    let event = if has_password { "RESET_PASSWORD_EVENT" } else { "CREATE_PASSWORD_EVENT" };
    let context = json!({"user": document, "link": link, "forgotPasswordLink": forgot_password_link});
    mail(call, user, event, context).await;
}

/// Stores the notification of an event, which is mailed according to its configuration. The context is not stored:
/// readers of notifications must not see links. FOLIO quirk: a notification that cannot be stored is only logged.
async fn mail(call: &Call, user: Uuid, event: &str, context: Value) {
    let mut notification = Map::new();
    notification.insert("recipientId".into(), user.to_string().into());
    notification.insert("eventConfigName".into(), event.into());
    notification.insert("text".into(), "".into());
    notification.insert("lang".into(), "en".into());
    if let Err(failure) = notifications::create_with(call, notification, &context).await {
        tracing::warn!(user.id = %user, "the mail of {event} could not be stored: {failure}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_the_configured_fields_or_by_all_of_them() {
        let configured = [Some("personal.phone, personal.mobilePhone".to_owned()), None];
        assert_eq!(query_of(&configured, " 123 "), r#"personal.phone=="123" or personal.mobilePhone=="123""#);
        assert!(query_of(&[], "ada").ends_with(r#"or username=="ada""#));
    }

    #[test]
    fn what_is_sent_is_text_and_no_query() {
        let configured = [Some("username".to_owned())];
        assert_eq!(
            query_of(&configured, r#"*" or username=="ada"#),
            r#"username=="\*\" or username==\"ada""#
        );
        assert!(read::parse(&query_of(&configured, r#"\"#)).is_ok());
    }
}
