//! Holdings records.
//!
//! Routes: `/holdings-storage/holdings` (POST, PUT, PATCH; the rest is plain), `/holdings-storage/holdings/retrieve`,
//! `/holdings-storage/batch/synchronous` and `synchronous-unsafe`. A change of location, call number or instance
//! updates the items in the same transaction. Announces `inventory.holdings-record` and `inventory.item`.

mod route;

pub(crate) use route::replace;
pub use route::routes;

use crate::fields::set;
use crate::items::facts::{self, Facts};
use crate::items::{apply, complete};
use crate::records::holdings::HOLDINGS_RECORD;
use crate::records::items::ITEM;
use crate::store::{self, Change, WriteMode};
use crate::{effective_location, hrid};
use carrel_platform::http::Caller;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::{Call, Pipeline, Tenant, Tx};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::HashMap;
use uuid::Uuid;

/// Properties that items inherit from their holdings record, and its instance.
const ITEMS_HEAR_OF: [&str; 7] = [
    "instanceId",
    "permanentLocationId",
    "temporaryLocationId",
    "callNumber",
    "callNumberPrefix",
    "callNumberSuffix",
    "callNumberTypeId",
];

/// Writes holdings records and their items in one transaction; returns the records as clients see them.
pub async fn save(call: &Call, documents: Vec<Document>, mode: WriteMode) -> Result<Vec<Document>, Failure> {
    let tenant = call.tenant()?;
    let mut records = store::validate(&HOLDINGS_RECORD, documents, &call.caller, call.now)?;
    let connection = tenant.writer().await?;
    if mode != WriteMode::Replace && !tenant.profile.stored_as_sent {
        hrid::assign(&connection, hrid::Kind::Holdings, &mut records).await?;
    }
    let mut tx = connection.begin();
    let ids = records.iter().map(|record| record.id).collect();
    let mut stored = if mode == WriteMode::Create {
        HashMap::new()
    } else {
        store::lock(&mut tx, &HOLDINGS_RECORD, ids).await?
    };
    let mut changes = store::prepare(&HOLDINGS_RECORD, records, &mut stored, mode, &call.caller, call.now)?;
    for change in &mut changes {
        let location = effective_location::of_holdings(&change.new).map(str::to_owned);
        set(&mut change.new, "effectiveLocationId", location);
    }
    let mut pipeline = Pipeline::new();
    let topic = "inventory.holdings-record";
    store::store(&mut pipeline, &HOLDINGS_RECORD, tenant, &changes, topic, call.now);
    update_items(&mut tx, &mut pipeline, tenant, &changes, &call.caller, call.now).await?;
    tx.send_and_commit(pipeline).await.map_err(|error| {
        let failure =
            store::constraint_failure(&HOLDINGS_RECORD, error, changes.iter().map(|change| &change.new));
        if mode == WriteMode::Replace { store::in_plain_text(failure) } else { failure }
    })?;
    Ok(changes.into_iter().map(|change| change.new).collect())
}

/// Updates the items of holdings records whose inherited properties changed.
async fn update_items(
    tx: &mut Tx,
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    holdings: &[Change],
    caller: &Caller,
    now: Timestamp,
) -> Result<(), Failure> {
    let changed: HashMap<Uuid, &Change> =
        holdings.iter().filter(|change| changes_items(change)).map(|change| (change.id, change)).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let mut reading = Pipeline::new();
    let ids: Vec<Uuid> = changed.keys().copied().collect();
    let step = facts::read_items(&mut reading, "item.holdings_record_id = ANY($1)", vec![ids.into()]);
    let results = tx.send(reading).await?;
    let mut facts = Facts::default();
    facts.add(results.rows(step));
    let holdings_of = |item: &Document| {
        crate::fields::id(item, "holdingsRecordId").and_then(|id| changed.get(&id)).map(|change| &change.new)
    };
    let mut changes = Vec::new();
    for (id, old) in facts.stored.drain() {
        let Value::Object(mut item) = old.clone() else { continue };
        let Some(holdings) = holdings_of(&item) else { continue };
        let before = item.clone();
        complete::compute(&mut item, Some(holdings));
        let moved = facts.versions.get(&id).and_then(|stored_state| stored_state.instance)
            != crate::fields::id(holdings, "instanceId");
        if item == before && !moved {
            continue;
        }
        let ready = write::complete_replacement(&ITEM, id, item, &old, caller, now)?;
        changes.push(Change { id, new: ready.document, old: Some(old) });
    }
    let instance_of = |item: &Document| holdings_of(item).and_then(|h| crate::fields::id(h, "instanceId"));
    apply::store(pipeline, tenant, &changes, &facts.versions, instance_of, now);
    Ok(())
}

fn changes_items(change: &Change) -> bool {
    let Some(old) = &change.old else { return false };
    ITEMS_HEAR_OF.iter().any(|name| old.get(name) != change.new.get(*name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn items_inherit_a_new_location_and_no_note() {
        let change = |new: Value| Change {
            id: Uuid::nil(),
            new: new.as_object().cloned().expect("an object"),
            old: Some(json!({"permanentLocationId": "a"})),
        };
        assert!(changes_items(&change(json!({"permanentLocationId": "b"}))));
        assert!(changes_items(&change(json!({"permanentLocationId": "a", "callNumber": "x"}))));
        assert!(!changes_items(&change(json!({"permanentLocationId": "a", "notes": [1]}))));
    }
}
