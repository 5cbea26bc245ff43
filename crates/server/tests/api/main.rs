//! Tests through the public API, each with a separate database; by module and use case.

mod audit;
mod calendar;
mod circulation;
mod course_reserves;
mod fees_fines;
mod inventory;
mod lists;
mod notices;
mod patron;
mod platform;
mod pub_sub;
mod requests;
mod users;
