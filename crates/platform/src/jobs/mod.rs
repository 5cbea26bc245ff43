//! Background jobs: work that a module declares to be done regularly for each tenant. One node runs a job when it is due.
//!
//! The table `platform.job` has a row for each tenant and job. A node takes a due row with `FOR UPDATE SKIP LOCKED` under
//! a lease that it renews while the job runs; if the node dies, the lease ends and another node takes the row. A run is
//! never lost, but a node without a connection to the database may cause a second one, so jobs must be repeatable. Each
//! run has a deadline and can be cancelled.
//!
//! A row can replace the declared interval, and can name a route to call instead of a declared job: these are the timers of
//! FOLIO's modules and of users. The row of a timer that is switched off is due at infinity.

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
