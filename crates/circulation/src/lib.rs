//! Circulation: lending, requests, policies, calendars.

pub mod calendar;
pub mod check_out;
pub mod check_out_lock;
pub mod desk;
pub mod due_date;
pub mod loan_policy;
pub mod loans;
pub mod records;
pub mod rulebook;
pub mod rules;

use carrel_platform::{Router, Wing};

/// This wing.
pub fn wing() -> Wing {
    Wing {
        name: "circulation",
        records: records::RECORD_TYPES,
        tables: include_str!("tables.sql"),
        routes: |router: &mut Router| {
            check_out::connect(router);
            rules::connect(router);
        },
    }
}
