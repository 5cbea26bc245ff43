//! Tests through the public API, each with a library of its own; modules by module and use case.

mod circulation;
mod inventory;
mod patron;
mod platform;
mod requests;
mod users;
