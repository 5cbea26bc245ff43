//! Circulation.

mod check_in;
mod check_out;
mod loans;
mod renewal;
