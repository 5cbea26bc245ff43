//! Plain records: declared, not programmed. Table, queries by CQL, writes with constraints turned into refusals, events
//! and routes are derived from the declaration.

pub mod change_listeners;
mod constraints;
pub mod ddl;
pub mod missing_index;
pub mod read;
mod records;
pub mod routes;
pub mod stream;
pub mod upgrade;
pub mod write;

pub use records::Records;

use carrel_records::RecordType;
use carrel_records::shape::Shape;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, RwLock};

static SHAPES: LazyLock<RwLock<HashMap<usize, Arc<Shape>>>> = LazyLock::new(RwLock::default);

/// The parsed shape of a record type, with the properties that the server maintains.
pub fn shape_of(record: &'static RecordType) -> Arc<Shape> {
    let key = std::ptr::from_ref(record) as usize;
    if let Some(shape) = SHAPES.read().expect("no holder of this lock panics").get(&key) {
        return Arc::clone(shape);
    }
    let mut text = record.shape.to_owned();
    if record.metadata && !text.contains("metadata:") {
        text.push_str("\nmetadata:object");
    }
    if record.optimistic_locking && !text.contains("_version:") {
        text.push_str("\n_version:integer");
    }
    if !text.contains("id:string") {
        text.push_str("\nid:string(uuid)");
    }
    let shape = Arc::new(Shape::parse(&text, record.closed));
    SHAPES.write().expect("no holder of this lock panics").insert(key, Arc::clone(&shape));
    shape
}
