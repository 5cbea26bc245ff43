//! A change of a stored record, told by its fields: what the change does not name stays as it is stored, also
//! where somebody else has changed it meanwhile.

use carrel_platform::{Bind, Flight, outbox};
use carrel_records::time;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// The fields of one record that change.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordChange {
    pub id: Uuid,
    old: Map<String, Value>,
    new: Map<String, Value>,
    set: Map<String, Value>,
    removed: Vec<&'static str>,
}

impl RecordChange {
    pub fn of(id: Uuid, stored: &Map<String, Value>) -> RecordChange {
        RecordChange { id, old: stored.clone(), new: stored.clone(), set: Map::new(), removed: Vec::new() }
    }

    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        self.new.insert(key.to_owned(), value.clone());
        self.set.insert(key.to_owned(), value);
    }

    pub fn remove(&mut self, key: &'static str) {
        if self.new.remove(key).is_some() {
            self.set.remove(key);
            self.removed.push(key);
        }
    }

    /// Says in `metadata` when and by whom.
    pub fn signed(&mut self, by: Option<Uuid>, now: Timestamp) {
        let mut metadata = self.new.get("metadata").cloned().unwrap_or_else(|| json!({}));
        metadata["updatedDate"] = time::format(now).into();
        if let Some(by) = by {
            metadata["updatedByUserId"] = by.to_string().into();
        }
        self.set("metadata", metadata);
    }

    /// A field that another statement of the flight changes: only told in the event.
    pub fn told(&mut self, key: &str, value: impl Into<Value>) {
        self.new.insert(key.to_owned(), value.into());
    }

    /// The record as it is after the change.
    pub fn document(&self) -> &Map<String, Value> {
        &self.new
    }

    /// Adds the statement; `update` is `UPDATE table SET doc = (doc - $2::text[]) || $3 WHERE id = $1`, with the
    /// table's name in it.
    pub fn apply(&self, flight: &mut Flight, update: &'static str) {
        let removed: Vec<String> = self.removed.iter().map(|&key| key.to_owned()).collect();
        flight.change(
            update,
            vec![self.id.into(), removed.into(), Bind::Json(Value::Object(self.set.clone()).to_string())],
        );
    }

    /// Adds the event.
    pub fn announce(&self, flight: &mut Flight, topic: &'static str, tenant: &str, now: Timestamp) {
        let event = json!({"type": "UPDATE", "tenant": tenant, "old": self.old, "new": self.new});
        outbox::announce(flight, topic, self.id.to_string(), &event, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_is_written() {
        let stored = json!({"status": "Open", "note": "mine", "until": "May"});
        let mut change = RecordChange::of(Uuid::nil(), stored.as_object().expect("an object"));
        change.set("status", "Closed");
        change.remove("until");
        change.remove("unknown");
        assert_eq!(Value::Object(change.document().clone()), json!({"status": "Closed", "note": "mine"}));
        assert_eq!(Value::Object(change.set.clone()), json!({"status": "Closed"}));
        assert_eq!(change.removed, ["until"]);
    }
}
