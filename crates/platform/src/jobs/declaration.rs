//! What a job is, and hints that it has work.

use crate::tenant::Tenant;
use carrel_records::Failure;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
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

/// Tells this node that a job of the tenant has something to do. Only a hint, which may be lost: what is to be done is
/// in the database, and the job finds it when it is due.
pub fn hint(tenant: &Tenant, name: &'static str) {
    // Nobody listens where no jobs are done.
    let _ = tenant.hints.0.send((tenant.id.clone(), name));
}

/// Hints to the jobs of a node: tenant and name of the job.
#[derive(Clone)]
pub(crate) struct Hints(broadcast::Sender<(String, &'static str)>);

impl Hints {
    pub fn subscribe(&self) -> broadcast::Receiver<(String, &'static str)> {
        self.0.subscribe()
    }
}

impl Default for Hints {
    fn default() -> Self {
        Hints(broadcast::Sender::new(64))
    }
}

/// For whom a job runs.
pub struct Run {
    pub tenant: Arc<Tenant>,
}

/// A run; it says in a few words what it has done.
pub type Running = Pin<Box<dyn Future<Output = Result<String, Failure>> + Send>>;
