//! Profile pictures of users.
//!
//! Routes: `/users/profile-picture…`, `/users/configurations/entry…`. Reads the tenant's settings; changes
//! `profile_picture` and `configuration`. FOLIO encrypts pictures with a key that it stores in the next table; here
//! the database protects them, and the key is stored only for clients that read the settings.

use crate::records::people::PROFILE_PICTURE;
use crate::records::settings::PROFILE_PICTURE_CONFIGURATION;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use carrel_platform::record_store::{read, routes, write};
use carrel_platform::{Answer, Bind, Call, Json, Pipeline, Router, Tenant};
use carrel_records::Failure;
use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

/// Key of the setting of mod-users that says whether and how pictures are stored.
pub(crate) const KEY: &str = "PROFILE_PICTURE_CONFIG";
pub(crate) const KEY_CANNOT_CHANGE: &str = "Cannot update the Encryption key";
pub(crate) const LIMIT_TOO_LARGE: &str = "Max file size should not exceed more than 10 megabytes";
const MEGABYTE: usize = 1024 * 1024;
/// No setting allows a larger picture, in bytes.
const MAX_PICTURE_BYTES: usize = 10 * MEGABYTE;

pub fn connect(router: &mut Router) {
    router.on("POST", "/users/profile-picture", create);
    router.on("GET", "/users/profile-picture/{id}", find);
    router.on("PUT", "/users/profile-picture/{id}", replace);
    router.on("DELETE", "/users/profile-picture/{id}", delete);
    router.on("POST", "/users/profile-picture/cleanup", clean_up);
    router.on("GET", "/users/configurations/entry", configuration);
    router.on("PUT", "/users/configurations/entry/{configId}", configure);
}

/// The configuration of a new tenant: pictures are disabled.
pub fn first_records() -> Vec<(String, Value)> {
    let id = Uuid::new_v5(&Uuid::NAMESPACE_URL, b"carrel:profile-picture-configuration");
    let document = json!({"id": id, "configName": KEY, "enabled": false, "enabledObjectStorage": false,
        "encryptionKey": Uuid::new_v4().simple().to_string(), "maxFileSize": 4});
    vec![(PROFILE_PICTURE_CONFIGURATION.path.to_owned(), document)]
}

/// The setting of mod-users if there is one, else the older configuration entry.
async fn settings(tenant: &Tenant) -> Result<Value, Failure> {
    let connection = tenant.writer().await?;
    let rows = connection
        .query(
            "SELECT doc->'value' AS settings, 1 AS rank FROM user_settings WHERE lower(carrel.f_unaccent(doc->>'key')) = lower($1)
             UNION ALL SELECT doc, 2 FROM configuration WHERE doc->>'configName' = $1 ORDER BY rank LIMIT 1",
            vec![KEY.into()],
        )
        .await?;
    Ok(rows.first().map_or(Value::Null, |row| row.get::<_, Json>("settings").parse()))
}

/// FOLIO quirk: an invalid picture is answered with 500 and the reason.
type Refused<T> = Result<T, Answer>;

fn refused(reason: impl Into<String>) -> Answer {
    Answer::text(StatusCode::INTERNAL_SERVER_ERROR, reason)
}

fn refuse_if_off(tenant: &Tenant, settings: &Value) -> Refused<()> {
    if settings["enabled"] == true {
        return Ok(());
    }
    Err(refused(format!("Profile picture feature is not enabled for tenant {}", tenant.id)))
}

/// The picture sent, if it is one and not too large for any setting.
fn picture(call: &Call) -> Refused<String> {
    if call.body.is_empty() || call.body.len() > MAX_PICTURE_BYTES {
        return Err(too_large());
    }
    let is_known = call.body.starts_with(b"\x89PNG\r\n\x1a\n") || call.body.starts_with(b"\xff\xd8\xff");
    if !is_known {
        return Err(refused("Requested image should be of supported type-[PNG,JPG,JPEG]"));
    }
    Ok(STANDARD.encode(&call.body))
}

fn refuse_if_larger_than_set(call: &Call, settings: &Value) -> Refused<()> {
    let most = settings["maxFileSize"].as_f64().unwrap_or(f64::MAX) * MEGABYTE as f64;
    if call.body.len() as f64 > most { Err(too_large()) } else { Ok(()) }
}

fn too_large() -> Answer {
    refused("Requested file size should be within allowed size updated in profile_picture configuration")
}

/// The picture that was sent, if the tenant takes it.
fn checked_picture(call: &Call, tenant: &Tenant, settings: &Value) -> Refused<String> {
    let picture = picture(call)?;
    refuse_if_off(tenant, settings)?;
    refuse_if_larger_than_set(call, settings)?;
    Ok(picture)
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let picture = match checked_picture(&call, tenant, &settings(tenant).await?) {
        Ok(picture) => picture,
        Err(answer) => return Ok(answer),
    };
    let id = Uuid::new_v4();
    let document = json!({"id": id, "profile_picture_blob": picture});
    let mut pipeline = Pipeline::new();
    write::insert_text(&mut pipeline, &PROFILE_PICTURE, id, document.to_string());
    tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(Answer::created(&json!({"id": id})))
}

async fn find(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    if let Err(answer) = refuse_if_off(tenant, &settings(tenant).await?) {
        return Ok(answer);
    }
    let id = call.id(0)?;
    let connection = tenant.reader().await?;
    match read::find(&connection, &PROFILE_PICTURE, id).await? {
        Some(document) => Ok(Answer::document(document)),
        None => Err(Failure::NotFound(format!("No profile picture found for id {id}"))),
    }
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let tenant = call.tenant()?;
    let picture = match checked_picture(&call, tenant, &settings(tenant).await?) {
        Ok(picture) => picture,
        Err(answer) => return Ok(answer),
    };
    let document = json!({"id": id, "profile_picture_blob": picture});
    let mut pipeline = Pipeline::new();
    pipeline.add(
        "UPDATE profile_picture SET doc = $2 WHERE id = $1 RETURNING id",
        vec![id.into(), Bind::Json(document.to_string())],
    );
    let results = tenant.begin().await?.send_and_commit(pipeline).await?;
    match results.first(0) {
        Some(_) => Ok(Answer::json(&json!({"id": id}))),
        None => Err(Failure::NotFound("Existing profile picture is not found".into())),
    }
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    if let Err(answer) = refuse_if_off(tenant, &settings(tenant).await?) {
        return Ok(answer);
    }
    let mut pipeline = Pipeline::new();
    pipeline.add("DELETE FROM profile_picture WHERE id = $1 RETURNING id", vec![call.id(0)?.into()]);
    let results = tenant.begin().await?.send_and_commit(pipeline).await?;
    match results.first(0) {
        Some(_) => Ok(Answer::no_content()),
        None => Err(Failure::NotFound("Profile picture not found".into())),
    }
}

/// Deletes the pictures that no user shows.
async fn clean_up(call: Call) -> Result<Answer, Failure> {
    let mut pipeline = Pipeline::new();
    pipeline.add(
        "DELETE FROM profile_picture WHERE id::text NOT IN
             (SELECT doc->'personal'->>'profilePictureLink' FROM users
              WHERE doc->'personal'->>'profilePictureLink' IS NOT NULL)",
        vec![],
    );
    call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
    Ok(Answer::text(http::StatusCode::OK, ""))
}

async fn configuration(call: Call) -> Result<Answer, Failure> {
    let connection = call.tenant()?.reader().await?;
    let rows = connection
        .query(
            "SELECT doc - 'metadata' AS doc FROM configuration WHERE doc->>'configName' = $1",
            vec![KEY.into()],
        )
        .await?;
    match rows.first() {
        Some(row) => Ok(Answer::document(row.get::<_, Json>("doc"))),
        None => Err(Failure::NotFound("No configuration exist".into())),
    }
}

async fn configure(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let document = call.object()?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let stored = write::lock(&mut tx, &PROFILE_PICTURE_CONFIGURATION, id)
        .await?
        .ok_or_else(|| Failure::NotFound("Not found".into()))?
        .parse();
    if document.get("encryptionKey").is_none_or(|key| *key != stored["encryptionKey"]) {
        return Err(Failure::Invalid(KEY_CANNOT_CHANGE.into()));
    }
    if document.get("maxFileSize").and_then(Value::as_f64).is_some_and(|size| size > 10.0) {
        return Ok(refused(LIMIT_TOO_LARGE));
    }
    routes::replace_locked(&call, tx, &PROFILE_PICTURE_CONFIGURATION, id, document, &stored).await
}
