//! Audit: the circulation log, change histories of records, and the audit records that other programs send.

pub mod change_history;
pub mod circulation_log;
mod log_record;
pub mod records;
mod settings;

use carrel_platform::jobs::Job;
use carrel_platform::{Module, Router};

static JOBS: &[&Job] = &[&change_history::HISTORIES, &change_history::CLEANUP];

/// The audit module.
pub fn module() -> Module {
    Module {
        name: "audit",
        records: records::RECORD_TYPES,
        tables: include_str!("tables.sql"),
        routes: |router: &mut Router| {
            circulation_log::connect(router);
            log_record::connect(router);
            change_history::connect(router);
            settings::connect(router);
        },
        jobs: JOBS,
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
