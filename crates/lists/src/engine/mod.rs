//! The engine of lists: refreshes, queries and exports, run by a few workers of each node.
//!
//! A job is a row of `list_job` in its tenant's schema; tenant and user are stored with it. A node takes a row, renews
//! its lease during the work, and publishes the result by one update of the list. If the node dies, another one takes
//! the row, and the first attempt has no visible effect. A new result is stored separately from the old one, so a list
//! can be read during a refresh, and keeps its contents if the refresh fails.

pub mod jobs;
pub mod maintenance;
pub mod results;
mod run;
mod turns;

use carrel_platform::{Node, Tenant};
use carrel_records::Failure;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use turns::Turns;
use uuid::Uuid;

/// The options of lists on this node, from its configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Records of a list, at most.
    pub max_size: i64,
    /// A refresh is shown as running for at least this time, so that clients can see it.
    pub visible_for: Duration,
    /// Concurrent jobs on this node.
    pub workers: usize,
    /// A longer query is aborted.
    pub deadline: Duration,
}

impl Default for Options {
    fn default() -> Options {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Options {
            max_size: 1_250_000,
            visible_for: Duration::from_millis(1_000),
            workers: cores.clamp(2, 4),
            deadline: Duration::from_secs(90 * 60),
        }
    }
}

/// The workers of a node.
pub struct Engine {
    /// The node's name in the job table.
    owner: Uuid,
    options: OnceLock<Options>,
    turns: Mutex<Turns>,
    /// Running jobs, each with the signal for its cancellation.
    running: Mutex<HashMap<Uuid, Arc<Notify>>>,
    stopping: AtomicBool,
}

impl Default for Engine {
    fn default() -> Engine {
        Engine {
            owner: Uuid::new_v4(),
            options: OnceLock::new(),
            turns: Mutex::default(),
            running: Mutex::default(),
            stopping: AtomicBool::new(false),
        }
    }
}

/// The engine of a node.
pub fn of(node: &Node) -> Arc<Engine> {
    node.state.of::<Engine>()
}

/// Sets the options of lists, before the first job.
pub fn configure(node: &Node, options: Options) {
    // A second configuration of a node has no effect.
    let _ = of(node).options.set(options);
}

/// Looks for jobs that other nodes, or this one before it was killed, have left unfinished.
pub fn start(node: &Arc<Node>) {
    let node = Arc::downgrade(node);
    tokio::spawn(async move {
        // Now, and again when the leases of a node that was killed recently have ended.
        for wait in [Duration::ZERO, jobs::LEASE + Duration::from_secs(1)] {
            tokio::time::sleep(wait).await;
            let Some(node) = node.upgrade() else { return };
            for tenant in node.tenants() {
                submit(&node, &tenant.id);
            }
        }
    });
}

/// Stops the workers and releases their jobs.
pub async fn stop(node: &Arc<Node>) {
    let engine = of(node);
    engine.stopping.store(true, Relaxed);
    let waiting: Vec<Arc<Notify>> =
        engine.running.lock().expect("no holder of this lock panics").values().cloned().collect();
    for notify in waiting {
        notify.notify_one();
    }
    for tenant in node.tenants() {
        let given = match tenant.writer().await {
            Ok(connection) => jobs::give_back(&connection, engine.owner, None).await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = given {
            tracing::info!(
                "list jobs of this node could not be released and continue when their lease ends: {failure}"
            );
        }
    }
}

/// The node that runs jobs for this tenant.
#[derive(Default)]
struct NodeOfTenant(OnceLock<Weak<Node>>);

fn node_of(tenant: &Tenant) -> Option<Arc<Node>> {
    tenant.state.of::<NodeOfTenant>().0.get()?.upgrade()
}

/// Signals that a tenant has a job; must be called after the job's transaction has committed.
pub fn submit(node: &Arc<Node>, tenant: &str) {
    if let Some(known) = node.tenant(tenant) {
        known.state.of::<NodeOfTenant>().0.get_or_init(|| Arc::downgrade(node));
    }
    let engine = of(node);
    engine.turns.lock().expect("no holder of this lock panics").submitted(tenant);
    engine.start_workers(node);
}

impl Engine {
    pub fn options(&self) -> Options {
        *self.options.get_or_init(Options::default)
    }

    /// Ends a run on this node at once; on another node its heartbeat does.
    pub fn cancelled(&self, job: Uuid) {
        let running = self.running.lock().expect("no holder of this lock panics");
        if let Some(notify) = running.get(&job) {
            notify.notify_one();
        }
    }

    fn start_workers(self: &Arc<Engine>, node: &Arc<Node>) {
        loop {
            if self.stopping.load(Relaxed) {
                return;
            }
            let next = self.turns.lock().expect("no holder of this lock panics").next(self.options().workers);
            let Some((tenant, submissions)) = next else { return };
            let (engine, node) = (Arc::clone(self), Arc::clone(node));
            tokio::spawn(async move {
                let turn = Turn { engine: &engine, tenant: &tenant };
                if let Err(failure) = engine.work(&node, &tenant, submissions).await {
                    tracing::warn!(tenant, "list jobs of {tenant} cannot be taken: {failure}");
                    // The next maintenance run repeats it.
                    engine
                        .turns
                        .lock()
                        .expect("no holder of this lock panics")
                        .nothing_to_do(&tenant, submissions);
                }
                drop(turn);
                engine.start_workers(&node);
            });
        }
    }

    /// Runs one job of the tenant.
    async fn work(
        self: &Arc<Engine>,
        node: &Arc<Node>,
        tenant: &str,
        submissions: u64,
    ) -> Result<(), Failure> {
        let found = node.find_tenant(tenant).await?;
        let taken = match &found {
            Some(tenant) => jobs::take(tenant, self.owner).await?,
            None => Vec::new(),
        };
        let (Some(tenant), false) = (found, taken.is_empty()) else {
            self.turns.lock().expect("no holder of this lock panics").nothing_to_do(tenant, submissions);
            return Ok(());
        };
        run::run(self, node, &tenant, taken).await;
        Ok(())
    }

    fn register(self: &Arc<Engine>, jobs: &[Uuid]) -> Registered {
        let notify = Arc::new(Notify::new());
        let mut running = self.running.lock().expect("no holder of this lock panics");
        for job in jobs {
            running.insert(*job, Arc::clone(&notify));
        }
        Registered { engine: Arc::clone(self), jobs: jobs.to_vec(), notify }
    }
}

/// An occupied worker; dropping it frees the worker, even after a panic.
struct Turn<'a> {
    engine: &'a Engine,
    tenant: &'a str,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.engine.turns.lock().expect("no holder of this lock panics").free(self.tenant);
    }
}

/// Registered jobs, which can be notified of their cancellation.
struct Registered {
    engine: Arc<Engine>,
    jobs: Vec<Uuid>,
    notify: Arc<Notify>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut running = self.engine.running.lock().expect("no holder of this lock panics");
        for job in &self.jobs {
            running.remove(job);
        }
    }
}

/// The node's engine and options for a call.
pub fn of_call(node: &Arc<Node>) -> (Arc<Engine>, Options) {
    let engine = of(node);
    let options = engine.options();
    (engine, options)
}

/// When a job is read, checks whether the node that runs it has died.
pub fn nudge(node: &Arc<Node>, tenant: &Tenant, job: &jobs::Job) {
    if job.is_open() {
        submit(node, &tenant.id);
    }
}
