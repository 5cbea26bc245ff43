//! Messages to patrons and other users, by e-mail, letter or text message.
//!
//! Routes: `POST /message-delivery` (mod-sender), `POST /patron-notice` (mod-notify). Reads users and templates; adds
//! e-mails to the delivery queue. A letter (`mail`) is stored for printing; for text messages (`sms`) there is no
//! gateway, as in FOLIO.

use crate::email;
use crate::rendering::TemplateRequest;
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Answer, Call, Connection, Json, Pipeline, Router, jobs};
use carrel_records::shape::Shape;
use carrel_records::{Failure, Refusal};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;
use uuid::Uuid;

/// The channels of mod-sender.
const CHANNELS: [&str; 3] = ["email", "mail", "sms"];

pub fn connect(router: &mut Router) {
    router.on("POST", "/message-delivery", |call| async move {
        let delivery: Delivery = call.read_checked(&DELIVERY)?;
        send(&call, &delivery).await?;
        Ok(Answer::no_content())
    });
    router.on("POST", "/patron-notice", |call| async move {
        let notice: PatronNotice = call.read_checked(&PATRON_NOTICE)?;
        match notice.send(&call).await {
            // FOLIO quirk: an invalid template or recipient is 422 here, and 400 on the routes of templates and users.
            Err(Failure::Invalid(message)) => Err(Refusal::new(message).into()),
            sent => sent.map(|()| Answer::text(http::StatusCode::OK, "")),
        }
    });
}

static DELIVERY: LazyLock<Shape> = LazyLock::new(|| {
    Shape::parse(
        "notificationId:string*
         recipientUserId:string*
         messages:array<object>=[]
         messages[].deliveryChannel:string*
         messages[].from:string
         messages[].outputFormat:string
         messages[].header:string
         messages[].body:string
         messages[].attachments:array<object>
         messages[].attachments[].contentType:string
         messages[].attachments[].name:string
         messages[].attachments[].description:string
         messages[].attachments[].data:string
         messages[].attachments[].disposition:string
         messages[].attachments[].contentId:string",
        true,
    )
});
static PATRON_NOTICE: LazyLock<Shape> = LazyLock::new(|| {
    Shape::parse(
        "recipientId:string*
         deliveryChannel:string*
         templateId:string*
         outputFormat:string=text/html
         lang:string
         context:object(open)",
        true,
    )
});

/// A notice that is rendered from a template and sent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PatronNotice {
    recipient_id: String,
    delivery_channel: String,
    template_id: String,
    output_format: String,
    #[serde(default = "english")]
    lang: String,
    #[serde(default)]
    context: Value,
}

fn english() -> String {
    "en".into()
}

impl PatronNotice {
    async fn send(self, call: &Call) -> Result<(), Failure> {
        let request = TemplateRequest {
            template_id: self.template_id,
            lang: self.lang,
            output_format: self.output_format.clone(),
            context: self.context,
        };
        let message = message(&request, &self.delivery_channel, &call.tenant()?.reader().await?).await?;
        let delivery = Delivery {
            notification_id: Uuid::new_v7(uuid_time(call.now)).to_string(),
            recipient_user_id: self.recipient_id,
            messages: vec![message],
        };
        send(call, &delivery).await
    }
}

/// A message rendered from a template.
pub async fn message(
    request: &TemplateRequest,
    channel: &str,
    connection: &Connection,
) -> Result<Message, Failure> {
    let rendered = request.rendered(connection).await?;
    Ok(Message {
        delivery_channel: channel.to_owned(),
        from: None,
        output_format: Some(request.output_format.clone()),
        header: rendered.header,
        body: rendered.body,
        attachments: rendered.attachments,
    })
}

/// Messages to one user, each by its channel.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    pub notification_id: String,
    pub recipient_user_id: String,
    pub messages: Vec<Message>,
}

/// A message to a user.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    pub delivery_channel: String,
    #[serde(default)]
    pub from: Option<String>,
    #[serde(default)]
    pub output_format: Option<String>,
    #[serde(default)]
    pub header: String,
    #[serde(default)]
    pub body: String,
    #[serde(default)]
    pub attachments: Vec<Value>,
}

/// Stores the e-mails of a delivery and starts sending them.
pub async fn send(call: &Call, delivery: &Delivery) -> Result<(), Failure> {
    for message in &delivery.messages {
        if !CHANNELS.contains(&message.delivery_channel.as_str()) {
            return Err(Failure::Invalid(format!(
                "validateDeliveryChannels:: Delivery channel '{}' is not supported",
                message.delivery_channel
            )));
        }
    }
    let tenant = call.tenant()?;
    let connection = tenant.writer().await?;
    let address = address_of(&connection, &delivery.recipient_user_id).await?;
    let mut pipeline = Pipeline::new();
    for message in delivery.messages.iter().filter(|message| message.delivery_channel == "email") {
        let Some(address) = &address else {
            // FOLIO quirk: a user without an address is not an error.
            tracing::info!(
                user.id = delivery.recipient_user_id,
                "an e-mail was not sent: the user has no address"
            );
            continue;
        };
        let id = Uuid::new_v7(uuid_time(call.now));
        queue_email(&mut pipeline, id, &delivery.notification_id, address, message, call.now);
    }
    if !pipeline.is_empty() {
        connection.begin().send_and_commit(pipeline).await?;
        jobs::hint(tenant, email::DELIVERY.name);
    }
    Ok(())
}

/// Adds an e-mail to the delivery queue, in the caller's transaction. Its `Message-ID` is derived from `id`.
pub fn queue_email(
    pipeline: &mut Pipeline,
    id: Uuid,
    notification_id: &str,
    address: &str,
    message: &Message,
    now: Timestamp,
) {
    let document = document(notification_id, message, address);
    email::queue(pipeline, id, document, email::FirstAttempt::ByJob, now);
}

fn document(notification_id: &str, message: &Message, address: &str) -> Map<String, Value> {
    let document = json!({
        "notificationId": notification_id,
        "from": message.from,
        "to": address,
        "header": message.header,
        "outputFormat": message.output_format,
        "body": message.body,
        "attachments": message.attachments,
    });
    match document {
        Value::Object(document) => document.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    }
}

/// The e-mail address of a user who exists.
async fn address_of(connection: &Connection, user_id: &str) -> Result<Option<String>, Failure> {
    // FOLIO quirk: mod-users' text for an unknown user.
    let unknown = || Failure::Invalid("Not found".into());
    let id = Uuid::parse_str(user_id).map_err(|_| unknown())?;
    let sql = "SELECT doc->'personal'->>'email' AS email FROM users WHERE id = $1";
    let rows = connection.query(sql, vec![id.into()]).await?;
    let address: Option<String> = rows.first().ok_or_else(unknown)?.get("email");
    Ok(address.map(|address| address.trim().to_owned()).filter(|address| !address.is_empty()))
}

/// Templates of an event configuration (`/eventConfig`), by its name.
pub async fn event_templates(
    connection: &Connection,
    name: &str,
    lang: &str,
    context: &Value,
) -> Result<Vec<(TemplateRequest, String)>, Failure> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Entry {
        template_id: String,
        output_format: String,
        delivery_channel: String,
    }
    let sql = "SELECT doc->'templates' AS templates FROM event_configurations WHERE doc->>'name' = $1";
    let rows = connection.query(sql, vec![name.into()]).await?;
    let templates: Option<Json> = rows.first().and_then(|row| row.get("templates"));
    let entries: Vec<Entry> =
        templates.and_then(|entries| serde_json::from_slice(entries.0.as_bytes()).ok()).unwrap_or_default();
    if entries.is_empty() {
        return Err(Failure::Invalid(format!("Event config with name '{name}' is not found")));
    }
    let request = |entry: Entry| {
        let request = TemplateRequest {
            template_id: entry.template_id,
            lang: lang.to_owned(),
            output_format: entry.output_format,
            context: context.clone(),
        };
        (request, entry.delivery_channel)
    };
    Ok(entries.into_iter().map(request).collect())
}
