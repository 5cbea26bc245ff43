//! Who does the work: a node looks for rows that are due, takes a few, and keeps its word on them until they are done.

use super::declaration::{Job, Run};
use super::table::{self, Beat, Taken};
use super::timers::{RouteCall, TIMERS, Timer, TimerSetting};
use super::timing::{Next, Timing};
use crate::database::Connection;
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

/// How a node goes about it.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// How long a node's word holds without being renewed: what it takes until another one steps in.
    pub lease: Duration,
    /// The longest time between two looks at the table; work that another node wants soon waits so long.
    pub look: Duration,
    /// Runs at once.
    pub at_once: usize,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { lease: Duration::from_secs(30), look: Duration::from_secs(5), at_once: 2 }
    }
}

/// Waits this long at least between two looks.
const BREATH: Duration = Duration::from_millis(200);

/// A node at work; it stops on request, and when it is dropped.
pub struct Runner {
    /// Its name in the job table.
    pub node_id: Uuid,
    node: Arc<Node>,
    stop: watch::Sender<bool>,
    work: Option<JoinHandle<()>>,
}

/// Begins to do the jobs of all modules, and the timers that call routes, for all tenants.
pub fn start(node: &Arc<Node>) -> Runner {
    start_at(node, Pace::default())
}

/// The same at another pace.
pub fn start_at(node: &Arc<Node>, pace: Pace) -> Runner {
    run_on(node, Declared { jobs: node.jobs(), calls: true }, pace)
}

/// Begins to do these jobs only.
pub fn start_with(node: &Arc<Node>, jobs: Vec<&'static Job>, pace: Pace) -> Runner {
    run_on(node, Declared { jobs, calls: false }, pace)
}

/// What a node does.
#[derive(Clone)]
struct Declared {
    jobs: Vec<&'static Job>,
    /// Also the timers that call routes.
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
    // Before the first use case can give one.
    let hints = node.hints.subscribe();
    let work = tokio::spawn(work(Arc::clone(node), declared, pace, node_id, hints, stopped));
    Runner { node_id, node: Arc::clone(node), stop, work: Some(work) }
}

impl Runner {
    /// Gives up what is running and hands it back, so that another node does it at once.
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
        let room = pace.at_once.saturating_sub(running.len());
        let pause = match look(&node, &declared, pace, node_id, room, &mut entered).await {
            Ok((taken, pause)) => {
                for one in taken {
                    running.spawn(run(Arc::clone(&node), declared.clone(), pace, node_id, one));
                }
                pause
            }
            Err(failure) => {
                tracing::warn!("the job table cannot be read: {failure}");
                pace.look
            }
        };
        tokio::select! {
            _ = stopped.changed() => break,
            Some(_) = running.join_next(), if !running.is_empty() => {}
            Ok(hint) = hints.recv() => heed(&node, &declared, hint, &mut hints).await,
            () = tokio::time::sleep(pause) => {}
        }
    }
    // Dropping the set ends the runs; their transactions are undone.
}

/// Makes due what was hinted at, once those who hint have had time to commit.
async fn heed(
    node: &Arc<Node>,
    declared: &Declared,
    first: (String, &'static str),
    hints: &mut broadcast::Receiver<(String, &'static str)>,
) {
    tokio::time::sleep(BREATH).await;
    let mut wanted = HashSet::from([first]);
    while let Ok(hint) = hints.try_recv() {
        wanted.insert(hint);
    }
    let Ok(connection) = node.platform().await else { return };
    for (tenant, name) in wanted {
        let known = node.tenant(&tenant).is_some_and(|tenant| !tenant.profile.no_jobs);
        if known && declared.job(name).is_some() {
            // Not done soon, it is done when it is due.
            let _ = table::wake(&connection, &tenant, name).await;
        }
    }
}

/// Takes what is due, and says how long nothing will be.
async fn look(
    node: &Arc<Node>,
    declared: &Declared,
    pace: Pace,
    node_id: Uuid,
    room: usize,
    entered: &mut HashSet<String>,
) -> Result<(Vec<Taken>, Duration), Failure> {
    let connection = node.platform().await?;
    for tenant in node.tenants() {
        // A tenant made for a public test suite is left to the suite, which calls what it wants done.
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
    if room == 0 {
        return Ok((Vec::new(), pace.look));
    }
    let taken = table::take(&connection, node_id, &names, declared.calls, pace.lease, room).await?;
    let pause = match table::next_due(&connection, &names, declared.calls).await? {
        Some(due) => due.clamp(BREATH.min(pace.look), pace.look),
        None => pace.look,
    };
    Ok((taken, pause))
}

/// The timers of FOLIO's modules whose route this node answers and that no job backs.
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

/// What is to be done, and when it is declared to be due again.
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

/// A call of a timer that takes longer is given up.
const CALL_DEADLINE: Duration = Duration::from_secs(1_800);
/// A timer that cannot be understood is looked at again after this time.
const NOT_UNDERSTOOD: Duration = Duration::from_secs(3_600);

/// When the job is due after this run.
fn next(taken: &Taken, declared: &Declared) -> Next {
    if taken.setting.disabled {
        return Next::Never;
    }
    let job = || declared.job(&taken.name).map(|job| Next::Every(job.every));
    let timer = || TIMERS.iter().find(|timer| timer.job == taken.name).map(|timer| &timer.timing);
    let by = |timing: &Timing| timing.next(Timestamp::now()).unwrap_or(Next::Every(NOT_UNDERSTOOD));
    match &taken.setting.timing {
        timing if !timing.is_empty() => by(timing),
        _ => job().or_else(|| timer().map(by)).unwrap_or(Next::Every(NOT_UNDERSTOOD)),
    }
}

/// Does one job, and says in its row how it went.
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
    // In a task of its own, so that a panic in it is an outcome like any other; it ends with the set.
    let mut work = JoinSet::new();
    work.spawn(todo.run(Arc::clone(&node), tenant));
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

/// Renews the lease until the run is not ours any more.
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
            // Cut off from the database for as long as our word holds, we must believe that another one works.
            Err(_) if last.elapsed() >= pace.lease => return,
            Err(_) => {}
        }
    }
}
