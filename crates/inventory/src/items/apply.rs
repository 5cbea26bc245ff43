//! Stores items and announces it: statements only.

use super::facts::Standing;
use crate::item_state::{self, State};
use crate::records::items::ITEM;
use crate::saving::{self, Change, Happening};
use carrel_platform::Flight;
use carrel_platform::record_store::write::Document;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::HashMap;
use uuid::Uuid;

/// Adds the statements that store the changes, each item's instance named for the events.
pub fn store(
    flight: &mut Flight,
    tenant: &str,
    changes: &[Change],
    standing: &HashMap<Uuid, Standing>,
    instance_of: impl Fn(&Document) -> Option<Uuid>,
    now: Timestamp,
) {
    let (mut inserted, mut inserted_states) = (Vec::new(), Vec::new());
    let (mut updated, mut updated_states) = (Vec::new(), Vec::new());
    let mut happenings = Vec::with_capacity(changes.len());
    for change in changes {
        let before = standing.get(&change.id);
        happenings.push(Happening {
            id: change.id,
            old: change.old.as_ref().map(|old| told(old, before.and_then(|standing| standing.instance))),
            new: Some(told_object(&change.new, instance_of(&change.new))),
        });
        let mut document = change.new.clone();
        let state = State::take_from(&mut document);
        match before {
            None => {
                inserted.push((change.id, Value::Object(document).to_string()));
                inserted_states.push((change.id, state));
            }
            Some(standing) => {
                let shown = document.get("_version").and_then(Value::as_i64).unwrap_or(0);
                document.insert("_version".into(), (shown - standing.state_version).into());
                updated.push((change.id, Value::Object(document).to_string()));
                updated_states.push((change.id, state));
            }
        }
    }
    saving::insert(flight, ITEM.table, inserted);
    item_state::insert(flight, inserted_states);
    saving::update(flight, ITEM.table, updated);
    item_state::replace(flight, updated_states);
    saving::tell_followers(flight, ITEM.table, tenant, changes);
    saving::announce(flight, "inventory.item", tenant, happenings, now);
}

/// An item as its events tell it: with the id of its instance.
pub fn told(item: &Value, instance: Option<Uuid>) -> String {
    with_instance(item.to_string(), instance)
}

fn told_object(item: &Document, instance: Option<Uuid>) -> String {
    with_instance(serde_json::to_string(item).unwrap_or_else(|_| "{}".to_owned()), instance)
}

fn with_instance(item: String, instance: Option<Uuid>) -> String {
    match instance {
        // An item has an id at least, so something stands behind its first brace.
        Some(instance) => format!("{{\"instanceId\":\"{instance}\",{}", &item[1..]),
        None => item,
    }
}
