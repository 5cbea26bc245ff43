//! Work in the background: what a module declares to be done again and again for each tenant, done once each time it
//! is due, by whichever node is there.
//!
//! The rows of `platform.job` say what is due. A node takes a row with `FOR UPDATE SKIP LOCKED` and owns it for a
//! lease that it renews while it works; where a node dies, its lease ends and another node does the work. So a
//! run may happen twice when a node is cut off from the database, never is it forgotten: what a job does must bear
//! being done again. Each run has a deadline and can be cancelled.

mod row;
mod runner;

pub(crate) use row::forget;
pub use row::{State, all, cancel, of_tenant, soon};
pub use runner::{Pace, Runner, start, start_with};

use crate::tenant::{Node, Tenant};
use carrel_records::Failure;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::sync::broadcast;

/// Something that each tenant wants done regularly.
pub struct Job {
    /// In words of the library, with dashes: `request-expiration`.
    pub name: &'static str,
    /// Time between the beginnings of two runs.
    pub every: Duration,
    /// A run that takes longer is given up, and tried again when it is due next.
    pub deadline: Duration,
    pub run: fn(Run) -> Running,
}

/// Says on this node that a job has something to do. Only a hint, that may be lost: what is to be done stands in the
/// database, and the job finds it when it is due.
pub fn hint(tenant: &str, name: &'static str) {
    // Nobody listens where no jobs are done.
    let _ = HINTS.send((tenant.to_owned(), name));
}

static HINTS: LazyLock<broadcast::Sender<(String, &'static str)>> =
    LazyLock::new(|| broadcast::Sender::new(64));

/// For whom a job runs.
pub struct Run {
    pub node: Arc<Node>,
    pub tenant: Arc<Tenant>,
}

/// A run; it says in a few words what it has done.
pub type Running = Pin<Box<dyn Future<Output = Result<String, Failure>> + Send>>;
