//! Inventory: instances, holdings, items, locations and service points.

mod authority_source_files;
mod batch;
mod bound_with;
mod bulk_jobs;
mod call_number;
mod date_types;
mod deletions;
mod effective_location;
mod fields;
mod harvest;
pub mod holdings;
mod hrid;
mod instance_summary;
mod instance_view;
pub mod instances;
mod isbn;
pub mod item_state;
mod item_view;
pub mod items;
mod locations;
pub mod mark_item;
mod moving;
mod ownership;
pub mod records;
mod settings;
mod source_record;
mod store;
mod tags;
mod title_links;
pub mod user_service_points;
mod validated_records;
mod views;

use carrel_platform::jobs::Job;
use carrel_platform::{Module, Router};

/// The inventory module.
pub fn module() -> Module {
    Module {
        name: "inventory",
        records: records::RECORD_TYPES,
        tables: TABLES,
        routes,
        jobs: JOBS,
        ..Module::EMPTY
    }
}

/// Collection paths and documents that a new tenant begins with.
pub fn first_records() -> Vec<(String, serde_json::Value)> {
    let mut records = settings::first_records();
    records.extend(tags::first_records());
    records
}

/// Reference records of a new tenant, with the paths of their collections.
pub fn reference_records() -> Vec<(String, serde_json::Value)> {
    authority_source_files::reference_records()
}

static JOBS: &[&Job] = &[&bulk_jobs::BULK_JOBS];

const TABLES: &str = concat!(
    include_str!("item_state.sql"),
    include_str!("hrid/hrid.sql"),
    include_str!("source_record.sql"),
    include_str!("deletions/deletion.sql"),
    include_str!("bulk_jobs/tables.sql"),
    include_str!("authority_source_files.sql"),
    authority_source_files::add_first_files!()
);

fn routes(router: &mut Router) {
    hrid::routes(router);
    instances::routes(router);
    holdings::routes(router);
    items::routes(router);
    item_view::routes(router);
    instance_view::routes(router);
    mark_item::routes(router);
    moving::routes(router);
    ownership::routes(router);
    bound_with::routes(router);
    locations::routes(router);
    title_links::routes(router);
    source_record::routes(router);
    settings::routes(router);
    tags::routes(router);
    authority_source_files::routes(router);
    date_types::routes(router);
    deletions::routes(router);
    harvest::routes(router);
    views::routes(router);
    instance_summary::routes(router);
    isbn::routes(router);
    bulk_jobs::routes(router);
}
