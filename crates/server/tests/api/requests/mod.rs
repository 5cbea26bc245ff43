//! Requests, their queues, and what is printed for them.

mod expiry;
mod flights;
mod histories;
mod jobs;
mod print_events;
mod queue_level;
mod reports;
mod rush;
mod snapshots;
mod storage;
