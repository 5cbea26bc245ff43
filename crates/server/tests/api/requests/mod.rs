//! Requests, their queues, and what is printed for them.

mod concurrency;
mod expiry;
mod fulfillment;
mod instance_level;
mod jobs;
mod print_events;
mod queue_level;
mod random_histories;
mod reports;
mod round_trips;
mod scenarios;
mod snapshots;
mod storage;
