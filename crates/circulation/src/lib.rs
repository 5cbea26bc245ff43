//! Circulation: lending, requests, policies, calendars.

pub mod calendar;
pub mod due_date;
pub mod loan_policy;
pub mod records;

use carrel_platform::{Router, Wing};

/// This wing.
pub fn wing() -> Wing {
    Wing { name: "circulation", records: records::RECORD_TYPES, tables: "", routes: |_: &mut Router| {} }
}
