//! Circulation: check-out, check-in, renewal, loans, lost items, patron blocks, policies and settings, and the parts of
//! requests that scans need.

pub mod anonymization;
pub mod check_in;
pub mod check_out;
pub mod check_out_lock;
pub mod check_out_lock_storage;
pub mod circulation_settings;
pub mod claims;
pub mod desk;
pub mod document;
pub mod live;
pub mod loans;
pub mod lost_items;
mod moved_request;
pub mod overdue_fine;
pub mod patron_action_sessions;
pub mod patron_blocks;
pub mod patron_notices;
pub mod policies;
pub mod records;
pub mod reminder_schedule;
pub mod reminders;
pub mod renewal;
pub mod request_snapshot;
pub mod rules;
pub mod settings;
pub mod use_at_location;
pub mod user_dependents;

use carrel_platform::jobs::Job;
use carrel_platform::{Module, Router, TransactionListeners};

/// The background jobs.
static JOBS: [&Job; 16] = [
    &anonymization::JOB,
    &reminders::JOB,
    &patron_blocks::SYNCHRONIZATION,
    &loans::session::EXPIRY,
    &lost_items::AGING,
    &lost_items::BILLING,
    &lost_items::ACTUAL_COST_EXPIRY,
    &patron_notices::PROCESSING,
    &patron_notices::RETENTION,
    &patron_notices::scheduled::LOAN_NOTICES,
    &patron_notices::scheduled::DAILY_LOAN_NOTICES,
    &patron_notices::scheduled::REQUEST_NOTICES,
    &patron_notices::scheduled::FEE_NOTICES,
    &patron_notices::scheduled::DAILY_FEE_NOTICES,
    &patron_notices::scheduled::OVERDUE_FINE_NOTICES,
    &desk::idempotency::EXPIRY,
];

/// The circulation module.
pub fn module() -> Module {
    Module {
        name: "circulation",
        records: records::RECORD_TYPES,
        tables: include_str!("tables.sql"),
        cached_tables: settings::TABLES,
        routes: |router: &mut Router| {
            check_in::connect(router);
            check_out::connect(router);
            live::connect(router);
            loans::connect(router);
            renewal::connect(router);
            claims::connect(router);
            lost_items::connect(router);
            anonymization::connect(router);
            use_at_location::connect(router);
            reminders::connect(router);
            rules::connect(router);
            circulation_settings::connect(router);
            policies::connect(router);
            patron_blocks::connect(router);
            patron_action_sessions::connect(router);
            patron_notices::connect(router);
            check_out_lock_storage::connect(router);
            check_out_lock::connect(router);
        },
        jobs: &JOBS,
        transaction_listeners: |listeners: &mut TransactionListeners| {
            lost_items::listen(listeners);
            patron_notices::listen(listeners);
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
