//! The declaration of a job, and hints that a job has work.

use crate::tenant::Tenant;
use carrel_records::Failure;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;

/// Work that is done regularly for each tenant.
pub struct Job {
    /// A term of the field in kebab case: `request-expiration`.
    pub name: &'static str,
    /// Time between the starts of two runs.
    pub every: Duration,
    /// A run that takes longer is cancelled; the job runs again when it is next due.
    pub deadline: Duration,
    pub run: fn(Run) -> Running,
}

/// Hints to this node's runner that a job of the tenant has work. A hint may be lost: the work itself is stored in the
/// database, and the job finds it when it is next due.
pub fn hint(tenant: &Tenant, name: &'static str) {
    // An error means that this node has no runner.
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

/// The context of a run.
pub struct Run {
    pub tenant: Arc<Tenant>,
}

/// A run; its result is a short message for operators.
pub type Running = Pin<Box<dyn Future<Output = Result<String, Failure>> + Send>>;
