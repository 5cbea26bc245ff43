//! Marking an item by hand: missing, withdrawn, in process and the like.
//!
//! Routes: `/inventory/items/{id}/mark-…`. Reads and locks the item; changes its state, and puts back the request
//! that it was filling; announces `inventory.item` and `circulation.request`.

mod decide;
mod route;

pub use route::routes;

use crate::item_state::{self, StateChange};
use crate::items::{apply, facts};
use crate::store::{self, Happening};
use carrel_platform::{Call, Pipeline};
use carrel_records::{Failure, time};
use decide::refuse_if_status_does_not_allow;
use serde_json::Value;
use uuid::Uuid;

/// Gives the item a status that only people can know.
pub async fn mark(call: &Call, item: Uuid, status: &'static str) -> Result<(), Failure> {
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    let step = facts::read_items(&mut pipeline, "item.id = $1", vec![item.into()]);
    let results = tx.send(pipeline).await?;
    let mut found = facts::Facts::default();
    found.keep(results.rows(step));
    let old = found.stored.remove(&item).ok_or_else(|| Failure::NotFound("No item found".into()))?;
    let present = old.pointer("/status/name").and_then(Value::as_str).unwrap_or_default();
    refuse_if_status_does_not_allow(present, status)?;

    let mut pipeline = Pipeline::new();
    let change = StateChange { status, in_transit_destination: None, last_check_in: None };
    item_state::change(&mut pipeline, item, &change, call.now);
    put_request_back(&mut pipeline, item, &tenant.id, call);
    let mut new = old.clone();
    new["status"] = serde_json::json!({"name": status, "date": time::format(call.now)});
    new["_version"] = (old.get("_version").and_then(Value::as_i64).unwrap_or(0) + 1).into();
    if let Value::Object(new) = &mut new {
        new.remove("inTransitDestinationServicePointId");
    }
    let instance = found.versions.get(&item).and_then(|account_status| account_status.instance);
    let happening = Happening {
        id: item,
        old: Some(apply::reported(&old, instance)),
        new: Some(apply::reported(&new, instance)),
    };
    store::announce(&mut pipeline, "inventory.item", &tenant.id, [happening], call.now);
    tx.send_and_commit(pipeline).await?;
    Ok(())
}

/// The request that the item was filling waits again for one, unless it has waited too long on the hold shelf.
fn put_request_back(pipeline: &mut Pipeline, item: Uuid, tenant: &str, call: &Call) {
    const WAITING: &str = "jsonb_set(doc || '{\"status\": \"Open - Not yet filled\"}'::jsonb,
             '{metadata,updatedDate}', to_jsonb($2::text))";
    const FILLED_BY_IT: &str = "item_id = $1
             AND doc->>'status' IN ('Open - Awaiting pickup', 'Open - Awaiting delivery', 'Open - In transit')
             AND coalesce(carrel.instant(doc->>'holdShelfExpirationDate') >= $3, true)";
    let when = time::format(call.now);
    // Read before it is changed: the event tells what it was.
    pipeline.add(
        format!(
            "INSERT INTO outbox (topic, key, payload, created)
             SELECT 'circulation.request', id::text,
                 jsonb_build_object('type', 'UPDATE', 'tenant', $4::text, 'old', doc, 'new', {WAITING}), $3
             FROM request WHERE {FILLED_BY_IT}"
        ),
        vec![item.into(), when.as_str().into(), call.now.into(), tenant.into()],
    );
    pipeline.add(
        format!("UPDATE request SET doc = {WAITING} WHERE {FILLED_BY_IT}"),
        vec![item.into(), when.into(), call.now.into()],
    );
}
