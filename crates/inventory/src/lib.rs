//! Inventory: instances, holdings, items, locations and service points.

pub mod item_state;
pub mod records;

use carrel_platform::{Router, Wing};

/// This wing.
pub fn wing() -> Wing {
    Wing { name: "inventory", records: records::RECORD_TYPES, tables: item_state::TABLES, routes: |_: &mut Router| {} }
}
