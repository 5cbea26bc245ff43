//! Inventory: instances, holdings, items, locations and service points.

mod batch;
mod call_number;
mod effective_location;
mod fields;
pub mod holdings;
mod hrid;
pub mod instances;
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
    instances::routes(router);
    holdings::routes(router);
    items::routes(router);
}
