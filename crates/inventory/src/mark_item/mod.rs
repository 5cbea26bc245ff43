//! Marking an item by hand: missing, withdrawn, in process and the like.
//!
//! Routes: `/inventory/items/{id}/mark-…`. Reads and locks the item; changes its state, and puts back the request
//! that it was filling; announces `inventory.item` and `circulation.request`.

mod decide;
mod route;

pub use route::routes;

use crate::item_state::{self, StateChange};
use crate::items::{apply, facts};
use crate::saving::{self, Happening};
use carrel_platform::{Call, Flight};
use carrel_records::{Failure, time};
use decide::refuse_if_status_does_not_allow;
use serde_json::Value;
use uuid::Uuid;

/// Gives the item a status that only people can know.
pub async fn mark(call: &Call, item: Uuid, status: &'static str) -> Result<(), Failure> {
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let mut flight = Flight::new();
    let step = facts::read_items(&mut flight, "item.id = $1", vec![item.into()]);
    let landed = tx.fly(flight).await?;
    let mut found = facts::Facts::default();
    found.keep(landed.rows(step));
    let old = found.stored.remove(&item).ok_or_else(|| Failure::NotFound("No item found".into()))?;
    let present = old.pointer("/status/name").and_then(Value::as_str).unwrap_or_default();
    refuse_if_status_does_not_allow(present, status)?;

    let mut flight = Flight::new();
    let change = StateChange { status, in_transit_destination: None, last_check_in: None };
    item_state::change(&mut flight, item, &change, call.now);
    put_request_back(&mut flight, item, &tenant.id, call);
    let mut new = old.clone();
    new["status"] = serde_json::json!({"name": status, "date": time::format(call.now)});
    new["_version"] = (old.get("_version").and_then(Value::as_i64).unwrap_or(0) + 1).into();
    if let Value::Object(new) = &mut new {
        new.remove("inTransitDestinationServicePointId");
    }
    let instance = found.versions.get(&item).and_then(|standing| standing.instance);
    let happening = Happening {
        id: item,
        old: Some(apply::told(&old, instance)),
        new: Some(apply::told(&new, instance)),
    };
    saving::announce(&mut flight, "inventory.item", &tenant.id, [happening], call.now);
    tx.fly_and_commit(flight).await?;
    Ok(())
}

/// The request that the item was filling waits again for one, unless it has waited too long on the hold shelf.
fn put_request_back(flight: &mut Flight, item: Uuid, tenant: &str, call: &Call) {
    const WAITING: &str = "jsonb_set(doc || '{\"status\": \"Open - Not yet filled\"}'::jsonb,
             '{metadata,updatedDate}', to_jsonb($2::text))";
    const FILLED_BY_IT: &str = "item_id = $1
             AND doc->>'status' IN ('Open - Awaiting pickup', 'Open - Awaiting delivery', 'Open - In transit')
             AND coalesce(carrel.instant(doc->>'holdShelfExpirationDate') >= $3, true)";
    let when = time::format(call.now);
    // Read before it is changed: the event tells what it was.
    flight.add(
        format!(
            "INSERT INTO outbox (topic, key, payload, created)
             SELECT 'circulation.request', id::text,
                 jsonb_build_object('type', 'UPDATE', 'tenant', $4::text, 'old', doc, 'new', {WAITING}), $3
             FROM request WHERE {FILLED_BY_IT}"
        ),
        vec![item.into(), when.as_str().into(), call.now.into(), tenant.into()],
    );
    flight.add(
        format!("UPDATE request SET doc = {WAITING} WHERE {FILLED_BY_IT}"),
        vec![item.into(), when.into(), call.now.into()],
    );
}
