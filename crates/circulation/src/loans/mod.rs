//! Loans: what is out, what was, and what happened to it.
//!
//! `view` is how clients see a loan, `history` one row for every change, `session` what the desk did since the
//! patron came.

pub mod history;
pub mod session;
pub mod view;
