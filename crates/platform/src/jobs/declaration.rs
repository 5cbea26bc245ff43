//! What a job is, and hints that it has work.

use crate::tenant::Tenant;
use carrel_records::Failure;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
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

pub(super) static HINTS: LazyLock<broadcast::Sender<(String, &'static str)>> =
    LazyLock::new(|| broadcast::Sender::new(64));

/// For whom a job runs.
pub struct Run {
    pub tenant: Arc<Tenant>,
}

/// A run; it says in a few words what it has done.
pub type Running = Pin<Box<dyn Future<Output = Result<String, Failure>> + Send>>;
