//! Audit: the circulation log.

mod circulation_log;
