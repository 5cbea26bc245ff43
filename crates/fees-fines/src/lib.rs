//! fees-fines.

pub mod records;
