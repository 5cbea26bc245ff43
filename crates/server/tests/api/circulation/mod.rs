//! Circulation.

mod check_in;
mod check_out;
