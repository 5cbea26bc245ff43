//! Items.
//!
//! Routes: `/item-storage/items` (POST, PUT, DELETE; reading is plain), `/item-storage/items/retrieve`,
//! `/item-storage/batch/synchronous` and `synchronous-unsafe`. Reads holdings records, from which an item
//! inherits location and call number; changes `item` and `item_state`; announces `inventory.item`.

pub mod apply;
mod circulation_items;
pub mod complete;
pub mod facts;
mod route;

pub use route::routes;
pub(crate) use route::{delete, delete_many};

use crate::fields::id;
use crate::hrid;
use crate::records::items::ITEM;
use crate::store::{self, Change, WriteMode};
use carrel_platform::record_store::write::Document;
use carrel_platform::{Call, Pipeline, Tx};
use carrel_records::{Failure, Refusal, time};
use facts::Facts;
use jiff::Timestamp;
use serde_json::Value;
use std::sync::LazyLock;
use uuid::Uuid;

/// SQL condition that an item has the barcode of an expression, such as `$1::text`, as its index has it.
pub fn barcode_is(barcode: &str) -> String {
    static FIELD: LazyLock<String> = LazyLock::new(|| {
        let field = ITEM.fields.iter().find(|field| field.name == "barcode").expect("items have barcodes");
        carrel_cql::sql::expression(field, "item")
    });
    format!("{} = left(carrel.f_lower({barcode}), 600)", *FIELD)
}

/// Writes items in one transaction; returns them as clients see them.
pub async fn save(call: &Call, documents: Vec<Document>, mode: WriteMode) -> Result<Vec<Document>, Failure> {
    let tenant = call.tenant()?;
    let numbers = !tenant.profile.stored_as_sent;
    let is_batch = documents.len() > 1 || matches!(mode, WriteMode::Upsert | WriteMode::UpsertUnchecked);
    let mut items = store::validate(&ITEM, documents, &call.caller, call.now)?;
    let connection = tenant.writer().await?;
    if numbers && mode != WriteMode::Replace {
        hrid::assign(&connection, hrid::Kind::Items, &mut items).await?;
    }
    let mut tx = connection.begin();
    let mut facts = facts::gather(&mut tx, &items, mode, numbers).await?;
    let mut changes = store::prepare(&ITEM, items, &mut facts.stored, mode, &call.caller, call.now)?;
    for change in &mut changes {
        if !tenant.profile.dangling_references {
            refuse_if_holdings_record_is_missing(change, &facts, mode)?;
        }
        finish(change, &mut facts, is_batch, numbers, call.now);
    }
    let instance_of = |item: &Document| {
        id(item, "holdingsRecordId")
            .and_then(|holdings| facts.holdings.get(&holdings))
            .and_then(|h| id(h, "instanceId"))
    };
    let mut pipeline = Pipeline::new();
    apply::store(&mut pipeline, tenant, &changes, &facts.versions, instance_of, call.now);
    if let Err(error) = tx.send_and_commit(pipeline).await {
        let failure = store::constraint_failure(&ITEM, error, changes.iter().map(|change| &change.new));
        return Err(if mode == WriteMode::Replace { in_words_of_replacement(failure) } else { failure });
    }
    Ok(changes.into_iter().map(|change| change.new).collect())
}

/// Changes the stored item within a transaction that goes on; false if there is none with the id.
pub async fn change(
    tx: &mut Tx,
    call: &Call,
    item: Uuid,
    edit: impl FnOnce(&mut Document),
) -> Result<bool, Failure> {
    let tenant = call.tenant()?;
    let mut facts = facts::of_one(tx, item).await?;
    let Some(stored) = facts.stored.get(&item) else { return Ok(false) };
    let mut document = stored.as_object().cloned().unwrap_or_default();
    edit(&mut document);
    let items = store::validate(&ITEM, vec![document], &call.caller, call.now)?;
    let mut changes =
        store::prepare(&ITEM, items, &mut facts.stored, WriteMode::Replace, &call.caller, call.now)?;
    for change in &mut changes {
        finish(change, &mut facts, false, false, call.now);
    }
    let instance = facts.versions.get(&item).and_then(|stored| stored.instance);
    let mut pipeline = Pipeline::new();
    apply::store(&mut pipeline, tenant, &changes, &facts.versions, |_| instance, call.now);
    let sent = tx.send(pipeline).await;
    sent.map_err(|error| {
        let items = changes.iter().map(|change| &change.new);
        in_words_of_replacement(store::constraint_failure(&ITEM, error, items))
    })?;
    Ok(true)
}

/// FOLIO quirk: the text of a missing reference differs slightly for a replaced item.
fn in_words_of_replacement(failure: Failure) -> Failure {
    match store::in_plain_text(failure) {
        Failure::Invalid(text) => Failure::Invalid(text.replacen("Cannot set item.", "Cannot set item ", 1)),
        other => other,
    }
}

fn refuse_if_holdings_record_is_missing(
    change: &Change,
    facts: &Facts,
    mode: WriteMode,
) -> Result<(), Failure> {
    let Some(holdings) = id(&change.new, "holdingsRecordId") else { return Ok(()) };
    if facts.holdings.contains_key(&holdings) {
        return Ok(());
    }
    Err(match mode {
        WriteMode::Replace => Failure::Invalid(format!("holdingsRecordId not found: {holdings}")),
        WriteMode::Create | WriteMode::Upsert | WriteMode::UpsertUnchecked => {
            Refusal::new("Holdings record does not exist")
                .with("holdingsRecordId", holdings.to_string())
                .of_storage()
                .into()
        }
    })
}

/// Fills in the computed properties of an item.
fn finish(change: &mut Change, facts: &mut Facts, is_batch: bool, numbers: bool, now: Timestamp) {
    let holdings = id(&change.new, "holdingsRecordId");
    complete::compute(&mut change.new, holdings.and_then(|id| facts.holdings.get(&id)));
    complete::name_circulation_notes(&mut change.new, now);
    match &change.old {
        None => complete::date_new_status(&mut change.new, is_batch, &time::format(now)),
        Some(old) => complete::date_status(&mut change.new, old, &time::format(now)),
    }
    if change.new.get("order").is_none_or(Value::is_null) {
        // An item that moves to another holdings record gets the next order number there.
        let at_home = change
            .old
            .as_ref()
            .filter(|old| old.get("holdingsRecordId") == change.new.get("holdingsRecordId"));
        let stored = at_home.and_then(|old| old.get("order")).cloned();
        let mut next = || {
            let place = facts.next_order.get_mut(&holdings?)?;
            *place += 1;
            Some(Value::from(*place - 1))
        };
        if let Some(place) = stored.or_else(|| if numbers { next() } else { None }) {
            change.new.insert("order".into(), place);
        }
    }
}
