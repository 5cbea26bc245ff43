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
use carrel_platform::{Answer, Bind, Call, Event, Json, Pipeline, Router, Tx, outbox};
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
    let if_stored = if call.caller.profile.post_replaces { IfStored::Replace } else { if_stored };
    let mut tx = tenant.begin().await?;
    let mut stored = lock_and_read(&mut tx, &documents, titles).await?;
    let mut requests = Vec::with_capacity(documents.len());
    for document in documents {
        let before = request::id(&document, "id").and_then(|id| Some((id, stored.remove(&id)?)));
        requests.push(prepare(call, document, before.filter(|_| if_stored == IfStored::Replace))?);
    }
    let mut pipeline = Pipeline::new();
    for request in &requests {
        let id = request.ready.id.to_string();
        outbox::announce(&mut pipeline, "circulation.request", id, request.event(&tenant.id), call.now);
    }
    store(&mut pipeline, &requests, titles, if_stored);
    let ready: Vec<records::Ready> = requests.into_iter().map(|request| request.ready).collect();
    // Test suites compare stored documents with what they sent.
    if !call.caller.profile.stored_as_sent {
        let written = ready.iter().map(|ready| &ready.document);
        snapshot_refresh::mark_without_snapshots(&mut pipeline, tenant, written);
    }
    let first = ready.first().map(|ready| ready.document.clone()).unwrap_or_default();
    tx.send_and_commit(pipeline).await.map_err(|error| change::constraint_failure(error, &first))?;
    Ok(ready)
}

/// The queue of a request.
fn queue_of(document: &Map<String, Value>, titles: bool) -> Option<Uuid> {
    queue::id_of(titles, request::id(document, "instanceId"), request::id(document, "itemId"))
}

/// Locks the queues and the stored requests with the same ids, and returns these by id.
async fn lock_and_read(
    tx: &mut Tx,
    documents: &[Map<String, Value>],
    titles: bool,
) -> Result<HashMap<Uuid, Json>, Failure> {
    let mut pipeline = Pipeline::new();
    let queues: Vec<Uuid> = documents.iter().filter_map(|document| queue_of(document, titles)).collect();
    queue::lock_selected(&mut pipeline, "SELECT unnest($1::uuid[])", vec![queues.into()]);
    let ids: Vec<Uuid> = documents.iter().filter_map(|document| request::id(document, "id")).collect();
    let stored = pipeline.add(
        "SELECT doc, id FROM request WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE",
        vec![ids.into()],
    );
    let results = tx.send(pipeline).await?;
    Ok(results.rows(stored).iter().map(|row| (row.get("id"), row.get("doc"))).collect())
}

/// A request that is ready to be stored.
struct Written {
    ready: records::Ready,
    /// Its document as text.
    text: String,
    /// The document that it replaces, as text.
    old: Option<String>,
}

impl Written {
    fn event(&self, tenant: &str) -> String {
        let event = match &self.old {
            None => Event::created(tenant, &self.text),
            Some(old) => Event::updated(tenant, old, &self.text),
        };
        event.to_string()
    }
}

/// Checks a document; `before` is the stored request that it replaces.
fn prepare(
    call: &Call,
    mut document: Map<String, Value>,
    before: Option<(Uuid, Json)>,
) -> Result<Written, Failure> {
    let (ready, old) = match before {
        None => (records::prepare_new(&REQUEST, document, &call.caller, call.now)?, None),
        Some((id, before)) => {
            let old = before.parse();
            if let (Value::Object(before), false) = (&old, call.caller.profile.stored_as_sent) {
                note_end_of_pickup(before, &mut document, call.now);
            }
            let ready = records::prepare_replacement(&REQUEST, id, document, &old, &call.caller, call.now)?;
            (ready, Some(before.0))
        }
    };
    let text = Value::Object(ready.document.clone()).to_string();
    Ok(Written { ready, text, old })
}

fn store(pipeline: &mut Pipeline, requests: &[Written], titles: bool, if_stored: IfStored) {
    let ids: Vec<Uuid> = requests.iter().map(|request| request.ready.id).collect();
    let texts: Vec<String> = requests.iter().map(|request| request.text.clone()).collect();
    let queue = |request: &Written| queue_of(&request.ready.document, titles).map(|queue| queue.to_string());
    let queues: Vec<String> = requests.iter().map(|request| queue(request).unwrap_or_default()).collect();
    let sql = match if_stored {
        IfStored::Refuse => INSERT,
        IfStored::Replace => INSERT_OR_REPLACE,
    };
    pipeline.add(sql, vec![ids.into(), Bind::Jsons(texts), queues.into()]);
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
