//! Marking an item by hand: missing, withdrawn, in process and the like.
//!
//! Routes: `/inventory/items/{id}/mark-…`. Reads and locks the item; changes its state; announces `inventory.item`, and
//! [`ItemMarked`] to dependent modules, for instance to reopen the request that the item was to fulfill.

mod decide;
mod route;

pub use route::routes;

use crate::item_state::{self, StateChange};
use crate::items::{apply, facts};
use crate::store::{self, RecordEvent};
use carrel_platform::{Call, Changes, Pipeline};
use carrel_records::{Failure, ItemStatus, time};
use decide::refuse_if_status_does_not_allow;
use serde_json::Value;
use uuid::Uuid;

/// An item that staff mark, announced in the same transaction: it can no longer fulfill a request.
pub struct ItemMarked {
    pub item: Uuid,
}

/// Marks the item with a status chosen by staff.
pub async fn mark(call: &Call, item: Uuid, status: ItemStatus) -> Result<(), Failure> {
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    let step = facts::read_items(&mut pipeline, "item.id = $1", vec![item.into()]);
    let results = tx.send(pipeline).await?;
    let mut found = facts::Facts::default();
    found.add(results.rows(step));
    let old = found.stored.remove(&item).ok_or_else(|| Failure::NotFound("No item found".into()))?;
    let present = old.pointer("/status/name").and_then(Value::as_str).unwrap_or_default();
    refuse_if_status_does_not_allow(&present.into(), &status)?;

    let mut pipeline = Pipeline::new();
    let change = StateChange { status: status.clone(), in_transit_destination: None, last_check_in: None };
    item_state::change(&mut pipeline, item, &change, call.now);
    let mut changes =
        Changes { tenant, tx: &mut tx, pipeline: &mut pipeline, caller: &call.caller, now: call.now };
    tenant.listeners.announce(&mut changes, &mut ItemMarked { item }).await?;
    let mut new = old.clone();
    new["status"] = serde_json::json!({"name": status, "date": time::format(call.now)});
    new["_version"] = (old.get("_version").and_then(Value::as_i64).unwrap_or(0) + 1).into();
    if let Value::Object(new) = &mut new {
        new.remove("inTransitDestinationServicePointId");
    }
    let instance = found.versions.get(&item).and_then(|stored_state| stored_state.instance);
    let happening = RecordEvent {
        id: item,
        old: Some(apply::event_document(&old, instance)),
        new: Some(apply::event_document(&new, instance)),
    };
    store::announce(&mut pipeline, "inventory.item", &tenant.id, [happening], call.now);
    tx.send_and_commit(pipeline).await?;
    Ok(())
}
