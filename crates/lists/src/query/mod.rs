//! Queries in FQL: immediate (`GET /query`), in the background (`POST /query`), and the contents of their results.

pub mod indexed;
pub mod migrate;
mod route;
pub mod rows;
pub mod select;

pub use route::{checked, connect, listed, permitted};
