//! Fees and fines.

pub mod records;

use carrel_platform::{Router, Wing};

/// This wing.
pub fn wing() -> Wing {
    Wing { name: "fees-fines", records: records::RECORD_TYPES, tables: "", routes: |_: &mut Router| {} }
}
