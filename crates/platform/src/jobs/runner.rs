//! The runner of a node: it polls the job table for due rows, leases a few of them, and renews the leases while the jobs
//! run.

use super::declaration::{Job, Run};
use super::table::{self, Beat, Taken};
use super::timers::{RouteCall, TIMERS, Timer, TimerSetting};
use super::timing::{Next, Timing};
use crate::database::{Connection, in_background};
use crate::http::call_route;
use crate::node::Node;
use crate::tenant::Tenant;
use carrel_records::Failure;
use jiff::Timestamp;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, watch};
use tokio::task::{JoinHandle, JoinSet};
use uuid::Uuid;

/// Intervals and limits of a runner.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// A lease that is not renewed ends after this time, and another node may take the row.
    pub lease: Duration,
    /// Longest interval between two polls of the table. A job that another node requests starts within this time.
    pub poll: Duration,
    /// Maximum number of concurrent runs.
    pub at_once: usize,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { lease: Duration::from_secs(30), poll: Duration::from_secs(5), at_once: 2 }
    }
}

/// Shortest interval between two polls.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(200);

/// A running job runner; it stops on request or when it is dropped.
pub struct Runner {
    /// Its id in the job table.
    pub node_id: Uuid,
    node: Arc<Node>,
    stop: watch::Sender<bool>,
    work: Option<JoinHandle<()>>,
}

/// Starts a runner for the jobs of all modules and the timers that call routes, for all tenants.
pub fn start(node: &Arc<Node>) -> Runner {
    start_at(node, Pace::default())
}

/// As [`start`], with other intervals.
pub fn start_at(node: &Arc<Node>, pace: Pace) -> Runner {
    run_on(node, Declared { jobs: node.jobs(), calls: true }, pace)
}

/// Starts a runner for these jobs only.
pub fn start_with(node: &Arc<Node>, jobs: Vec<&'static Job>, pace: Pace) -> Runner {
    run_on(node, Declared { jobs, calls: false }, pace)
}

/// What a runner executes.
#[derive(Clone)]
struct Declared {
    jobs: Vec<&'static Job>,
    /// Whether it also executes the timers that call routes.
    calls: bool,
}

impl Declared {
    fn names(&self) -> Vec<&'static str> {
        self.jobs.iter().map(|job| job.name).collect()
    }

    fn job(&self, name: &str) -> Option<&'static Job> {
        self.jobs.iter().copied().find(|job| job.name == name)
    }
}

fn run_on(node: &Arc<Node>, declared: Declared, pace: Pace) -> Runner {
    let node_id = Uuid::new_v4();
    let (stop, stopped) = watch::channel(false);
    // Subscribed before this function returns, so that no later hint is missed.
    let hints = node.hints.subscribe();
    let work = tokio::spawn(work(Arc::clone(node), declared, pace, node_id, hints, stopped));
    Runner { node_id, node: Arc::clone(node), stop, work: Some(work) }
}

impl Runner {
    /// Cancels the running jobs and releases their rows, so that another node can take them immediately.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        if let Some(work) = self.work.take() {
            let _ = work.await;
        }
        let given = match self.node.platform().await {
            Ok(connection) => table::give_back(&connection, self.node_id).await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = given {
            tracing::info!("jobs of this node wait for the end of their lease: {failure}");
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            work.abort();
        }
    }
}

async fn work(
    node: Arc<Node>,
    declared: Declared,
    pace: Pace,
    node_id: Uuid,
    mut hints: broadcast::Receiver<(String, &'static str)>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut entered = HashSet::new();
    let mut running: JoinSet<()> = JoinSet::new();
    loop {
        while running.try_join_next().is_some() {}
        let free = pace.at_once.saturating_sub(running.len());
        let pause = match poll(&node, &declared, pace, node_id, free, &mut entered).await {
            Ok((taken, pause)) => {
                for one in taken {
                    running.spawn(run(Arc::clone(&node), declared.clone(), pace, node_id, one));
                }
                pause
            }
            Err(failure) => {
                tracing::warn!("the job table cannot be read: {failure}");
                pace.poll
            }
        };
        tokio::select! {
            _ = stopped.changed() => break,
            Some(_) = running.join_next(), if !running.is_empty() => {}
            Ok(hint) = hints.recv() => apply_hints(&node, &declared, hint, &mut hints).await,
            () = tokio::time::sleep(pause) => {}
        }
    }
    // Dropping the set cancels the runs; their transactions are rolled back.
}

/// Makes the hinted jobs due, after a delay in which the transactions that sent the hints can commit.
async fn apply_hints(
    node: &Arc<Node>,
    declared: &Declared,
    first: (String, &'static str),
    hints: &mut broadcast::Receiver<(String, &'static str)>,
) {
    tokio::time::sleep(SHORTEST_INTERVAL).await;
    let mut wanted = HashSet::from([first]);
    while let Ok(hint) = hints.try_recv() {
        wanted.insert(hint);
    }
    let Ok(connection) = node.platform().await else { return };
    for (tenant, name) in wanted {
        let known = node.tenant(&tenant).is_some_and(|tenant| !tenant.profile.no_jobs);
        if known && declared.job(name).is_some() {
            // If this fails, the job runs at its regular time.
            let _ = table::wake(&connection, &tenant, name).await;
        }
    }
}

/// Leases due rows; also returns the time until the next poll.
async fn poll(
    node: &Arc<Node>,
    declared: &Declared,
    pace: Pace,
    node_id: Uuid,
    free: usize,
    entered: &mut HashSet<String>,
) -> Result<(Vec<Taken>, Duration), Failure> {
    let connection = node.platform().await?;
    for tenant in node.tenants() {
        // Public test suites call the routes of jobs themselves.
        if tenant.profile.no_jobs || entered.contains(&tenant.id) {
            continue;
        }
        if declared.calls {
            let current = timers_that_call(node, declared).into_iter().map(|(timer, _)| timer.job.clone());
            let names = declared.names();
            table::drop_superseded_calls(&connection, &tenant.id, &names, current.collect()).await?;
        }
        for job in &declared.jobs {
            table::enter(&connection, &tenant.id, job.name, job.every, None).await?;
        }
        if declared.calls {
            let calling = timers_that_call(node, declared);
            for (timer, call) in calling {
                enter_timer(&connection, &tenant.id, timer, call).await?;
            }
        }
        entered.insert(tenant.id.clone());
    }
    let names = declared.names();
    if free == 0 {
        return Ok((Vec::new(), pace.poll));
    }
    let taken = table::take(&connection, node_id, &names, declared.calls, pace.lease, free).await?;
    let pause = match table::next_due(&connection, &names, declared.calls).await? {
        Some(due) => due.clamp(SHORTEST_INTERVAL.min(pace.poll), pace.poll),
        None => pace.poll,
    };
    Ok((taken, pause))
}

/// The timers of FOLIO's modules whose route this node serves and that no job implements.
fn timers_that_call(node: &Node, declared: &Declared) -> Vec<(&'static Timer, RouteCall)> {
    let Some(app) = node.app() else { return Vec::new() };
    TIMERS
        .iter()
        .filter(|timer| app.router.answers(timer.method, timer.path))
        .filter_map(|timer| Some((timer, timer.call(&declared.jobs)?)))
        .collect()
}

async fn enter_timer(
    connection: &Connection,
    tenant: &str,
    timer: &Timer,
    call: RouteCall,
) -> Result<(), Failure> {
    let setting = TimerSetting { call: Some(call), ..TimerSetting::default() };
    let first = match timer.timing.next(Timestamp::now()) {
        Ok(Next::Every(time) | Next::In(time)) => time,
        Ok(Next::Never) | Err(_) => return Ok(()),
    };
    table::enter(connection, tenant, &timer.job, first, Some(&setting)).await
}

/// What a due row executes.
enum Work {
    Job(&'static Job),
    Call(RouteCall),
}

impl Work {
    fn of(taken: &Taken, declared: &Declared) -> Option<Work> {
        let call = taken.setting.call.clone().map(Work::Call);
        call.or_else(|| declared.job(&taken.name).map(Work::Job))
    }

    fn deadline(&self) -> Duration {
        match self {
            Work::Job(job) => job.deadline,
            Work::Call(_) => CALL_DEADLINE,
        }
    }

    async fn run(self, node: Arc<Node>, tenant: Arc<Tenant>) -> Result<String, Failure> {
        match self {
            Work::Job(job) => (job.run)(Run { tenant }).await,
            Work::Call(call) => {
                let app = node.app().ok_or_else(|| Failure::internal("this node answers no calls"))?;
                let user = call.user_timer.as_ref().map(|timer| timer.user_id);
                let answer = call_route(&app, &tenant, &call.method, &call.path, user).await?;
                Ok(format!("answered {}", answer.status))
            }
        }
    }
}

/// A timer's call that takes longer is cancelled.
const CALL_DEADLINE: Duration = Duration::from_secs(1_800);
/// Interval of a timer whose setting is invalid.
const INVALID_TIMING: Duration = Duration::from_secs(3_600);

/// The next due time after this run.
fn next(taken: &Taken, declared: &Declared) -> Next {
    if taken.setting.disabled {
        return Next::Never;
    }
    let job = || declared.job(&taken.name).map(|job| Next::Every(job.every));
    let timer = || TIMERS.iter().find(|timer| timer.job == taken.name).map(|timer| &timer.timing);
    let by = |timing: &Timing| timing.next(Timestamp::now()).unwrap_or(Next::Every(INVALID_TIMING));
    match &taken.setting.timing {
        timing if !timing.is_empty() => by(timing),
        _ => job().or_else(|| timer().map(by)).unwrap_or(Next::Every(INVALID_TIMING)),
    }
}

/// Runs one job and stores the outcome in its row.
async fn run(node: Arc<Node>, declared: Declared, pace: Pace, node_id: Uuid, taken: Taken) {
    let Some(todo) = Work::of(&taken, &declared) else { return };
    let tenant = match node.find_tenant(&taken.tenant).await {
        Ok(Some(tenant)) => tenant,
        Ok(None) => {
            if let Ok(connection) = node.platform().await {
                let _ = table::forget(&connection, &taken.tenant).await;
            }
            return;
        }
        Err(failure) => {
            tracing::warn!(tenant = taken.tenant, "job {} waits: {failure}", taken.name);
            return;
        }
    };
    let deadline = todo.deadline();
    // In a separate task, so that a panic is an outcome like any other failure; dropping the set cancels it.
    let mut work = JoinSet::new();
    work.spawn(in_background(todo.run(Arc::clone(&node), tenant)));
    let outcome = tokio::select! {
        Some(done) = work.join_next() => match done {
            Ok(Ok(words)) => Ok(words),
            Ok(Err(failure)) => Err(failure.to_string()),
            Err(broken) => Err(format!("the run broke off: {broken}")),
        },
        () = tokio::time::sleep(deadline) => Err(format!("given up after {} seconds", deadline.as_secs())),
        () = keep_lease(&node, pace, node_id, &taken) => Err("cancelled, or taken over by another node".to_owned()),
    };
    work.shutdown().await;
    if let Err(words) = &outcome {
        tracing::warn!(tenant = taken.tenant, "job {} failed: {words}", taken.name);
    }
    let ended = match node.platform().await {
        Ok(connection) => table::end(&connection, node_id, &taken, next(&taken, &declared), &outcome).await,
        Err(failure) => Err(failure),
    };
    if let Err(failure) = ended {
        tracing::warn!(tenant = taken.tenant, "the end of job {} cannot be noted: {failure}", taken.name);
    }
}

/// Renews the lease; returns when this node no longer holds it.
async fn keep_lease(node: &Arc<Node>, pace: Pace, node_id: Uuid, taken: &Taken) {
    let mut last = Instant::now();
    loop {
        tokio::time::sleep(pace.lease / 3).await;
        let beat = match node.platform().await {
            Ok(connection) => table::beat(&connection, node_id, taken, pace.lease).await,
            Err(failure) => Err(failure),
        };
        match beat {
            Ok(Beat::Ours) => last = Instant::now(),
            Ok(Beat::Stop) => return,
            // Without the database for the time of a lease: another node may have taken the row.
            Err(_) if last.elapsed() >= pace.lease => return,
            Err(_) => {}
        }
    }
}
