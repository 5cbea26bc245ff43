//! Requests: placing, editing, moving, reordering and expiring them, slips and reports.
//!
//! `carrel_loan_rules::request_queue` computes positions, `policy` the requests that a patron may place,
//! `carrel_circulation::request_snapshot` the copies of related records in a stored request, `view` its form in the
//! API. Every use case that changes a queue locks it (`carrel_circulation::desk::queue`).

pub mod actor;
pub mod allowed_service_points;
pub mod anonymize;
pub mod candidate;
pub mod change;
mod delete;
pub mod edit;
mod effects;
mod expiry;
#[cfg(test)]
mod fixtures;
pub mod instances;
pub mod lock;
mod log;
mod move_to;
pub mod place;
pub mod policy;
mod print_events;
mod queue_level;
pub mod read;
pub mod records;
mod reopen;
mod reorder;
mod reports;
mod request_preferences;
mod snapshot_refresh;
mod staff_slips;
mod storage;
pub mod user_dependents;
mod validate;
pub mod view;

use carrel_platform::jobs::Job;
use carrel_platform::{Module, Router, TransactionListeners};

/// The background jobs.
static JOBS: &[&Job] = &[&expiry::EXPIRY, &queue_level::QUEUE_LEVEL, &snapshot_refresh::REFRESH];

/// The requests module.
pub fn module() -> Module {
    Module {
        name: "requests",
        records: records::RECORD_TYPES,
        tables: include_str!("tables.sql"),
        routes: |router: &mut Router| {
            place::connect(router);
            read::connect(router);
            edit::connect(router);
            delete::connect(router);
            move_to::connect(router);
            reorder::connect(router);
            storage::connect(router);
            instances::connect(router);
            allowed_service_points::connect(router);
            expiry::connect(router);
            anonymize::connect(router);
            queue_level::connect(router);
            print_events::connect(router);
            request_preferences::connect(router);
            staff_slips::connect(router);
            reports::connect(router);
        },
        jobs: JOBS,
        change_listeners: snapshot_refresh::CHANGE_LISTENERS,
        transaction_listeners: |listeners: &mut TransactionListeners| {
            listeners.connect(reopen::reopen_request)
        },
        ..Module::EMPTY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_use_case_finds_its_routes_in_the_surface() {
        (module().routes)(&mut Router::default());
    }
}
