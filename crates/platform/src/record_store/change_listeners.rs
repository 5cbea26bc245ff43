//! Some records keep something of others: a request the name of its pickup service point. Whoever keeps it says so
//! here, and hears of the change in the transaction that makes it, without the changed record's module knowing.

use crate::database::Pipeline;
use serde_json::{Map, Value};
use std::sync::OnceLock;
use uuid::Uuid;

/// Somebody who keeps something of the records of a table.
pub struct ChangeListener {
    pub table: &'static str,
    /// JSON pointers to what is kept; changes elsewhere in the record are none of the follower's business.
    pub keeps: &'static [&'static str],
    /// Deleted records count as changed, too.
    pub deletions: bool,
    /// Adds what is to be remembered of these records, of the tenant, to the pipeline that changes them.
    pub changed: fn(&mut Pipeline, &str, Vec<Uuid>),
}

/// The followers of the program; the same in every house of this program.
static LISTENERS: OnceLock<Vec<&'static ChangeListener>> = OnceLock::new();

/// Makes the followers known, once.
pub(crate) fn connect(followers: impl Iterator<Item = &'static ChangeListener>) {
    LISTENERS.get_or_init(|| followers.collect());
}

/// A record that changes, before and after.
pub type Changed<'a> = (Uuid, &'a Value, &'a Map<String, Value>);

/// Adds what the followers of a table want to remember.
pub fn tell<'a>(
    pipeline: &mut Pipeline,
    table: &str,
    tenant: &str,
    changes: impl Iterator<Item = Changed<'a>> + Clone,
) {
    let followers = LISTENERS.get().into_iter().flatten().filter(|follower| follower.table == table);
    for follower in followers {
        let ids: Vec<Uuid> = changes
            .clone()
            .filter(|(_, old, new)| follower.keeps.iter().any(|pointer| differs(pointer, old, new)))
            .map(|(id, ..)| id)
            .collect();
        if !ids.is_empty() {
            (follower.changed)(pipeline, tenant, ids);
        }
    }
}

/// Adds what the followers of a table want to remember of deleted records.
pub fn tell_deleted(pipeline: &mut Pipeline, table: &str, tenant: &str, ids: Vec<Uuid>) {
    let followers = LISTENERS.get().into_iter().flatten();
    for follower in followers.filter(|follower| follower.deletions && follower.table == table) {
        if !ids.is_empty() {
            (follower.changed)(pipeline, tenant, ids.clone());
        }
    }
}

fn differs(pointer: &str, old: &Value, new: &Map<String, Value>) -> bool {
    let (first, rest) =
        pointer[1..].split_once('/').map_or((&pointer[1..], None), |(first, rest)| (first, Some(rest)));
    let new = new.get(first).and_then(|value| match rest {
        None => Some(value),
        Some(rest) => value.pointer(&format!("/{rest}")),
    });
    // What is null is not there.
    old.pointer(pointer).filter(|value| !value.is_null()) != new.filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_is_kept_counts() {
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
