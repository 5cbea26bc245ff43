//! Lists: queries over the records of the library, stored, refreshed, and exported, with the APIs of FOLIO's mod-lists
//! and mod-fqm-manager.
//!
//! `entity_types` declares what can be listed, `query` runs queries, `saved_lists` stores lists with their contents,
//! `exports` writes files, and `engine` runs jobs in the background. This module depends on the tables of most others,
//! which it only reads.

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

/// The lists module.
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
