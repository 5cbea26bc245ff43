//! Request storage: clients set positions, and the database refuses two requests with the same position.
//!
//! Routes: `POST /request-storage/requests`, `PUT /request-storage/requests/{id}`, `POST
//! /request-storage-batch/requests`; the others are those of a plain record.

use super::change::{self, note_end_of_pickup};
use super::snapshot_refresh;
use carrel_circulation::desk::queue;
use carrel_circulation::records::requests::REQUEST;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request;
use carrel_loan_rules::request::RequestLevel;
use carrel_platform::record_store::{routes, write as records};
use carrel_platform::{Answer, Bind, Call, Event, Json, Pipeline, Router, outbox};
use carrel_records::{Failure, Refusal};
use http::StatusCode;
use serde_json::{Map, Value};
use std::collections::HashMap;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/request-storage/requests", |call| async move {
        let document = call.object()?;
        refuse_half_an_item(&call, &document)?;
        let written = write(&call, vec![document], IfStored::Refuse).await?;
        let ready = written.into_iter().next().ok_or_else(|| Failure::internal("one request was written"))?;
        Ok(routes::created(&REQUEST, &ready))
    });
    router.on("PUT", "/request-storage/requests/{id}", |call| async move {
        let mut document = call.object()?;
        document.insert("id".into(), call.id(0)?.to_string().into());
        refuse_half_an_item(&call, &document)?;
        write(&call, vec![document], IfStored::Replace).await?;
        Ok(Answer::no_content())
    });
    router.on("POST", "/request-storage-batch/requests", |call| async move {
        let mut body = call.object()?;
        let Some(Value::Array(requests)) = body.remove("requests") else {
            return Err(Refusal::new("must not be null").with_null("requests").into());
        };
        let requests = requests.into_iter().map(|request| match request {
            Value::Object(request) => Ok(request),
            _ => Err(Failure::Invalid("A request must be a JSON object".into())),
        });
        write(&call, requests.collect::<Result<_, _>>()?, IfStored::Replace).await?;
        Ok(Answer::text(StatusCode::CREATED, ""))
    });
}

/// A request has both an item and its holdings record or neither; an item-level one has both.
fn refuse_half_an_item(call: &Call, request: &Map<String, Value>) -> Result<(), Failure> {
    let refusals = if call.caller.profile.unchecked_records { Vec::new() } else { half_an_item(request) };
    if refusals.is_empty() { Ok(()) } else { Err(Failure::Refused(refusals)) }
}

fn half_an_item(request: &Map<String, Value>) -> Vec<Refusal> {
    let names = |key: &str| request.get(key).is_some_and(|value| !value.is_null());
    let (item, holdings) = (names("itemId"), names("holdingsRecordId"));
    let level = request::level(request);
    let mut refusals = Vec::new();
    if level == Some(RequestLevel::Item) {
        if !item {
            refusals.push("Item ID in item level request should not be absent");
        }
        if !holdings {
            refusals.push("Holdings record ID in item level request should not be absent");
        }
    } else if level == Some(RequestLevel::Title) && item != holdings {
        refusals.push("Title level request must have both itemId and holdingsRecordId or neither");
    }
    refusals.into_iter().map(Refusal::new).collect()
}

/// What to do if a request with the id exists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfStored {
    Refuse,
    Replace,
}

/// Stores requests unchanged, all in one statement, so that they can exchange positions.
async fn write(
    call: &Call,
    documents: Vec<Map<String, Value>>,
    if_stored: IfStored,
) -> Result<Vec<records::Ready>, Failure> {
    let tenant = call.tenant()?;
    let settings = CirculationSettings::of(tenant).await?;
    let titles = settings.title_level_requests.enabled();
    let queue_of = |document: &Map<String, Value>| {
        queue::id_of(titles, request::id(document, "instanceId"), request::id(document, "itemId"))
    };
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    let queues: Vec<Uuid> = documents.iter().filter_map(queue_of).collect();
    queue::lock_selected(&mut pipeline, "SELECT unnest($1::uuid[])", vec![queues.into()]);
    let ids: Vec<Uuid> = documents.iter().filter_map(|document| request::id(document, "id")).collect();
    let stored = pipeline.add(
        "SELECT doc, id FROM request WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE",
        vec![ids.into()],
    );
    let results = tx.send(pipeline).await?;
    let mut stored: HashMap<Uuid, Json> =
        results.rows(stored).iter().map(|row| (row.get(1), row.get(0))).collect();

    let mut pipeline = Pipeline::new();
    let mut written = Vec::with_capacity(documents.len());
    let (mut ids, mut texts, mut of_queues) = (Vec::new(), Vec::new(), Vec::new());
    for mut document in documents {
        let before = request::id(&document, "id").and_then(|id| Some((id, stored.remove(&id)?)));
        let (ready, old) =
            match before.filter(|_| if_stored == IfStored::Replace || call.caller.profile.post_replaces) {
                None => (records::prepare_new(&REQUEST, document, &call.caller, call.now)?, None),
                Some((id, before)) => {
                    let old = before.parse();
                    if let (Value::Object(before), false) = (&old, call.caller.profile.stored_as_sent) {
                        note_end_of_pickup(before, &mut document, call.now);
                    }
                    let ready =
                        records::prepare_replacement(&REQUEST, id, document, &old, &call.caller, call.now)?;
                    (ready, Some(before.0))
                }
            };
        let text = Value::Object(ready.document.clone()).to_string();
        let event = match &old {
            None => Event::created(&tenant.id, &text),
            Some(old) => Event::updated(&tenant.id, old, &text),
        };
        let (id, event) = (ready.id.to_string(), event.to_string());
        outbox::announce(&mut pipeline, "circulation.request", id, event, call.now);
        ids.push(ready.id);
        of_queues.push(queue_of(&ready.document).map(|queue| queue.to_string()).unwrap_or_default());
        texts.push(text);
        written.push(ready);
    }
    pipeline.add(
        if if_stored == IfStored::Refuse && !call.caller.profile.post_replaces {
            INSERT
        } else {
            INSERT_OR_REPLACE
        },
        vec![ids.into(), Bind::Jsons(texts), of_queues.into()],
    );
    // Test suites compare stored documents with what they sent.
    if !call.caller.profile.stored_as_sent {
        snapshot_refresh::mark_without_snapshots(
            &mut pipeline,
            tenant,
            written.iter().map(|ready| &ready.document),
        );
    }
    let first = written.first().map(|ready| ready.document.clone()).unwrap_or_default();
    tx.send_and_commit(pipeline).await.map_err(|error| change::constraint_failure(error, &first))?;
    Ok(written)
}

const INSERT: &str = "INSERT INTO request (id, doc, queue_id)
     SELECT id, doc::jsonb, nullif(queue, '')::uuid
     FROM unnest($1::uuid[], $2::text[], $3::text[]) AS sent (id, doc, queue)";
const INSERT_OR_REPLACE: &str = "INSERT INTO request (id, doc, queue_id)
     SELECT id, doc::jsonb, nullif(queue, '')::uuid
     FROM unnest($1::uuid[], $2::text[], $3::text[]) AS sent (id, doc, queue)
     ON CONFLICT (id) DO UPDATE SET doc = excluded.doc, queue_id = excluded.queue_id, keeps_copies = NULL";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn number_of_refusals(request: Value) -> usize {
        half_an_item(request.as_object().expect("an object")).len()
    }

    #[test]
    fn an_item_is_named_with_its_holdings_record() {
        assert_eq!(number_of_refusals(json!({"requestLevel": "Item"})), 2);
        assert_eq!(
            number_of_refusals(json!({"requestLevel": "Item", "itemId": "i", "holdingsRecordId": "h"})),
            0
        );
        assert_eq!(number_of_refusals(json!({"requestLevel": "Title"})), 0);
        assert_eq!(number_of_refusals(json!({"requestLevel": "Title", "itemId": "i"})), 1);
    }
}
