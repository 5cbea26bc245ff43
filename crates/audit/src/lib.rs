//! Audit: the circulation log, change histories of records, and the audit records that other programs send.

pub mod circulation_log;
pub mod records;

use carrel_platform::{Module, Router};

/// This module.
pub fn module() -> Module {
    Module {
        name: "audit",
        records: records::RECORD_TYPES,
        tables: include_str!("tables.sql"),
        routes: |router: &mut Router| {
            circulation_log::connect(router);
        },
        ..Module::EMPTY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_in_the_surface() {
        (module().routes)(&mut Router::default());
    }
}
