//! notices.

pub mod records;
