//! users.

pub mod records;
