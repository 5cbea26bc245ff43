//! Some records contain copies of others: a request has the name of its pickup service point. A module that stores such
//! copies declares a change listener, which runs in the transaction that changes the original, without a dependency of
//! the original's module.

use super::records::Records;
use crate::database::Pipeline;
use crate::tenant::Tenant;
use serde_json::{Map, Value};
use uuid::Uuid;

/// A listener for changes of a table whose values are copied elsewhere.
pub struct ChangeListener {
    pub table: &'static str,
    /// JSON pointers to what is kept; changes elsewhere in the record are none of the listener's business.
    pub keeps: &'static [&'static str],
    /// Whether deleted records count as changed.
    pub deletions: bool,
    /// Adds statements that mark the copies of these records as outdated, to the pipeline that changes them.
    pub changed: fn(&mut Pipeline, &Tenant, Vec<Uuid>),
}

/// A changed record: its id, and the document before and after.
pub type Changed<'a> = (Uuid, &'a Value, &'a Map<String, Value>);

/// Adds what the listeners of a table want to remember.
pub fn tell<'a>(
    pipeline: &mut Pipeline,
    table: &str,
    tenant: &Tenant,
    changes: impl Iterator<Item = Changed<'a>> + Clone,
) {
    for listener in of_table(&tenant.records, table) {
        let ids: Vec<Uuid> = changes
            .clone()
            .filter(|(_, old, new)| listener.keeps.iter().any(|pointer| differs(pointer, old, new)))
            .map(|(id, ..)| id)
            .collect();
        if !ids.is_empty() {
            (listener.changed)(pipeline, tenant, ids);
        }
    }
}

/// Adds what the listeners of a table want to remember of deleted records.
pub fn tell_deleted(pipeline: &mut Pipeline, table: &str, tenant: &Tenant, ids: Vec<Uuid>) {
    for listener in of_table(&tenant.records, table).filter(|listener| listener.deletions) {
        if !ids.is_empty() {
            (listener.changed)(pipeline, tenant, ids.clone());
        }
    }
}

fn of_table<'a>(records: &'a Records, table: &str) -> impl Iterator<Item = &'a &'static ChangeListener> {
    records.listeners.iter().filter(move |listener| listener.table == table)
}

fn differs(pointer: &str, old: &Value, new: &Map<String, Value>) -> bool {
    let (first, rest) =
        pointer[1..].split_once('/').map_or((&pointer[1..], None), |(first, rest)| (first, Some(rest)));
    let new = new.get(first).and_then(|value| match rest {
        None => Some(value),
        Some(rest) => value.pointer(&format!("/{rest}")),
    });
    // Null counts as absent.
    old.pointer(pointer).filter(|value| !value.is_null()) != new.filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_copied_properties_count() {
        let old = json!({"name": "Main", "code": "m", "personal": {"lastName": "A"}, "note": null});
        let new = json!({"name": "Main", "code": "n", "personal": {"lastName": "B"}});
        let new = new.as_object().expect("an object");
        let changed: Vec<bool> = ["/name", "/code", "/personal/lastName", "/personal/firstName", "/note"]
            .iter()
            .map(|pointer| differs(pointer, &old, new))
            .collect();
        assert_eq!(changed, [false, true, true, false, false]);
    }
}
