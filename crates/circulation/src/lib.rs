//! Circulation: lending, requests, policies, calendars.

pub mod anonymization;
pub mod calendar;
pub mod check_in;
pub mod check_out;
pub mod check_out_lock;
pub mod check_out_lock_storage;
pub mod circulation_settings;
pub mod claims;
pub mod desk;
pub mod due_date;
pub mod loan_policy;
pub mod loans;
pub mod patron_account;
pub mod patron_action_sessions;
pub mod patron_blocks;
pub mod policies;
pub mod print_events;
pub mod records;
pub mod renewal;
pub mod reports;
pub mod request_preferences;
pub mod requests;
pub mod rules;
pub mod settings;
pub mod staff_slips;
pub mod use_at_location;

use carrel_platform::jobs::Job;
use carrel_platform::{Module, Router};

/// What is done in the background.
static JOBS: &[&Job] =
    &[&requests::EXPIRY, &requests::QUEUE_LEVEL, &requests::REFRESH, &patron_account::batch::PLACING];

/// This module.
pub fn module() -> Module {
    Module {
        name: "circulation",
        records: records::RECORD_TYPES,
        tables: include_str!("tables.sql"),
        steps: &[],
        routes: |router: &mut Router| {
            check_in::connect(router);
            check_out::connect(router);
            calendar::connect(router);
            loans::connect(router);
            renewal::connect(router);
            claims::connect(router);
            anonymization::connect(router);
            use_at_location::connect(router);
            rules::connect(router);
            circulation_settings::connect(router);
            policies::connect(router);
            patron_blocks::connect(router);
            staff_slips::connect(router);
            request_preferences::connect(router);
            patron_action_sessions::connect(router);
            print_events::connect(router);
            check_out_lock_storage::connect(router);
            check_out_lock::connect(router);
            requests::connect(router);
            reports::connect(router);
            patron_account::connect(router);
        },
        jobs: JOBS,
        change_listeners: requests::CHANGE_LISTENERS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_room_finds_its_routes_in_the_surface() {
        (module().routes)(&mut Router::default());
    }
}
