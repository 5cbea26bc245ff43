//! Queries on fields without an index: they are answered, counted, and logged once.

use std::collections::BTreeMap;
use std::sync::Mutex;

/// A field that was searched or sorted without an index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingIndex {
    pub table: String,
    pub field: String,
    pub relation: String,
}

/// The fields that were searched without an index, with how often; at most a thousand.
#[derive(Default)]
pub struct MissingIndexes(Mutex<BTreeMap<MissingIndex, u64>>);

impl MissingIndexes {
    /// Counts the query; logs the first of its kind.
    pub fn saw(&self, table: &str, field: &str, relation: &str) {
        let key = MissingIndex { table: table.into(), field: field.into(), relation: relation.into() };
        let mut seen = self.0.lock().expect("no holder of this lock panics");
        // Field names come from clients: the list is bounded.
        if seen.len() >= 1_000 && !seen.contains_key(&key) {
            return;
        }
        let count = seen.entry(key).or_insert(0);
        *count += 1;
        if *count == 1 {
            tracing::info!(table, field, relation, "a query on {table}.{field} {relation} has no index");
        }
    }

    /// All that was seen since the start.
    pub fn all(&self) -> Vec<(MissingIndex, u64)> {
        let seen = self.0.lock().expect("no holder of this lock panics");
        seen.iter().map(|(key, count)| (key.clone(), *count)).collect()
    }
}
