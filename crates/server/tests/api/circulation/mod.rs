//! Circulation.

mod calendar;
mod check_in;
mod check_out;
mod loans;
mod renewal;
mod patron_blocks;
mod policies;
mod rules;
mod settings;
