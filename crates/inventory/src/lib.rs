//! Inventory: instances, holdings, items, locations and service points.

mod batch;
mod call_number;
mod effective_location;
mod fields;
mod hrid;
pub mod item_state;
pub mod items;
pub mod records;
mod saving;

use carrel_platform::{Router, Wing};

/// This wing.
pub fn wing() -> Wing {
    Wing { name: "inventory", records: records::RECORD_TYPES, tables: TABLES, routes }
}

const TABLES: &str = concat!(include_str!("item_state.sql"), include_str!("hrid/hrid.sql"));

fn routes(router: &mut Router) {
    hrid::routes(router);
    items::routes(router);
}
