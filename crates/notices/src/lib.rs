//! Patron notices: templates and their rendering, e-mail and its delivery, messages to users of the system.

pub mod delivery;
pub mod email;
mod forgotten_credentials;
mod notifications;
pub mod records;
pub mod rendering;
pub mod templates;

use carrel_platform::jobs::Job;
use carrel_platform::{Module, Router};

static JOBS: &[&Job] = &[&email::DELIVERY, &email::RETENTION];

/// The notices module.
pub fn module() -> Module {
    Module {
        name: "notices",
        records: records::RECORD_TYPES,
        tables: include_str!("tables.sql"),
        routes: |router: &mut Router| {
            templates::routes(router);
            rendering::connect(router);
            email::connect(router);
            delivery::connect(router);
            notifications::connect(router);
            forgotten_credentials::connect(router);
        },
        jobs: JOBS,
        ..Module::EMPTY
    }
}
