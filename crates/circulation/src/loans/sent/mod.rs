//! A loan as a client sends it whole, to be made or replaced: the desk's old way, still used by scripts.

mod decide;
mod facts;

pub use decide::{Decision, decide_new, decide_replacement};
pub use facts::gather;

use serde_json::{Map, Value, json};

/// A loan without status is open, and was checked out.
pub fn with_defaults(mut sent: Map<String, Value>) -> Map<String, Value> {
    if !sent.contains_key("status") {
        sent.insert("status".into(), json!({"name": "Open"}));
        sent.entry("action").or_insert_with(|| "checkedout".into());
    }
    sent
}
