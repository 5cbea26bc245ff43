//! The changes of placing a request, with the commit, in one round trip.

use super::{Actor, Placed};
use carrel_circulation::records::requests::REQUEST;
use carrel_inventory::item_state::{self, StateChange};
use carrel_platform::record_store::write as records;
use carrel_platform::{Bind, Event, Pipeline, Tenant, Tx, outbox};
use carrel_records::{Failure, Refusal};
use serde_json::{Map, Value};
use uuid::Uuid;

const INSERT: &str = "INSERT INTO request (id, doc, queue_id) VALUES ($1, $2, $3)";
/// In a lenient tenant a request that is placed again replaces itself.
const INSERT_OR_REPLACE: &str = "INSERT INTO request (id, doc, queue_id) VALUES ($1, $2, $3)
     ON CONFLICT (id) DO UPDATE SET doc = $2, queue_id = $3";

/// Writes the request, the item's new status and the recalled loan.
pub async fn apply(tx: Tx, tenant: &Tenant, placed: &mut Placed, actor: &Actor) -> Result<(), Failure> {
    let document = std::mem::take(&mut placed.document);
    let ready = records::prepare_new(&REQUEST, document, &actor.caller, actor.now)?;
    let text = Value::Object(ready.document.clone()).to_string();
    let mut pipeline = Pipeline::new();
    pipeline.change(
        if actor.caller.lenient { INSERT_OR_REPLACE } else { INSERT },
        vec![ready.id.into(), Bind::Json(text.clone()), placed.queue.into()],
    );
    let (id, event) = (ready.id.to_string(), Event::created(&tenant.id, &text).to_string());
    outbox::announce(&mut pipeline, "circulation.request", id, event, actor.now);
    change_status(&mut pipeline, placed.item.as_ref().map(|item| item.id), placed.item_becomes, actor.now);
    if let (Some(loan), Some(after)) = (&placed.loan, &placed.recalled) {
        change_loan(&mut pipeline, tenant, loan.id, &loan.document, after, actor.now);
    }
    placed.id = ready.id;
    placed.document = ready.document;
    tx.send_and_commit(pipeline).await.map_err(|error| {
        let of_the_queue =
            error.constraint.as_deref().is_some_and(|name| name.starts_with("request_queue_id"));
        if error.is_unique_violation() && of_the_queue {
            return same_position(&placed.document).into();
        }
        records::reported(&REQUEST, error, &placed.document)
    })?;
    Ok(())
}

/// Two requests of a queue with one position.
pub fn same_position(document: &Map<String, Value>) -> Refusal {
    let at = |key: &str| match document.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    Refusal::new("Cannot have more than one request with the same position in the queue")
        .with("itemId", at("itemId"))
        .with("position", at("position"))
}

/// Adds the change of an item's status, where it has one.
pub fn change_status(
    pipeline: &mut Pipeline,
    item: Option<Uuid>,
    becomes: Option<&'static str>,
    now: jiff::Timestamp,
) {
    if let (Some(item), Some(status)) = (item, becomes) {
        let change = StateChange { status, in_transit_destination: None, last_check_in: None };
        item_state::change(pipeline, item, &change, now);
    }
}

/// Adds the change of a loan with its history row and event.
pub fn change_loan(
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    id: Uuid,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    now: jiff::Timestamp,
) {
    let (before, after) = (Value::Object(before.clone()), Value::Object(after.clone()).to_string());
    pipeline.change("UPDATE loan SET doc = $2 WHERE id = $1", vec![id.into(), Bind::Json(after.clone())]);
    carrel_circulation::loans::history::write(pipeline, "U", &after, now);
    let event = Event::updated(&tenant.id, &before, &after);
    outbox::announce(pipeline, "circulation.loan", id.to_string(), event.to_string(), now);
}
