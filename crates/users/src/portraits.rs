//! Portraits of users.
//!
//! Routes: `/users/profile-picture…`, `/users/configurations/entry…`. Reads the tenant's settings; changes
//! `profile_picture` and `configuration`. FOLIO encrypts portraits with a key that lies in the next table; here the
//! database's own protection is what counts, and the key is only kept for those who read the settings.

use crate::records::people::PROFILE_PICTURE;
use crate::records::settings::PROFILE_PICTURE_CONFIGURATION;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use carrel_platform::record_store::{read, write};
use carrel_platform::{Answer, Bind, Call, Json, Pipeline, Router, Tenant};
use carrel_records::Failure;
use serde_json::{Value, json};
use uuid::Uuid;

const KEY: &str = "PROFILE_PICTURE_CONFIG";
const MEGABYTE: usize = 1024 * 1024;

pub fn connect(router: &mut Router) {
    router.on("POST", "/users/profile-picture", create);
    router.on("GET", "/users/profile-picture/{id}", find);
    router.on("PUT", "/users/profile-picture/{id}", replace);
    router.on("DELETE", "/users/profile-picture/{id}", delete);
    router.on("POST", "/users/profile-picture/cleanup", clean_up);
    router.on("GET", "/users/configurations/entry", configuration);
    router.on("PUT", "/users/configurations/entry/{configId}", configure);
}

/// The settings of a new tenant: no portraits.
pub fn first_records() -> Vec<(String, Value)> {
    let id = Uuid::new_v5(&Uuid::NAMESPACE_URL, b"carrel:profile-picture-configuration");
    let document = json!({"id": id, "configName": KEY, "enabled": false, "enabledObjectStorage": false,
        "encryptionKey": Uuid::new_v4().simple().to_string(), "maxFileSize": 4});
    vec![(PROFILE_PICTURE_CONFIGURATION.path.to_owned(), document)]
}

/// The setting of mod-users where there is one, else the older entry.
async fn settings(tenant: &Tenant) -> Result<Value, Failure> {
    let connection = tenant.writer().await?;
    let rows = connection
        .query(
            "SELECT doc->'value', 1 AS rank FROM user_settings WHERE lower(carrel.f_unaccent(doc->>'key')) = lower($1)
             UNION ALL SELECT doc, 2 FROM configuration WHERE doc->>'configName' = $1 ORDER BY rank LIMIT 1",
            vec![KEY.into()],
        )
        .await?;
    Ok(rows.first().map_or(Value::Null, |row| row.get::<_, Json>(0).parse()))
}

async fn refuse_if_off(call: &Call) -> Result<Value, Failure> {
    let tenant = call.tenant()?;
    let settings = settings(tenant).await?;
    if settings["enabled"] != true {
        let words = format!("Profile picture feature is not enabled for tenant {}", tenant.id);
        return Err(Failure::Invalid(words));
    }
    Ok(settings)
}

/// The picture sent, if it is one and not too large.
fn picture(call: &Call, settings: &Value) -> Result<String, Failure> {
    let most = settings["maxFileSize"].as_f64().unwrap_or(10.0).min(10.0) * MEGABYTE as f64;
    if call.body.is_empty() || call.body.len() as f64 > most {
        return Err(Failure::Invalid(
            "Requested file size should be within allowed size updated in profile_picture configuration"
                .into(),
        ));
    }
    let known = call.body.starts_with(b"\x89PNG\r\n\x1a\n") || call.body.starts_with(b"\xff\xd8\xff");
    if !known {
        return Err(Failure::Invalid("Requested image should be of supported type-[PNG,JPG,JPEG]".into()));
    }
    Ok(STANDARD.encode(&call.body))
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let settings = refuse_if_off(&call).await?;
    let id = Uuid::new_v4();
    let document = json!({"id": id, "profile_picture_blob": picture(&call, &settings)?});
    let mut pipeline = Pipeline::new();
    write::insert_text(&mut pipeline, &PROFILE_PICTURE, id, document.to_string());
    call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
    Ok(Answer::created(&json!({"id": id})))
}

async fn find(call: Call) -> Result<Answer, Failure> {
    refuse_if_off(&call).await?;
    let id = call.id(0)?;
    let connection = call.tenant()?.reader().await?;
    match read::find(&connection, &PROFILE_PICTURE, id).await? {
        Some(document) => Ok(Answer::json_bytes(document.0.into_bytes())),
        None => Err(Failure::NotFound(format!("No profile picture found for id {id}"))),
    }
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let settings = refuse_if_off(&call).await?;
    let id = call.id(0)?;
    let document = json!({"id": id, "profile_picture_blob": picture(&call, &settings)?});
    let mut pipeline = Pipeline::new();
    pipeline.add(
        "UPDATE profile_picture SET doc = $2 WHERE id = $1 RETURNING id",
        vec![id.into(), Bind::Json(document.to_string())],
    );
    let results = call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
    match results.first(0) {
        Some(_) => Ok(Answer::json(&json!({"id": id}))),
        None => Err(Failure::NotFound("Existing profile picture is not found".into())),
    }
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    refuse_if_off(&call).await?;
    let mut pipeline = Pipeline::new();
    pipeline.add("DELETE FROM profile_picture WHERE id = $1 RETURNING id", vec![call.id(0)?.into()]);
    let results = call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
    match results.first(0) {
        Some(_) => Ok(Answer::no_content()),
        None => Err(Failure::NotFound("Profile picture not found".into())),
    }
}

/// Portraits that no user shows go.
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
        .query("SELECT doc - 'metadata' FROM configuration WHERE doc->>'configName' = $1", vec![KEY.into()])
        .await?;
    match rows.first() {
        Some(row) => Ok(Answer::json_bytes(row.get::<_, Json>(0).0.into_bytes())),
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
        return Err(Failure::Invalid("Cannot update the Encryption key".into()));
    }
    if document.get("maxFileSize").and_then(Value::as_f64).is_some_and(|size| size > 10.0) {
        return Err(Failure::Invalid("Max file size should not exceed more than 10 megabytes".into()));
    }
    let record = &PROFILE_PICTURE_CONFIGURATION;
    let ready = write::prepare_replacement(record, id, document, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, &tenant.id, record, &ready, &stored, call.now);
    tx.send_and_commit(pipeline).await.map_err(|error| write::reported(record, error, &ready.document))?;
    Ok(Answer::no_content())
}
