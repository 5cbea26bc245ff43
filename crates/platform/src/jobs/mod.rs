//! Work in the background: what a module declares to be done again and again for each tenant, done once each time it
//! is due, by whichever node is there.
//!
//! The rows of `platform.job` say what is due. A node takes a row with `FOR UPDATE SKIP LOCKED` and owns it for a
//! lease that it renews while it works; where a node dies, its lease ends and another node does the work. So a
//! run may happen twice when a node is cut off from the database, never is it forgotten: what a job does must bear
//! being done again. Each run has a deadline and can be cancelled.
//!
//! A row may say another time than the declared one, and which route it calls instead of a declared job: these are the
//! timers of FOLIO's modules and of users. A row whose timer is switched off is due at infinity.

mod cron;
mod declaration;
mod runner;
pub(crate) mod table;
pub mod timers;
pub mod timing;

pub(crate) use declaration::Hints;
pub use declaration::{Job, Run, Running, hint};
pub use runner::{Pace, Runner, start, start_at, start_with};
pub use table::{State, all, cancel, delete, of_tenant, set, soon};
