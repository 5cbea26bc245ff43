//! Stores items and announces it: statements only.

use super::facts::AccountStatus;
use crate::item_state::{self, State};
use crate::records::items::ITEM;
use crate::store::{self, Change, Happening};
use carrel_platform::Pipeline;
use carrel_platform::record_store::write::Document;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::HashMap;
use uuid::Uuid;

/// Adds the statements that store the changes, each item's instance named for the events.
pub fn store(
    pipeline: &mut Pipeline,
    tenant: &str,
    changes: &[Change],
    account_status: &HashMap<Uuid, AccountStatus>,
    instance_of: impl Fn(&Document) -> Option<Uuid>,
    now: Timestamp,
) {
    let (mut inserted, mut inserted_states) = (Vec::new(), Vec::new());
    let (mut updated, mut updated_states) = (Vec::new(), Vec::new());
    let mut happenings = Vec::with_capacity(changes.len());
    for change in changes {
        let before = account_status.get(&change.id);
        happenings.push(Happening {
            id: change.id,
            old: change
                .old
                .as_ref()
                .map(|old| reported(old, before.and_then(|account_status| account_status.instance))),
            new: Some(lenient_object(&change.new, instance_of(&change.new))),
        });
        let mut document = change.new.clone();
        let state = State::take_from(&mut document);
        match before {
            None => {
                inserted.push((change.id, Value::Object(document).to_string()));
                inserted_states.push((change.id, state));
            }
            Some(account_status) => {
                let shown = document.get("_version").and_then(Value::as_i64).unwrap_or(0);
                document.insert("_version".into(), (shown - account_status.state_version).into());
                updated.push((change.id, Value::Object(document).to_string()));
                updated_states.push((change.id, state));
            }
        }
    }
    store::insert(pipeline, ITEM.table, inserted);
    item_state::insert(pipeline, inserted_states);
    store::update(pipeline, ITEM.table, updated);
    item_state::replace(pipeline, updated_states);
    store::tell_followers(pipeline, ITEM.table, tenant, changes);
    store::announce(pipeline, "inventory.item", tenant, happenings, now);
}

/// An item as its events tell it: with the id of its instance.
pub fn reported(item: &Value, instance: Option<Uuid>) -> String {
    with_instance(item.to_string(), instance)
}

fn lenient_object(item: &Document, instance: Option<Uuid>) -> String {
    with_instance(serde_json::to_string(item).unwrap_or_else(|_| "{}".to_owned()), instance)
}

fn with_instance(item: String, instance: Option<Uuid>) -> String {
    match instance {
        // An item has an id at least, so something stands behind its first brace.
        Some(instance) => format!("{{\"instanceId\":\"{instance}\",{}", &item[1..]),
        None => item,
    }
}
