//! Circulation.

mod check_out;
