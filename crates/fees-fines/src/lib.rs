//! Fees and fines.

pub mod policies;
pub mod records;

use carrel_platform::{Router, Wing};

/// This wing.
pub fn wing() -> Wing {
    Wing {
        name: "fees-fines",
        records: records::RECORD_TYPES,
        tables: "",
        routes: |router: &mut Router| {
            policies::connect(router);
        },
    }
}
