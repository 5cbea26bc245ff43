//! Removes the patron from a closed request.
//!
//! Routes: `POST /request-anonymization/{requestId}`; `POST /circulation/scheduled-request-anonymize-processing`.

use carrel_audit::circulation_log;
use carrel_circulation::records::requests::REQUEST;
use carrel_loan_rules::request::{self, FulfillmentPreference, RequestStatus};
use carrel_platform::record_store::write as records;
use carrel_platform::{Answer, Bind, Call, Changes, Event, Pipeline, Router, outbox};
use carrel_records::{Failure, Refusal, metadata};
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/request-anonymization/{requestId}", anonymize);
    // FOLIO quirk: its timer calls this route every hour, but it does nothing yet.
    router.on("POST", "/circulation/scheduled-request-anonymize-processing", |_| async {
        Ok(Answer::text(http::StatusCode::OK, ""))
    });
}

/// A request is anonymized; dependent modules delete their data about its requester.
#[derive(Debug, Clone, Copy)]
pub struct RequestAnonymized {
    pub request: Uuid,
}

async fn anonymize(call: Call) -> Result<Answer, Failure> {
    let sent = call.parameter(0).to_owned();
    let id = call.id(0).map_err(|_| Refusal::new("invalidRequestId").with("requestId", sent.as_str()))?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(stored) = records::lock(&mut tx, &REQUEST, id).await? else {
        return Err(super::read::unknown(&sent));
    };
    let Value::Object(before) = stored.parse() else {
        return Err(Failure::internal("a stored request is an object"));
    };
    let status = request::status(&before);
    if !status.is_some_and(RequestStatus::is_closed) {
        // FOLIO quirk: a request that is being delivered is refused with another text.
        let request = match status {
            Some(RequestStatus::AwaitingDelivery) => "requestNotEligibleForAnonymization",
            _ => "requestNotClosed",
        };
        return Err(Refusal::new(request).with("requestId", sent).into());
    }
    if let Some(mut after) = without_people(&before) {
        if call.caller.profile.module_formats {
            // The module writes null; FOLIO's storage omits it, the simulated storage of a test suite shows it.
            for key in ["requesterId", "proxyUserId"] {
                after.insert(key.into(), Value::Null);
            }
        }
        if let Some(metadata) = after.get_mut("metadata") {
            metadata::change(metadata, None, call.now);
        }
        let text = Value::Object(after).to_string();
        let mut pipeline = Pipeline::new();
        pipeline.add("UPDATE request SET doc = $2 WHERE id = $1", vec![id.into(), Bind::Json(text.clone())]);
        // Earlier events contain the patron, and so would the old version of the request.
        for statement in ERASURE {
            pipeline.add(*statement, vec![id.into()]);
        }
        circulation_log::forget_request(&mut pipeline, id);
        let mut changes =
            Changes { tenant, tx: &mut tx, pipeline: &mut pipeline, caller: &call.caller, now: call.now };
        tenant.listeners.announce(&mut changes, &mut RequestAnonymized { request: id }).await?;
        let event = Event::updated(&tenant.id, &text, &text).because("anonymization");
        outbox::announce(&mut pipeline, "circulation.request", id.to_string(), event.to_string(), call.now);
        tx.send_and_commit(pipeline).await?;
    }
    Ok(Answer::json_bytes(carrel_platform::http::pretty(&json!({"requestId": sent, "anonymized": true}))))
}

/// Deletes events and entries that were written because of the request.
const ERASURE: &[&str] = &[
    "DELETE FROM outbox WHERE topic = 'circulation.request' AND key = $1::uuid::text",
    "DELETE FROM scheduled_notice WHERE request_id = $1",
    "DELETE FROM notice_event WHERE request_id = $1",
    "DELETE FROM email_statistics WHERE id IN (SELECT (doc->>'messageId')::uuid FROM patron_notice WHERE request_id = $1)
         AND NOT EXISTS (SELECT FROM email_delivery WHERE email_delivery.id = email_statistics.id)",
    "DELETE FROM printed_notice WHERE id IN (SELECT (doc->>'messageId')::uuid FROM patron_notice WHERE request_id = $1)",
    "DELETE FROM patron_notice WHERE request_id = $1",
];

/// The request without its users; `None` if it has none.
fn without_people(stored: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut after = stored.clone();
    let mut named = false;
    for key in ["requesterId", "requester", "proxyUserId", "proxy"] {
        named |= after.remove(key).is_some();
    }
    if request::text(stored, "fulfillmentPreference") == Some(FulfillmentPreference::Delivery.as_str()) {
        for key in ["deliveryAddress", "deliveryAddressTypeId"] {
            named |= after.remove(key).is_some();
        }
    }
    named.then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(stored: Value) -> Option<Value> {
        without_people(stored.as_object().expect("an object")).map(Value::Object)
    }

    #[test]
    fn requester_and_proxy_are_taken_out() {
        let stored =
            json!({"id": "1", "requesterId": "2", "requester": {"lastName": "R"}, "proxyUserId": "3"});
        assert_eq!(left(stored), Some(json!({"id": "1"})));
    }

    #[test]
    fn the_address_goes_where_it_was_to_be_delivered() {
        let stored =
            json!({"requesterId": "2", "fulfillmentPreference": "Delivery", "deliveryAddressTypeId": "4"});
        assert_eq!(left(stored), Some(json!({"fulfillmentPreference": "Delivery"})));
    }

    #[test]
    fn what_names_nobody_stays_as_it_is() {
        assert_eq!(left(json!({"id": "1", "fulfillmentPreference": "Hold Shelf"})), None);
    }
}
