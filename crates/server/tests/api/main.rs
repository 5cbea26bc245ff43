//! Tests through the public API, each with a library of its own; modules by wing and room.

mod circulation;
mod house;
mod inventory;
mod patron;
mod requests;
mod users;
