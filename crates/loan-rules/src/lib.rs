//! The rules of loans and requests as functions of values: due dates, loan policies, opening hours, overdue fines, lost
//! items, reminder fees, positions in a request queue, automated patron blocks.
//!
//! No database, no runtime and no clock: all inputs of a rule are parameters, including the time. The crates that read
//! and write records call these rules.

pub mod due_date;
pub mod loan_policy;
pub mod loan_status;
pub mod lost_item_policy;
pub mod opening_hours;
pub mod overdue_fine;
pub mod patron_blocks;
pub mod reminder_fee;
pub mod request;
pub mod request_queue;

pub use loan_status::LoanStatus;
