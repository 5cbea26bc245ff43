//! Patron notices and templates.

pub mod records;
mod templates;

use carrel_platform::{Module, Router};

/// This module.
pub fn module() -> Module {
    Module {
        name: "notices",
        records: records::RECORD_TYPES,
        tables: "",
        cached_tables: &[],
        steps: &[],
        routes: |router: &mut Router| templates::routes(router),
        jobs: &[],
        change_listeners: &[],
    }
}
