//! The log of logins and password changes, for tenants whose configuration enables it.
//!
//! Routes: `/authn/log/events…`. Reads the entries of the older configuration with module `EVENT_LOG`: code
//! `STATUS` enables the log, every other enabled code one type of event; routes of a disabled log answer 204. Changes
//! `event_logs`.

use carrel_platform::record_store::{read, write};
use carrel_platform::{Answer, Call, Pipeline, Router, Tenant};
use carrel_records::{Failure, PLAIN, RecordType, Routes, date, text};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

pub const SUCCESSFUL_LOGIN: &str = "SUCCESSFUL_LOGIN_ATTEMPT";
pub const FAILED_LOGIN: &str = "FAILED_LOGIN_ATTEMPT";
pub const PASSWORD_CREATE: &str = "PASSWORD_CREATE";
pub const PASSWORD_CHANGE: &str = "PASSWORD_CHANGE";
pub const PASSWORD_RESET: &str = "PASSWORD_RESET";

/// A login or password change of an account.
pub static LOG_EVENT: RecordType = RecordType {
    name: "logEvent",
    module: "mod-login",
    table: "event_logs",
    path: "/authn/log/events",
    collection: "loggingEvent",
    shape: "
        id:string
        eventType:string(enum=SUCCESSFUL_LOGIN_ATTEMPT|FAILED_LOGIN_ATTEMPT|FORGOT_PASSWORD_REQUEST|\
            FORGOT_USERNAME_REQUEST|PASSWORD_RESET|PASSWORD_CREATE|PASSWORD_CHANGE|USER_BLOCK)*
        tenant:string*
        userId:string*
        ip:string
        browserInformation:string
        timestamp:string(date-time)
    ",
    closed: false,
    fields: &[text("userId").indexed(), date("timestamp").indexed()],
    routes: Routes::ByHand,
    ..PLAIN
};

pub fn connect(router: &mut Router) {
    router.on("GET", "/authn/log/events", list);
    router.on("POST", "/authn/log/events", create);
    router.on("DELETE", "/authn/log/events/{id}", delete);
}

/// The enabled parts of the log, valid for one settings version.
struct LogSettings {
    enabled: bool,
    event_types: HashSet<String>,
}

impl LogSettings {
    async fn of(tenant: &Tenant) -> Result<Arc<LogSettings>, Failure> {
        let settings_version = tenant.settings_version().await?;
        if let Some((known, settings)) = tenant.cache.get::<LogSettings>()
            && known >= settings_version
        {
            return Ok(settings);
        }
        let connection = tenant.writer().await?;
        let rows = connection
            .query(
                "SELECT doc->>'code' AS code FROM config_data
                 WHERE lower(doc->>'module') = lower('EVENT_LOG') AND doc->>'enabled' = 'true'",
                vec![],
            )
            .await?;
        let event_types: HashSet<String> = rows.iter().filter_map(|row| row.get("code")).collect();
        let settings = Arc::new(LogSettings { enabled: event_types.contains("STATUS"), event_types });
        tenant.cache.put(settings_version, Arc::clone(&settings));
        Ok(settings)
    }
}

/// Logs an event, if its type is enabled.
pub async fn log_event(tenant: &Tenant, kind: &str, user: Uuid, now: Timestamp) -> Result<(), Failure> {
    let settings = LogSettings::of(tenant).await?;
    if !settings.enabled || !settings.event_types.contains(kind) {
        return Ok(());
    }
    let id = Uuid::new_v7(write::uuid_time(now));
    let document = json!({"id": id, "eventType": kind, "tenant": tenant.id, "userId": user,
        "timestamp": carrel_records::time::format(now)});
    let mut pipeline = Pipeline::new();
    write::insert_text(&mut pipeline, &LOG_EVENT, id, document.to_string());
    tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(())
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    if !LogSettings::of(tenant).await?.enabled {
        return Ok(Answer::no_content());
    }
    let mut requested = read::PageRequest::read(&call.query)?;
    requested.limit = call.query.number("length", requested.limit, 0, i64::from(i32::MAX))?;
    requested.offset = call.query.number("start", requested.offset + 1, 1, i64::from(i32::MAX))? - 1;
    let connection = tenant.reader().await?;
    let page = read::list(&connection, &LOG_EVENT, &call.node.records, &requested).await?;
    Ok(Answer::json_bytes(page.to_bytes(&LOG_EVENT)))
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let mut document = call.object()?;
    let settings = LogSettings::of(tenant).await?;
    if !settings.enabled {
        return Ok(Answer::no_content());
    }
    let kind = document.get("eventType").and_then(Value::as_str).unwrap_or_default();
    if !settings.event_types.contains(kind) {
        return Ok(Answer::no_content());
    }
    document.remove("id");
    let tx = tenant.begin().await?;
    let ready = write::create(tx, tenant, &LOG_EVENT, document, &call.caller, call.now).await?;
    let words = format!("Event id: {} was successfully saved to event log", ready.id);
    Ok(Answer::created(&json!({"message": words})))
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    if !LogSettings::of(tenant).await?.enabled {
        return Ok(Answer::no_content());
    }
    let user = call.parameter(0);
    let query = format!("userId==\"{}\"", user.replace('\\', "\\\\").replace('"', "\\\""));
    let query = read::parse(&query)?;
    let all = &call.node.records;
    let tx = tenant.begin().await?;
    match write::delete_matching(tx, tenant, &LOG_EVENT, Some(&query), all, call.now).await? {
        0 => Err(Failure::NotFound(format!("Event Config with `userId`: `{user}` was not found in the db"))),
        _ => Ok(Answer::json(&json!({"message": "Event was successfully deleted from event log"}))),
    }
}
