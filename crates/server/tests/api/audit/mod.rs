//! Audit: the circulation log, change histories, log records of other programs.

mod change_histories;
mod circulation_log;
mod log_records;
