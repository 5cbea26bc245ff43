//! Plays the workloads of a level.
//!
//! Open: turns start by a schedule, regardless of earlier ones. Each takes a free user with an open connection, or
//! a new one; its time counts from the planned moment, so that a stalled server cannot hide the turns that wait
//! meanwhile. Closed: every user does one thing after the other.

use super::recorder::Recorder;
use super::turn::VirtualUser;
use super::{Login, Mode, Workload};
use crate::client::{Address, Connection, Credentials, Session};
use crate::error::{LabError, Result};
use crate::random::RandomSequence;
use crate::schedule::release_at;
use http::HeaderMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::task::JoinSet;

/// After the end or Ctrl-C, running turns have this long to finish.
const GRACE: Duration = Duration::from_secs(5);

/// A request to end the run early.
#[derive(Debug, Default)]
pub struct Stop {
    is_asked: AtomicBool,
    notify: Notify,
}

impl Stop {
    /// Ends the run.
    pub fn ask(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
        self.notify.notify_waiters();
    }

    /// Whether the run is to end.
    pub fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed)
    }

    /// Waits until the run is to end.
    pub async fn asked(&self) {
        let notified = self.notify.notified();
        if !self.is_asked() {
            notified.await;
        }
    }
}

/// Limits the calls per second of all users.
#[derive(Debug, Default)]
pub struct RateCap {
    gap: Option<Duration>,
    next: Mutex<Option<Instant>>,
}

impl RateCap {
    /// A cap, or none.
    pub fn new(per_second: Option<f64>) -> RateCap {
        let gap = per_second.map(|rate| Duration::from_secs_f64(1.0 / rate.max(0.001)));
        RateCap { gap, next: Mutex::new(None) }
    }

    /// Waits until the call may be sent.
    pub async fn wait(&self) {
        let Some(gap) = self.gap else { return };
        let place = {
            let mut next = self.next.lock().expect("no holder of this lock panics");
            let place = next.unwrap_or_else(Instant::now).max(Instant::now());
            *next = Some(place + gap);
            place
        };
        tokio::time::sleep_until(place.into()).await;
    }
}

/// The login that the users of a tenant share.
pub struct TenantLogin {
    session: tokio::sync::Mutex<(Connection, Session)>,
}

impl TenantLogin {
    /// Logs in.
    pub async fn new(address: &Address, credentials: &Credentials) -> Result<TenantLogin> {
        let mut connection = Connection::new(address.clone());
        let session = Session::login(&mut connection, credentials.clone()).await?;
        Ok(TenantLogin { session: tokio::sync::Mutex::new((connection, session)) })
    }

    /// The headers of a valid login.
    pub async fn headers(&self) -> Arc<HeaderMap> {
        let mut login = self.session.lock().await;
        let (connection, session) = &mut *login;
        // If the login fails, the call is refused and counted.
        let _ = session.renew(connection).await;
        session.headers()
    }

    /// The session and its connection, for calls that are not measured.
    pub async fn clerk(&self) -> tokio::sync::MutexGuard<'_, (Connection, Session)> {
        self.session.lock().await
    }
}

/// A tenant in a level of a workload.
pub struct TenantStage {
    /// Its name in the report.
    pub name: String,
    /// Who logs in.
    pub credentials: Credentials,
    /// Headers of calls before a login.
    pub without_login: Arc<HeaderMap>,
    /// The shared login.
    pub login: Arc<TenantLogin>,
    /// The rows of each variable.
    pub rows: BTreeMap<String, Vec<String>>,
    /// The service point of the scans, and the items that were lent for the level.
    pub lent: Option<(String, Vec<String>)>,
    /// How many turns have begun.
    pub turns: AtomicUsize,
    /// Rows that calls have collected.
    pub collected: Mutex<BTreeMap<String, Vec<String>>>,
}

impl TenantStage {
    /// The headers of the shared login.
    pub async fn session(&self) -> Arc<HeaderMap> {
        self.login.headers().await
    }

    /// Stores the rows that a call has collected.
    pub fn collect(&self, found: Vec<(String, String)>) {
        if found.is_empty() {
            return;
        }
        let mut collected = self.collected.lock().expect("collecting does not panic");
        for (variable, value) in found {
            collected.entry(variable).or_default().push(value);
        }
    }

    /// The rows of a variable for a step: collected ones, or those of the data that a turn used.
    pub fn used_rows(&self, variable: &str) -> Vec<String> {
        if let Some(rows) = self.collected.lock().expect("collecting does not panic").get(variable) {
            return rows.clone();
        }
        let used = self.turns.load(Ordering::Relaxed);
        let rows: BTreeSet<&String> = self.rows.get(variable).into_iter().flatten().take(used).collect();
        rows.into_iter().cloned().collect()
    }
}

/// A workload in a level.
pub struct PartStage {
    /// Its number among the workloads that are played at once.
    pub number: u64,
    /// The workload.
    pub workload: Workload,
    /// Number of users.
    pub users: usize,
    /// Address of the API.
    pub address: Address,
    /// The tenants; users are dealt out to them in turn.
    pub tenants: Vec<Arc<TenantStage>>,
    /// Records the times.
    pub recorder: Arc<Recorder>,
    /// Ends the run.
    pub stop: Arc<Stop>,
    /// Calls per second, at most.
    pub cap: Arc<RateCap>,
    /// Pauses are divided by this and arrivals multiplied with it.
    pub pace: f64,
    /// From one user's start to the next one's.
    pub ramp_up: Duration,
    /// Length of the level.
    pub length: Duration,
    /// Turns under way at once in an open load, at most.
    pub most_users: usize,
    /// Decides transactions and pauses.
    pub seed: u64,
}

impl PartStage {
    fn tenant_of(&self, user: u64) -> &Arc<TenantStage> {
        &self.tenants[user as usize % self.tenants.len()]
    }

    /// Arrivals per second of an open load after ramp-up.
    pub fn rate(&self) -> f64 {
        self.users as f64 * self.workload.load.per_minute / 60.0 * self.pace
    }
}

/// Plays a workload until its time is over.
pub async fn play_part(part: Arc<PartStage>) -> Result<()> {
    match part.workload.load.mode {
        Mode::Open => play_open(part).await,
        Mode::Closed => play_closed(part).await,
    }
}

async fn play_open(part: Arc<PartStage>) -> Result<()> {
    let arrivals = Arrivals {
        rate: part.rate(),
        ramp_up: (part.ramp_up * part.users as u32).min(part.length / 2).as_secs_f64(),
        random: part
            .workload
            .load
            .random_arrivals
            .then(|| RandomSequence::new(part.seed, 1 << 32, part.number)),
        passed: 0.0,
    };
    let start = Instant::now() + Duration::from_millis(2);
    let (send, mut receive) = mpsc::unbounded_channel();
    let (length, stop) = (part.length.as_secs_f64(), part.stop.clone());
    let dues = arrivals.take_while(move |due| *due < length && !stop.is_asked());
    release_at(start, dues.map(Duration::from_secs_f64), move |due| send.send(due).is_ok());

    let free: Arc<Mutex<Vec<VirtualUser>>> = Arc::default();
    let places = Arc::new(Semaphore::new(part.most_users));
    let mut turns = JoinSet::new();
    let mut number = 0;
    loop {
        let due = tokio::select! {
            due = receive.recv() => due,
            () = part.stop.asked() => None,
        };
        let Some(due) = due else { break };
        let tenant = part.tenant_of(number).clone();
        let (part, free, places) = (part.clone(), free.clone(), places.clone());
        number += 1;
        turns.spawn(async move {
            let is_full = places.available_permits() == 0;
            let Ok(_place) = places.acquire_owned().await else { return };
            let idle = {
                let mut free = free.lock().expect("taking a user does not panic");
                let index = free.iter().rposition(|user| Arc::ptr_eq(&user.tenant, &tenant));
                index.map(|index| free.swap_remove(index))
            };
            let mut user = idle.unwrap_or_else(|| VirtualUser::new(&part, &tenant, number));
            if !is_full {
                part.recorder.late(due.elapsed());
            }
            user.turn(&part, due).await;
            free.lock().expect("giving a user back does not panic").push(user);
        });
        while turns.try_join_next().is_some() {}
    }
    join(turns, &part.stop).await
}

async fn play_closed(part: Arc<PartStage>) -> Result<()> {
    let end = Instant::now() + part.length;
    let mut users = JoinSet::new();
    for number in 0..part.users as u64 {
        let part = part.clone();
        users.spawn(async move {
            let mut user = VirtualUser::new(&part, part.tenant_of(number), number);
            part.stop.pause((part.ramp_up * number as u32).min(part.length)).await;
            if part.workload.load.login == Login::Each {
                let login = Session::login(&mut user.connection, user.tenant.credentials.clone()).await;
                match login {
                    Ok(session) => user.own_session = Some(session),
                    Err(error) => eprintln!("{error}; the user goes on with the tenant's login"),
                }
            }
            let most = part.workload.load.turns.unwrap_or(u64::MAX);
            for _ in 0..most {
                if Instant::now() >= end || part.stop.is_asked() {
                    break;
                }
                user.turn(&part, Instant::now()).await;
            }
        });
    }
    join(users, &part.stop).await
}

/// Waits for the running turns; after Ctrl-C only briefly.
async fn join(mut tasks: JoinSet<()>, stop: &Stop) -> Result<()> {
    loop {
        let joined = tokio::select! {
            joined = tasks.join_next() => joined,
            () = async { stop.asked().await; tokio::time::sleep(GRACE).await } => {
                tasks.abort_all();
                return Ok(());
            }
        };
        match joined {
            None => return Ok(()),
            Some(Ok(())) => {}
            Some(Err(error)) => return Err(LabError::new(format!("a virtual user panicked: {error}"))),
        }
    }
}

/// Times of the arrivals in seconds from the start: the rate increases linearly during ramp-up and is constant
/// afterwards.
struct Arrivals {
    rate: f64,
    ramp_up: f64,
    random: Option<RandomSequence>,
    /// Arrivals so far, in means.
    passed: f64,
}

impl Iterator for Arrivals {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        let passed = self.passed;
        self.passed += match &mut self.random {
            None => 1.0,
            Some(random) => -(1.0 - random.fraction()).ln(),
        };
        let in_ramp_up = self.rate * self.ramp_up / 2.0;
        Some(if passed < in_ramp_up {
            (2.0 * self.ramp_up * passed / self.rate).sqrt()
        } else {
            self.ramp_up + (passed - in_ramp_up) / self.rate
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(random: Option<RandomSequence>) -> Arrivals {
        Arrivals { rate: 100.0, ramp_up: 2.0, random, passed: 0.0 }
    }

    #[test]
    fn the_rate_grows_evenly_during_ramp_up() {
        let within =
            |from: f64, to: f64| arrivals(None).take(2000).filter(|at| (from..to).contains(at)).count();
        assert_eq!(within(0.0, 1.0), 25, "a quarter of the ramp-up's hundred");
        assert_eq!(within(1.0, 2.0), 75);
        assert_eq!(within(2.0, 3.0), 100);
    }

    #[test]
    fn random_arrivals_have_the_same_mean_rate() {
        let random = Some(RandomSequence::new(1, 2, 3));
        let within = arrivals(random).take_while(|at| *at < 22.0).count();
        assert!((1900..2300).contains(&within), "{within} of 2100");
    }

    #[tokio::test]
    async fn a_cap_spaces_calls() {
        let cap = RateCap::new(Some(100.0));
        let begun = Instant::now();
        for _ in 0..6 {
            cap.wait().await;
        }
        assert!(begun.elapsed() >= Duration::from_millis(50));
    }
}
