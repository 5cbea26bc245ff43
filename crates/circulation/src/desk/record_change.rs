//! A change of some fields of a stored record: all other fields stay as they are stored, even if another transaction
//! has changed them in the meantime.

use carrel_platform::{Bind, Pipeline, RowChange};
use carrel_records::{json_text, metadata};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// The fields of one record that change.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordChange {
    pub id: Uuid,
    /// The stored record, in JSON.
    old: String,
    new: Map<String, Value>,
    set: Map<String, Value>,
    removed: Vec<String>,
}

/// Between the names of removed fields in the statement's parameter: `chr(31)`, which is in no field name.
const SEPARATOR: &str = "\u{1f}";

impl RecordChange {
    pub fn of(id: Uuid, stored: &Map<String, Value>) -> RecordChange {
        RecordChange { id, old: json_text(stored), new: stored.clone(), set: Map::new(), removed: Vec::new() }
    }

    /// The change from the stored version to `new`.
    pub fn between(id: Uuid, stored: &Map<String, Value>, new: Map<String, Value>) -> RecordChange {
        let changed = new.iter().filter(|(key, value)| stored.get(*key) != Some(*value));
        let set = changed.map(|(key, value)| (key.clone(), value.clone())).collect();
        let removed = stored.keys().filter(|key| !new.contains_key(*key)).cloned().collect();
        RecordChange { id, old: json_text(stored), new, set, removed }
    }

    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        self.new.insert(key.to_owned(), value.clone());
        self.set.insert(key.to_owned(), value);
    }

    pub fn remove(&mut self, key: &str) {
        if self.new.remove(key).is_some() {
            self.set.remove(key);
            self.removed.push(key.to_owned());
        }
    }

    /// Updates `metadata` with user and time.
    pub fn signed(&mut self, by: Option<Uuid>, now: Timestamp) {
        let mut metadata = self.new.get("metadata").cloned().unwrap_or_default();
        metadata::change(&mut metadata, by, now);
        self.set("metadata", metadata);
    }

    /// A field that another statement of the pipeline changes: only included in the event.
    pub fn show(&mut self, key: &str, value: impl Into<Value>) {
        self.new.insert(key.to_owned(), value.into());
    }

    /// The record after the change.
    pub fn document(&self) -> &Map<String, Value> {
        &self.new
    }

    /// Adds the table's statement; it takes the id, the names of removed fields, and the fields that are set.
    pub fn apply(&self, pipeline: &mut Pipeline, table: &'static RowChange) {
        let removed = self.removed.join(SEPARATOR);
        let set = json_text(&self.set);
        pipeline.change_row(table, vec![self.id.into(), removed.into(), Bind::Json(set)]);
    }

    /// The record after the change, in JSON.
    pub fn text(&self) -> String {
        json_text(&self.new)
    }

    /// The record as it is stored, in JSON.
    pub fn stored_text(&self) -> &str {
        &self.old
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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

    #[test]
    fn the_change_between_two_versions_names_what_differs() {
        let object = |value: Value| value.as_object().expect("an object").clone();
        let stored = object(json!({"status": "Open", "note": "mine", "until": "May", "a,b": 1}));
        let next = object(json!({"status": "Closed", "note": "mine", "new": null}));
        let mut change = RecordChange::between(Uuid::nil(), &stored, next.clone());
        change.removed.sort();
        assert_eq!(Value::Object(change.set.clone()), json!({"status": "Closed", "new": null}));
        assert_eq!(change.removed, ["a,b", "until"]);
        assert_eq!(change.document(), &next);
    }
}
