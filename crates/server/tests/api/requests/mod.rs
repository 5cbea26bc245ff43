//! Requests, their queues, slips and reports.

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
