//! Patron notices and templates.

pub mod records;

use carrel_platform::{Router, Wing};

/// This wing.
pub fn wing() -> Wing {
    Wing { name: "notices", records: records::RECORD_TYPES, tables: "", routes: |_: &mut Router| {} }
}
