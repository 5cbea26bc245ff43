//! Self-registration of patrons: they become staging users, and can ask for the status of their registration.
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
        refuse_invalid(&call)?;
        staging_users::create(call).await
    });
    router.on("PUT", "/patron/{externalSystemId}", |call| async move {
        refuse_invalid(&call)?;
        match staging_users::update(call).await {
            Err(Failure::NotFound(_)) => Ok(problem(StatusCode::NOT_FOUND, Problem::StagingUserNotFound)),
            other => other,
        }
    });
    router.on("GET", "/patron/registration-status/{identifier}", registration_status);
}

/// A change is sent as a complete registration, too.
fn refuse_invalid(call: &Call) -> Result<(), Failure> {
    write::check(&STAGING_USER, &mut call.object()?, &call.caller)
}

/// A problem with a code of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Problem {
    StagingUserNotFound,
    UserNotFound,
    UserAccountInactive,
    MultipleUsersWithEmail,
}

fn problem(status: StatusCode, problem: Problem) -> Answer {
    let (message, code) = match problem {
        Problem::StagingUserNotFound => ("Staging user does not exist", "STAGING_USER_NOT_FOUND"),
        Problem::UserNotFound => ("User does not exist", "USER_NOT_FOUND"),
        Problem::UserAccountInactive => ("User account is not active", "USER_ACCOUNT_INACTIVE"),
        Problem::MultipleUsersWithEmail => {
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
    let users: Vec<Value> = rows.iter().map(|row| row.get::<_, Json>("doc").parse()).collect();
    Ok(match users.as_slice() {
        [] => problem(StatusCode::NOT_FOUND, Problem::UserNotFound),
        [user] if user["active"] == true => Answer::json(&presented(user)),
        [_] => problem(StatusCode::NOT_FOUND, Problem::UserAccountInactive),
        _ => problem(StatusCode::BAD_REQUEST, Problem::MultipleUsersWithEmail),
    })
}

/// The user without the properties that this interface does not have.
fn presented(user: &Value) -> Value {
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
    fn properties_for_staff_clients_are_left_out() {
        let user = json!({"id": "1", "_version": 3, "personal": {"lastName": "A", "pronouns": "they"}});
        assert_eq!(presented(&user), json!({"id": "1", "personal": {"lastName": "A"}}));
    }
}
