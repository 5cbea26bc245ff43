//! The statements that store items and their events.

use super::facts::StoredState;
use crate::item_state::{self, State};
use crate::records::items::ITEM;
use crate::store::{self, Change, RecordEvent};
use carrel_platform::record_store::write::Document;
use carrel_platform::{Pipeline, Tenant};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::HashMap;
use uuid::Uuid;

/// Adds the statements that store the changes; the events contain each item's instance.
pub fn store(
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    changes: &[Change],
    stored_state: &HashMap<Uuid, StoredState>,
    instance_of: impl Fn(&Document) -> Option<Uuid>,
    now: Timestamp,
) {
    let (mut inserted, mut inserted_states) = (Vec::new(), Vec::new());
    let (mut updated, mut updated_states) = (Vec::new(), Vec::new());
    let mut events = Vec::with_capacity(changes.len());
    for change in changes {
        let before = stored_state.get(&change.id);
        events.push(RecordEvent {
            id: change.id,
            old: change
                .old
                .as_ref()
                .map(|old| event_document(old, before.and_then(|stored_state| stored_state.instance))),
            new: Some(event_of_new(&change.new, instance_of(&change.new))),
        });
        let mut document = change.new.clone();
        let state = State::take_from(&mut document);
        match before {
            None => {
                inserted.push((change.id, Value::Object(document).to_string()));
                inserted_states.push((change.id, state));
            }
            Some(stored_state) => {
                let shown = document.get("_version").and_then(Value::as_i64).unwrap_or(0);
                document.insert("_version".into(), (shown - stored_state.state_version).into());
                updated.push((change.id, Value::Object(document).to_string()));
                updated_states.push((change.id, state));
            }
        }
    }
    store::insert(pipeline, ITEM.table, inserted);
    item_state::insert(pipeline, inserted_states);
    store::update(pipeline, ITEM.table, updated);
    item_state::replace(pipeline, updated_states);
    store::mark_for_listeners(pipeline, ITEM.table, tenant, changes);
    store::announce(pipeline, "inventory.item", &tenant.id, events, now);
}

/// An item as its events contain it: with the id of its instance.
pub fn event_document(item: &Value, instance: Option<Uuid>) -> String {
    with_instance(item.to_string(), instance)
}

fn event_of_new(item: &Document, instance: Option<Uuid>) -> String {
    with_instance(serde_json::to_string(item).unwrap_or_else(|_| "{}".to_owned()), instance)
}

fn with_instance(item: String, instance: Option<Uuid>) -> String {
    match instance {
        // An item has at least an id, so the object is not empty.
        Some(instance) => format!("{{\"instanceId\":\"{instance}\",{}", &item[1..]),
        None => item,
    }
}
