//! Publishing: `POST /pubsub/publish` writes an event of a registered publisher to the outbox.

use crate::delivery;
use crate::history::{self, Message, State};
use carrel_platform::{Answer, Call, Pipeline, Router, outbox};
use carrel_records::{Failure, Refusal, shape};
use serde_json::Value;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/pubsub/publish", publish);
}

/// The topic of published events of a type.
pub fn topic(event_type: &str) -> String {
    format!("pubsub.{event_type}")
}

async fn publish(call: Call) -> Result<Answer, Failure> {
    let event = call.value()?;
    let message = read(&event)?;
    let tenant = call.tenant()?;
    let publisher = message.published_by.clone().unwrap_or_default();
    let rows = tenant
        .writer()
        .await?
        .query(
            "SELECT 1 FROM pubsub_module WHERE event_type = $1 AND module_id = $2 AND role = 'PUBLISHER'",
            vec![message.event_type.as_str().into(), publisher.as_str().into()],
        )
        .await?;
    let mut pipeline = Pipeline::new();
    history::write(&mut pipeline, &message, State::Created, None, call.now);
    if rows.is_empty() {
        let error =
            format!("{publisher} is not registered as PUBLISHER for event type {}", message.event_type);
        history::write(&mut pipeline, &message, State::Rejected, Some(&error), call.now);
        tenant.begin().await?.send_and_commit(pipeline).await?;
        return Err(Failure::Invalid(error));
    }
    history::write(&mut pipeline, &message, State::Published, None, call.now);
    let topic = topic(&message.event_type);
    outbox::announce(&mut pipeline, &topic, message.event_id.to_string(), event.to_string(), call.now);
    tenant.begin().await?.send_and_commit(pipeline).await?;
    delivery::wake(&call.node, &tenant.id);
    Ok(Answer::no_content())
}

/// The history's message for an event, or the refusal of an invalid event.
pub fn read(event: &Value) -> Result<Message, Refusal> {
    let wrong =
        |key: &str| Refusal::new(format!("{key} must be given and of the declared type")).with_null(key);
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let id = text("/id").filter(|id| shape::is_uuid(id)).and_then(|id| Uuid::parse_str(&id).ok());
    if !event.pointer("/eventMetadata/eventTTL").is_some_and(Value::is_i64) {
        return Err(wrong("eventMetadata.eventTTL"));
    }
    if text("/eventMetadata/tenantId").is_none() {
        return Err(wrong("eventMetadata.tenantId"));
    }
    if event.get("eventPayload").is_some_and(|payload| !payload.is_string()) {
        return Err(wrong("eventPayload"));
    }
    Ok(Message {
        event_id: id.ok_or_else(|| wrong("id"))?,
        event_type: text("/eventType").ok_or_else(|| wrong("eventType"))?,
        correlation_id: text("/eventMetadata/correlationId"),
        created_by: text("/eventMetadata/createdBy"),
        published_by: Some(
            text("/eventMetadata/publishedBy").ok_or_else(|| wrong("eventMetadata.publishedBy"))?,
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_needs_id_type_and_metadata() {
        let event = json!({"id": "1a632bc5-7598-42bf-8843-b1b2861c2337", "eventType": "LOAN_CLOSED",
            "eventMetadata": {"tenantId": "t", "eventTTL": 1, "publishedBy": "mod-circulation-1.0"},
            "eventPayload": "{}"});
        assert!(read(&event).is_ok());
        for path in ["/id", "/eventType", "/eventMetadata/tenantId", "/eventMetadata/eventTTL"] {
            let mut without = event.clone();
            *without.pointer_mut(path).expect("a property") = Value::Null;
            assert!(read(&without).is_err(), "{path}");
        }
        let mut other = event;
        other["eventPayload"] = json!({"loanId": 1});
        assert!(read(&other).is_err());
    }
}
