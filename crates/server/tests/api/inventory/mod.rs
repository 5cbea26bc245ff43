//! Inventory: what is on the shelves.

mod batches;
mod holdings;
mod instances;
mod items;
mod marks;
mod source_records;
