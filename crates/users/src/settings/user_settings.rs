//! Settings of mod-users.
//!
//! Routes: `POST /user/settings`, `PUT /user/settings/{id}`; the others are those of the record declaration. The
//! encryption key of profile pictures cannot be changed.

use crate::profile_pictures;
use crate::records::settings::USER_SETTING;
use carrel_platform::record_store::{routes, write};
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;
use http::StatusCode;
use serde_json::{Value, json};

/// Largest limit of a picture, in megabytes.
const MAX_FILE_SIZE: f64 = 10.0;

pub(super) fn connect(router: &mut Router) {
    router.on("POST", USER_SETTING.path, create);
    router.on("PUT", "/user/settings/{id}", replace);
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let created = routes::create_refusing_duplicates_with_400(&USER_SETTING, call).await;
    created.map_err(|failure| match failure {
        // The name of the table in FOLIO.
        Failure::Invalid(text) => Failure::Invalid(text.replace("table user_settings", "table settings")),
        failure => failure,
    })
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let document = call.object()?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(stored) = write::lock(&mut tx, &USER_SETTING, id).await? else {
        return Ok(error(
            StatusCode::NOT_FOUND,
            format!("Setting entity not found by id: {id}"),
            "not_found_error",
            call.parameter(0),
        ));
    };
    let stored = stored.parse();
    if let Some(named) =
        document.get("id").and_then(Value::as_str).filter(|named| *named != call.parameter(0))
    {
        return Ok(error(
            StatusCode::BAD_REQUEST,
            format!("ID of Setting for update not equal to id from path param: {named}"),
            "id_mismatch_error",
            named,
        ));
    }
    if document.get("key").is_some_and(|key| key == profile_pictures::KEY) {
        let key = |setting: &Value| setting["encryptionKey"].as_str().map(str::to_owned);
        let value = document.get("value").unwrap_or(&Value::Null);
        if key(value).is_none() || key(value) != key(&stored["value"]) {
            return Err(Failure::Invalid(profile_pictures::KEY_CANNOT_CHANGE.into()));
        }
        if value["maxFileSize"].as_f64().is_some_and(|size| size > MAX_FILE_SIZE) {
            // FOLIO quirk: 500, although the client can correct it.
            return Ok(Answer::text(StatusCode::INTERNAL_SERVER_ERROR, profile_pictures::LIMIT_TOO_LARGE));
        }
    }
    routes::replace_locked(&call, tx, &USER_SETTING, id, document, &stored).await
}

/// FOLIO quirk: the body is one error, not a list.
fn error(status: StatusCode, message: String, code: &str, id: &str) -> Answer {
    let parameters = [json!({"key": "id", "value": id})];
    Answer::json(&json!({"message": message, "code": code, "parameters": parameters})).status(status)
}
