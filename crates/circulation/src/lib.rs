//! circulation.

pub mod calendar;
pub mod due_date;
pub mod loan_policy;
pub mod records;
