//! Circulation.

mod anonymization;
mod batches;
mod check_in;
mod check_out;
mod costs;
mod live;
mod loans;
mod overdue_fines;
mod patron_blocks;
mod patron_notices;
mod plans;
mod policies;
mod renewal;
mod repeated_scans;
mod rules;
mod settings;
