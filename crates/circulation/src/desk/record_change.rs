//! A change of a stored record, field by field: fields that it does not name stay as they are stored, also when
//! another transaction has changed them meanwhile.

use carrel_platform::{Bind, Event, Pipeline, RowChange, outbox};
use carrel_records::{json_text, metadata};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// The change of a stored loan.
///
/// The condition on the array of ids makes PostgreSQL read just these rows, whatever size it estimates for the table;
/// without it a join may read the whole table.
pub static LOAN: RowChange = RowChange {
    one: "UPDATE loan SET doc = (doc - string_to_array($2, ',')) || $3 WHERE id = $1",
    several: "UPDATE loan SET doc = (loan.doc - string_to_array(one.removed, ',')) || one.doc
         FROM unnest($1::uuid[], $2::text[], $3::jsonb[]) AS one (id, removed, doc)
         WHERE loan.id = one.id AND loan.id = ANY ($1::uuid[])",
};

/// The change of a stored request.
pub static REQUEST: RowChange = RowChange {
    one: "UPDATE request SET doc = (doc - string_to_array($2, ',')) || $3 WHERE id = $1",
    several: "UPDATE request SET doc = (request.doc - string_to_array(one.removed, ',')) || one.doc
         FROM unnest($1::uuid[], $2::text[], $3::jsonb[]) AS one (id, removed, doc)
         WHERE request.id = one.id AND request.id = ANY ($1::uuid[])",
};

/// The fields of one record that change.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordChange {
    pub id: Uuid,
    /// The record as it is stored, in JSON.
    old: String,
    new: Map<String, Value>,
    set: Map<String, Value>,
    removed: Vec<&'static str>,
}

impl RecordChange {
    pub fn of(id: Uuid, stored: &Map<String, Value>) -> RecordChange {
        RecordChange { id, old: json_text(stored), new: stored.clone(), set: Map::new(), removed: Vec::new() }
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

    /// Updates `metadata`: when and by whom.
    pub fn signed(&mut self, by: Option<Uuid>, now: Timestamp) {
        let mut metadata = self.new.get("metadata").cloned().unwrap_or_default();
        metadata::change(&mut metadata, by, now);
        self.set("metadata", metadata);
    }

    /// A field that another statement of the pipeline changes: only part of the event.
    pub fn show(&mut self, key: &str, value: impl Into<Value>) {
        self.new.insert(key.to_owned(), value.into());
    }

    /// The record as it is after the change.
    pub fn document(&self) -> &Map<String, Value> {
        &self.new
    }

    /// Adds the statement, [`LOAN`] or [`REQUEST`].
    pub fn apply(&self, pipeline: &mut Pipeline, table: &'static RowChange) {
        // Field names have no commas.
        let removed = self.removed.join(",");
        let set = json_text(&self.set);
        pipeline.change_row(table, vec![self.id.into(), removed.into(), Bind::Json(set)]);
    }

    /// The record as it is after the change, in JSON.
    pub fn text(&self) -> String {
        json_text(&self.new)
    }

    /// Adds the event; `new` is the [`RecordChange::text`], which others may need as well.
    pub fn announce(
        &self,
        pipeline: &mut Pipeline,
        topic: &'static str,
        tenant: &str,
        new: &str,
        now: Timestamp,
    ) {
        let event = Event::updated(tenant, &self.old, &new).to_string();
        outbox::announce(pipeline, topic, self.id.to_string(), event, now);
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
}
