//! Notifications: short messages to users of the system, which clients read, or which an event configuration turns into
//! sent messages.
//!
//! Routes: `POST /notify`, `POST /notify/_username/{username}`, `PUT /notify/{id}`, `GET` and `DELETE
//! /notify/user/_self` (mod-notify); the others come from the declaration. Changes `notify_data`.

use crate::delivery::{self, Delivery, Message};
use crate::records::NOTIFICATION;
use carrel_platform::record_store::write::{self, uuid_time};
use carrel_platform::record_store::{read, routes, stream};
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, Refusal};
use serde_json::{Map, Value};
use uuid::Uuid;

/// Days for which seen notifications are stored; older ones are deleted when the next one is seen.
const KEEP_SEEN_DAYS: i64 = 365;

pub fn connect(router: &mut Router) {
    router.on("GET", "/notify/user/_self", |call| async move {
        let own = format!("recipientId=={}", caller(&call)?);
        let query = match call.query.get("query").filter(|query| !query.trim().is_empty()) {
            Some(query) => format!("{own} and ({query})"),
            None => own,
        };
        let mut requested = read::PageRequest::read(&call.query)?;
        requested.query = Some(read::parse(&query)?);
        stream::plain(&call, &NOTIFICATION, &requested).await
    });
    router.on("DELETE", "/notify/user/_self", |call| async move {
        let sql = "DELETE FROM notify_data WHERE doc->>'recipientId' = $1 AND doc->>'seen' = 'true'
                   AND ($2::text IS NULL OR doc->'metadata'->>'updatedDate' < $2) RETURNING id";
        let older_than = call.query.get("olderthan").map(str::to_owned);
        let binds = vec![caller(&call)?.to_string().into(), older_than.into()];
        match call.tenant()?.writer().await?.query(sql, binds).await?.len() {
            0 => Err(Failure::NotFound("Deleted count was 0, expected 1".into())),
            _ => Ok(Answer::no_content()),
        }
    });
    router.on("POST", "/notify", |call| async move {
        let document = call.object()?;
        create(&call, document).await
    });
    router.on("POST", "/notify/_username/{uid}", |call| async move {
        let name = call.parameter(0).to_owned();
        let sql = "SELECT id FROM users WHERE lower(doc->>'username') = lower($1)";
        let rows = call.tenant()?.reader().await?.query(sql, vec![name.as_str().into()]).await?;
        let recipient: Uuid = rows
            .first()
            .map(|row| row.get("id"))
            .ok_or_else(|| Failure::Invalid(format!("User lookup failed. Can not find user {name}")))?;
        let mut document = call.object()?;
        document.insert("recipientId".into(), recipient.to_string().into());
        create(&call, document).await
    });
    router.on("PUT", "/notify/{id}", |call| async move {
        let document = call.object()?;
        if let Some(id) = document.get("id").and_then(Value::as_str).filter(|id| *id != call.parameter(0)) {
            return Err(Refusal::new("Can not change the id").with("id", id).into());
        }
        refuse_without_recipient(&document)?;
        let (tenant, now) = (call.tenant()?.clone(), call.now);
        let answer = routes::replace(&NOTIFICATION, call).await?;
        let before = now - std::time::Duration::from_secs(86_400 * KEEP_SEEN_DAYS as u64);
        let sql = "DELETE FROM notify_data WHERE doc->>'seen' = 'true'
                   AND carrel.instant(doc->'metadata'->>'updatedDate') < $1";
        tenant.writer().await?.query(sql, vec![before.into()]).await?;
        Ok(answer)
    });
}

async fn create(call: &Call, document: Map<String, Value>) -> Result<Answer, Failure> {
    let context = document.get("context").cloned().unwrap_or_default();
    create_with(call, document, &context).await
}

/// Stores a notification, and the mails of its event configuration, rendered with the context.
pub async fn create_with(
    call: &Call,
    mut document: Map<String, Value>,
    context: &Value,
) -> Result<Answer, Failure> {
    refuse_without_recipient(&document)?;
    document.entry("seen").or_insert(false.into());
    let tenant = call.tenant()?;
    let messages = event_messages(call, &document, context).await?;
    let recipient_user_id = text(&document, "recipientId").unwrap_or_default().to_owned();
    let ready =
        write::create(tenant.begin().await?, tenant, &NOTIFICATION, document, &call.caller, call.now).await?;
    if !messages.is_empty() {
        let notification_id = Uuid::new_v7(uuid_time(call.now)).to_string();
        delivery::send(call, &Delivery { notification_id, recipient_user_id, messages }).await?;
    }
    Ok(routes::created(&NOTIFICATION, &ready))
}

/// The messages of the notification's event configuration, rendered before anything is stored.
async fn event_messages(
    call: &Call,
    document: &Map<String, Value>,
    context: &Value,
) -> Result<Vec<Message>, Failure> {
    let Some(event) = text(document, "eventConfigName") else { return Ok(Vec::new()) };
    let connection = call.tenant()?.reader().await?;
    let lang = text(document, "lang").unwrap_or("en");
    let mut messages = Vec::new();
    for (request, channel) in delivery::event_templates(&connection, event, lang, context).await? {
        messages.push(delivery::message(&request, &channel, &connection).await?);
    }
    Ok(messages)
}

fn refuse_without_recipient(document: &Map<String, Value>) -> Result<(), Failure> {
    match text(document, "recipientId") {
        Some(_) => Ok(()),
        None => Err(Refusal::new("Required").with("recipientId", "").into()),
    }
}

fn text<'a>(document: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    document.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn caller(call: &Call) -> Result<Uuid, Failure> {
    call.caller.user_id.ok_or_else(|| Failure::Invalid("No UserId".into()))
}
