//! Inventory.

mod authority_source_files;
mod batches;
mod bulk_jobs;
mod harvests;
mod holdings;
mod hrids;
mod instances;
mod isbns;
mod items;
mod marks;
mod search;
mod source_records;
mod tags;
mod views;
mod vocabularies;
