//! Patron notices and templates.

pub mod records;

use carrel_platform::record_store::routes::delete_many;
use carrel_platform::{Module, Router};

/// This module.
pub fn module() -> Module {
    Module {
        name: "notices",
        records: records::RECORD_TYPES,
        tables: "",
        steps: &[],
        routes: |router: &mut Router| {
            router.on_stand_in("DELETE", "/templates", |call| delete_many(&records::TEMPLATE, call));
        },
        jobs: &[],
        change_listeners: &[],
    }
}
