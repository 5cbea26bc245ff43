//! Queries in FQL: at once (`GET /query`), in the background (`POST /query`), and the contents of what they found.

pub mod indexed;
pub mod migrate;
mod route;
pub mod rows;
pub mod select;

pub use route::{checked, connect, listed, permitted};
