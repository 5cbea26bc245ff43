//! An event of the outbox as FOLIO's modules send it.
//!
//! mod-inventory-storage sends `{"eventId", "eventTs", "old", "new", "type", "tenant"}` with the types CREATE, UPDATE,
//! DELETE and so on, and names the instance in items and bound-with parts. mod-circulation-storage and mod-users send
//! `{"id", "type", "tenant", "timestamp", "data": {"old", "new"}}` with CREATED, UPDATED, DELETED and ALL_DELETED.
//! Settings and records to be indexed again are sent as they are in the outbox.

use carrel_platform::outbox::follow::StoredEvent;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use uuid::Uuid;

/// What is sent of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Number of the event in the outbox.
    pub number: i64,
    /// Topic of the outbox, without prefix and tenant.
    pub topic: String,
    pub key: String,
    /// JSON text.
    pub value: String,
    /// Milliseconds since 1970.
    pub timestamp: i64,
}

/// Instances by the id of holdings.
pub type Instances = HashMap<Uuid, Uuid>;

#[derive(Deserialize)]
struct Change<'a> {
    #[serde(rename = "type")]
    kind: Option<&'a str>,
    #[serde(borrow)]
    old: Option<&'a RawValue>,
    #[serde(borrow)]
    new: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct OfHoldings {
    #[serde(rename = "holdingsRecordId")]
    holdings: Option<Uuid>,
}

/// Holdings whose instance [`message`] needs for this event.
pub fn holdings(event: &StoredEvent) -> Vec<Uuid> {
    if !names_instance(&event.topic) {
        return Vec::new();
    }
    let Ok(change) = serde_json::from_str::<Change>(&event.payload) else { return Vec::new() };
    [change.old, change.new].into_iter().flatten().filter_map(holdings_of).collect()
}

/// The message of an event; the same one in every attempt.
pub fn message(tenant: &str, event: &StoredEvent, instances: &Instances) -> Message {
    let mut key = event.key.clone();
    let timestamp = event.created.as_millisecond();
    let value = match serde_json::from_str::<Change>(&event.payload) {
        Ok(Change { kind: Some(kind), old, new }) => {
            let id = Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{tenant}/outbox/{}", event.id).as_bytes());
            if event.topic.starts_with("inventory.") {
                if event.topic == "inventory.bound-with"
                    && let Some(instance) = new.or(old).and_then(|record| instance_of(record, instances))
                {
                    key = instance.to_string();
                }
                let text = |record: Option<&RawValue>| record.map(|record| with_instance(record, instances));
                let records = records(text(old), text(new));
                format!(
                    r#"{{"eventId":"{id}","eventTs":{timestamp},{records}"type":"{kind}","tenant":"{tenant}"}}"#
                )
            } else {
                let text = |record: Option<&RawValue>| record.map(|record| record.get().to_owned());
                let records = records(text(old), text(new));
                let records = records.strip_suffix(',').unwrap_or_default();
                let kind = past(kind);
                format!(
                    r#"{{"id":"{id}","type":"{kind}","tenant":"{tenant}","timestamp":{timestamp},"data":{{{records}}}}}"#
                )
            }
        }
        _ => event.payload.clone(),
    };
    Message { number: event.id, topic: event.topic.clone(), key, value, timestamp }
}

fn names_instance(topic: &str) -> bool {
    matches!(topic, "inventory.item" | "inventory.bound-with")
}

fn holdings_of(record: &RawValue) -> Option<Uuid> {
    serde_json::from_str::<OfHoldings>(record.get()).ok()?.holdings
}

fn instance_of(record: &RawValue, instances: &Instances) -> Option<Uuid> {
    instances.get(&holdings_of(record)?).copied()
}

/// The record with its `instanceId` in front, where it is in holdings and its instance is known.
fn with_instance(record: &RawValue, instances: &Instances) -> String {
    let text = record.get();
    match (instance_of(record, instances), text.strip_prefix('{')) {
        (Some(instance), Some(fields)) => format!(r#"{{"instanceId":"{instance}",{fields}"#),
        _ => text.to_owned(),
    }
}

/// `"old":…,"new":…,` of the records that there are.
fn records(old: Option<String>, new: Option<String>) -> String {
    let field = |name: &str, record: Option<String>| match record {
        Some(record) => format!(r#""{name}":{record},"#),
        None => String::new(),
    };
    field("old", old) + &field("new", new)
}

fn past(kind: &str) -> &str {
    match kind {
        "CREATE" => "CREATED",
        "UPDATE" => "UPDATED",
        "DELETE" => "DELETED",
        "DELETE_ALL" => "ALL_DELETED",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const HOLDINGS: Uuid = Uuid::from_u128(7);
    const INSTANCE: Uuid = Uuid::from_u128(8);

    fn sent(topic: &str, payload: Value) -> (Message, Value) {
        let created = "2024-05-01T10:00:00Z".parse().expect("a time");
        let event = StoredEvent {
            id: 3,
            topic: topic.into(),
            key: "k".into(),
            payload: payload.to_string(),
            created,
        };
        let wanted = if topic == "inventory.item" { 1 } else { 0 };
        assert!(holdings(&event).len() >= wanted);
        let message = message("diku", &event, &Instances::from([(HOLDINGS, INSTANCE)]));
        let value = serde_json::from_str(&message.value).expect("JSON");
        (message, value)
    }

    #[test]
    fn a_loan_is_sent_as_mod_circulation_storage_does() {
        let (message, mut value) = sent(
            "circulation.loan",
            json!({"type": "UPDATE", "tenant": "diku", "old": {"a": 1}, "new": {"a": 2}}),
        );
        assert!(value["id"].as_str().is_some_and(|id| Uuid::parse_str(id).is_ok()));
        value["id"] = json!("");
        let data = json!({"old": {"a": 1}, "new": {"a": 2}});
        let expected = json!({"id": "", "type": "UPDATED", "tenant": "diku", "timestamp": 1_714_557_600_000_i64, "data": data});
        assert_eq!(value, expected);
        assert_eq!((message.key.as_str(), message.topic.as_str()), ("k", "circulation.loan"));
    }

    #[test]
    fn an_item_is_sent_as_mod_inventory_storage_does_with_its_instance() {
        let item = json!({"id": "i", "holdingsRecordId": HOLDINGS});
        let (_, mut value) = sent("inventory.item", json!({"type": "CREATE", "tenant": "diku", "new": item}));
        value["eventId"] = json!("");
        let new = json!({"instanceId": INSTANCE, "id": "i", "holdingsRecordId": HOLDINGS});
        let expected = json!({"eventId": "", "eventTs": 1_714_557_600_000_i64, "new": new, "type": "CREATE", "tenant": "diku"});
        assert_eq!(value, expected);
    }

    #[test]
    fn parts_of_bound_with_have_the_key_of_their_instance() {
        let part = json!({"id": "p", "holdingsRecordId": HOLDINGS, "itemId": "i"});
        let (message, _) =
            sent("inventory.bound-with", json!({"type": "DELETE", "tenant": "diku", "old": part}));
        assert_eq!(message.key, INSTANCE.to_string());
    }

    #[test]
    fn an_event_has_the_same_id_in_every_attempt() {
        let payload = json!({"type": "DELETE_ALL", "tenant": "diku"});
        let (first, value) = sent("circulation.loan", payload.clone());
        assert_eq!(sent("circulation.loan", payload).0, first);
        assert_eq!((&value["type"], &value["data"]), (&json!("ALL_DELETED"), &json!({})));
    }

    #[test]
    fn what_is_no_change_is_sent_as_it_is() {
        let setting = json!({"id": "s", "key": "k", "value": "v", "tenantId": "diku"});
        assert_eq!(sent("inventory.setting", setting.clone()).1, setting);
    }
}
