//! The calendar: opening hours of service points as records, and queries about them.
//!
//! Routes: `/calendar/calendars` and `/calendar/dates/{servicePointId}/…`. The rules are in
//! `carrel_loan_rules::opening_hours`. Every change of a calendar increments the settings version.

mod error;
mod query;
pub mod records;
mod route;
mod store;

use carrel_platform::{Module, Router};

/// The calendar module.
pub fn module() -> Module {
    Module {
        name: "calendar",
        records: records::RECORD_TYPES,
        routes: |router: &mut Router| route::connect(router),
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
