//! inventory.

pub mod records;
