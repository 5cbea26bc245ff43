//! Requests, their queues, and what is printed for them.

mod copies;
mod expiry;
mod fulfillment;
mod histories;
mod jobs;
mod print_events;
mod queue_level;
mod reports;
mod round_trips;
mod rush;
mod snapshots;
mod storage;
mod stories;
