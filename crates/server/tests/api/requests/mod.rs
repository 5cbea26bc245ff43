//! Requests, their queues, and what is printed for them.

mod copies;
mod expiry;
mod flights;
mod fulfillment;
mod histories;
mod jobs;
mod print_events;
mod queue_level;
mod reports;
mod rush;
mod snapshots;
mod storage;
mod stories;
