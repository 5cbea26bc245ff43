//! circulation.

pub mod calendar;
pub mod loan_policy;
