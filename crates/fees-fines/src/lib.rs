//! Fees and fines.

pub mod policies;
pub mod records;
mod storage_answers;
pub mod user_dependents;

use carrel_platform::{Module, Router};

/// This module.
pub fn module() -> Module {
    Module {
        name: "fees-fines",
        records: records::RECORD_TYPES,
        tables: "",
        cached_tables: &[],
        steps: &[],
        routes: |router: &mut Router| {
            policies::connect(router);
            storage_answers::routes(router);
        },
        jobs: &[],
        change_listeners: &[],
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
