//! A whole loan that a client, usually a script, sends to create or replace it.

mod decide;
mod facts;

pub use decide::{Decision, decide_new, decide_replacement};
pub use facts::gather;

use serde_json::{Map, Value, json};

/// Sets the defaults: status open, action checked out.
pub fn with_defaults(mut sent: Map<String, Value>) -> Map<String, Value> {
    if !sent.contains_key("status") {
        sent.insert("status".into(), json!({"name": "Open"}));
        sent.entry("action").or_insert_with(|| "checkedout".into());
    }
    sent
}
