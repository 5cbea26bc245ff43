//! circulation.

pub mod calendar;
