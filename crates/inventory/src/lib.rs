//! Inventory: instances, holdings, items, locations and service points.

pub mod records;

use carrel_platform::{Router, Wing};

/// This wing.
pub fn wing() -> Wing {
    Wing { name: "inventory", records: records::RECORD_TYPES, tables: "", routes: |_: &mut Router| {} }
}
