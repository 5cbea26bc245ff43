//! Patrons who register themselves from outside: they become staging users, and may ask how it stands.
//!
//! Routes: `POST /patron`, `PUT /patron/{externalSystemId}`, `GET /patron/registration-status/{identifier}`.
//! Reads users of type patron; changes staging users.

use crate::records::people::{STAGING_USER, USER};
use crate::staging_users;
use crate::user::lookup::quoted;
use carrel_platform::record_store::{read, write};
use carrel_platform::{Answer, Call, Json, Router};
use carrel_records::Failure;
use carrel_records::shape::is_uuid;
use http::StatusCode;
use serde_json::{Value, json};

pub fn connect(router: &mut Router) {
    router.on("POST", "/patron", |call| async move {
        refuse_unfit(&call)?;
        staging_users::create(call).await
    });
    router.on("PUT", "/patron/{externalSystemId}", |call| async move {
        refuse_unfit(&call)?;
        match staging_users::amend(call).await {
            Err(Failure::NotFound(_)) => Ok(reported(StatusCode::NOT_FOUND, Said::StagingUserNotFound)),
            other => other,
        }
    });
    router.on("GET", "/patron/registration-status/{identifier}", registration_status);
}

/// Also a change is sent as a whole registration.
fn refuse_unfit(call: &Call) -> Result<(), Failure> {
    write::check(&STAGING_USER, &mut call.object()?, &call.caller)
}

/// What is reported beside the usual answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    StagingUserNotFound,
    UserNotFound,
    UserAccountInactive,
    MultipleUsersWithEmail,
}

fn reported(status: StatusCode, said: Said) -> Answer {
    let (message, code) = match said {
        Said::StagingUserNotFound => ("Staging user does not exist", "STAGING_USER_NOT_FOUND"),
        Said::UserNotFound => ("User does not exist", "USER_NOT_FOUND"),
        Said::UserAccountInactive => ("User account is not active", "USER_ACCOUNT_INACTIVE"),
        Said::MultipleUsersWithEmail => {
            ("Multiple users found with the same email", "MULTIPLE_USER_WITH_EMAIL")
        }
    };
    Answer::json(&json!({"errors": [{"message": message, "code": code, "parameters": []}]})).status(status)
}

async fn registration_status(call: Call) -> Result<Answer, Failure> {
    let identifier = call.parameter(0);
    let field = if is_uuid(identifier) { "externalSystemId" } else { "personal.email" };
    let query = read::parse(&format!("{field}=={} and type==patron", quoted(identifier)))?;
    let condition = read::condition(Some(&query), &USER, &call.node.records)?;
    let sql = format!("SELECT users.doc FROM users WHERE {} LIMIT 2", condition.conditions);
    let rows = call.tenant()?.reader().await?.query(sql, read::binds(&condition.arguments)).await?;
    let users: Vec<Value> = rows.iter().map(|row| row.get::<_, Json>(0).parse()).collect();
    Ok(match users.as_slice() {
        [] => reported(StatusCode::NOT_FOUND, Said::UserNotFound),
        [user] if user["active"] == true => Answer::json(&shown(user)),
        [_] => reported(StatusCode::NOT_FOUND, Said::UserAccountInactive),
        _ => reported(StatusCode::BAD_REQUEST, Said::MultipleUsersWithEmail),
    })
}

/// The user without what this interface does not know.
fn shown(user: &Value) -> Value {
    let mut user = user.clone();
    if let Some(user) = user.as_object_mut() {
        user.remove("_version");
        if let Some(Value::Object(personal)) = user.get_mut("personal") {
            personal.remove("pronouns");
            personal.remove("preferredContactTypeIds");
        }
    }
    user
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_staff_clients_know_is_not_shown() {
        let user = json!({"id": "1", "_version": 3, "personal": {"lastName": "A", "pronouns": "they"}});
        assert_eq!(shown(&user), json!({"id": "1", "personal": {"lastName": "A"}}));
    }
}
