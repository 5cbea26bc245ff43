//! Work that a node does for every tenant again and again, beside the calls it answers: a round for a tenant, then a
//! pause, then the next round. A tenant has one round at a time; a round that fails or panics is followed by another.

use crate::database::in_background;
use crate::{Node, Tenant};
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::{Id, JoinError, JoinHandle, JoinSet};

/// Tenants that have a round at once.
const CONCURRENT_TENANTS: usize = 8;
/// Time between two searches for tenants whose pause is over.
const INTERVAL: Duration = Duration::from_secs(1);
/// Pause after a round that panicked.
const AFTER_PANIC: Duration = Duration::from_secs(5);

/// Rounds of one kind of work, at most one task of a node.
#[derive(Default)]
pub struct TenantRounds {
    wake: Notify,
    woken: Mutex<HashSet<String>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl TenantRounds {
    /// Starts the rounds, in place of those that were started before. `round` gives the pause until the tenant's next one.
    pub fn start<F, R>(self: &Arc<Self>, node: &Arc<Node>, round: F)
    where
        F: Fn(Arc<Tenant>) -> R + Send + 'static,
        R: Future<Output = Duration> + Send + 'static,
    {
        let task = tokio::spawn(run(Arc::clone(node), Arc::clone(self), round));
        if let Some(before) = self.task.lock().expect("no holder of this lock panics").replace(task) {
            before.abort();
        }
    }

    /// Stops; rounds under way are dropped.
    pub fn stop(&self) {
        if let Some(task) = self.task.lock().expect("no holder of this lock panics").take() {
            task.abort();
        }
    }

    /// Ends the pause of a tenant.
    pub fn wake(&self, tenant: &str) {
        self.woken.lock().expect("no holder of this lock panics").insert(tenant.to_owned());
        self.wake.notify_one();
    }
}

async fn run<F, R>(node: Arc<Node>, rounds: Arc<TenantRounds>, round: F)
where
    F: Fn(Arc<Tenant>) -> R,
    R: Future<Output = Duration> + Send + 'static,
{
    let mut next: HashMap<String, Instant> = HashMap::new();
    let mut under_way: HashMap<Id, String> = HashMap::new();
    let mut tasks: JoinSet<Duration> = JoinSet::new();
    loop {
        for tenant in std::mem::take(&mut *rounds.woken.lock().expect("no holder of this lock panics")) {
            next.insert(tenant, Instant::now());
        }
        for tenant in node.tenants() {
            let is_due = next.get(&tenant.id).is_none_or(|next| *next <= Instant::now());
            let is_under_way = under_way.values().any(|id| *id == tenant.id);
            if !is_due || is_under_way || tasks.len() >= CONCURRENT_TENANTS {
                continue;
            }
            let id = tenant.id.clone();
            under_way.insert(tasks.spawn(in_background(round(tenant))).id(), id);
        }
        tokio::select! {
            Some(ended) = tasks.join_next_with_id(), if !tasks.is_empty() => {
                let (task, pause) = pause_after(ended);
                if let Some(tenant) = under_way.remove(&task) {
                    next.insert(tenant, Instant::now() + pause);
                }
            }
            () = rounds.wake.notified() => {}
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

fn pause_after(ended: Result<(Id, Duration), JoinError>) -> (Id, Duration) {
    ended.unwrap_or_else(|error| {
        tracing::error!("a round for a tenant broke off: {error}");
        (error.id(), AFTER_PANIC)
    })
}
