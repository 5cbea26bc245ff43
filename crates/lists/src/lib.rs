//! Lists: queries over the records of the library, kept, refreshed, and exported, as FOLIO's mod-lists and
//! mod-fqm-manager have them.
//!
//! `entity_types` says what can be listed, `query` asks, `saved_lists` keeps questions with their answers, `exports`
//! writes files, and `engine` does the work in the background. This module stands above all others and reads their
//! tables; it writes its own.

mod answers;
pub mod engine;
pub mod entity_types;
mod exports;
mod query;
mod saved_lists;

pub use engine::{Options, configure, start, stop};
pub use query::indexed::{FieldPlan, field_plans};

use carrel_platform::jobs::Job;
use carrel_platform::{Module, Router};

static JOBS: &[&Job] = &[&engine::maintenance::MAINTENANCE];

/// This module.
pub fn module() -> Module {
    Module {
        name: "lists",
        tables: include_str!("tables.sql"),
        routes: |router: &mut Router| {
            entity_types::connect(router);
            query::connect(router);
            saved_lists::connect(router);
            exports::connect(router);
        },
        jobs: JOBS,
        ..Module::EMPTY
    }
}
