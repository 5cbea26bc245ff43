//! `carrel lab play`: plays a workload at each number of users, with the floor before and after each level, and returns
//! the figures for the report.

use super::engine::{PartStage, RateCap, Stop, TenantLogin, TenantStage, play_part};
use super::level::LevelFigures;
use super::recorder::Recorder;
use super::source::Most;
use super::turn::VirtualUser;
use super::{Form, Mode, Source, Workload, source, steps};
use crate::cico::return_items;
use crate::client::{Address, Credentials, headers_without_login};
use crate::error::{LabError, Result};
use crate::floor::Floor;
use crate::live::{LivePage, LiveSecond};
use crate::observe::{Watch, WatchOptions};
use crate::player::{Tempo, on_own_thread};
use crate::report::{About, DataSize, PlayReport};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Options of `carrel lab play`.
#[derive(Debug, Clone)]
pub struct PlayOptions {
    /// The workload.
    pub workload: Workload,
    /// Numbers of users, length, pace.
    pub form: Form,
    /// How often each level is played; the spread of the repeats is the noise.
    pub repeats: usize,
    /// Address of the API, `http://host:port`.
    pub address: String,
    /// Who logs in; an entry for each tenant.
    pub tenants: Vec<Credentials>,
    /// Maximum number of items used.
    pub most_items: usize,
    /// Maximum number of users and other records used.
    pub most_records: usize,
    /// Calls per second, at most.
    pub most_per_second: Option<f64>,
    /// Turns under way at once in an open load, at most.
    pub most_users: usize,
    /// Whether steps that change data after a level are done.
    pub clean_up: bool,
    /// Plays each transaction once, shows every call, and measures nothing.
    pub dry_run: bool,
    /// The server's database and `pgbench`, for the floor.
    pub floor: Option<(String, PathBuf)>,
    /// What to observe.
    pub watch: WatchOptions,
    /// The port of a page that shows the run while it goes on; 0 takes a free one.
    pub live: Option<u16>,
    /// Decides transactions and pauses.
    pub seed: u64,
    /// Version of the program under test, for the report.
    pub commit: Option<String>,
    /// The command, for the report.
    pub command: String,
    /// How the run's data or server differ from other runs, for the report.
    pub condition: String,
}

/// Plays the workload. Ctrl-C ends it early; the figures so far are returned.
pub async fn play(options: PlayOptions) -> Result<PlayReport> {
    let stop = Arc::new(Stop::default());
    let asked = stop.clone();
    let interrupt = tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            eprintln!("\nending early; the report is still written");
            asked.ask();
        }
    });
    let report =
        on_own_thread(move || async move { Run::open(options, stop).await?.all_levels().await }).await;
    interrupt.abort();
    report
}

struct Run {
    options: PlayOptions,
    address: Address,
    stop: Arc<Stop>,
    cap: Arc<RateCap>,
    logins: Vec<Arc<TenantLogin>>,
    live: Option<LivePage>,
}

/// The workloads of one level.
type Stage = Vec<Arc<PartStage>>;

impl Run {
    async fn open(options: PlayOptions, stop: Arc<Stop>) -> Result<Run> {
        let wanted = options.workload.tenants();
        if options.tenants.len() < wanted {
            let there = options.tenants.len();
            return Err(LabError::new(format!(
                "{} needs {wanted} tenants, {there} given",
                options.workload.name
            )));
        }
        let address = Address::parse(&options.address)?;
        let mut logins = Vec::new();
        for credentials in &options.tenants[..wanted] {
            logins.push(Arc::new(TenantLogin::new(&address, credentials).await?));
        }
        let cap = Arc::new(RateCap::new(options.most_per_second));
        let live = options.live.map(LivePage::open).transpose()?;
        if let Some(live) = &live {
            eprintln!("watch the run at {}", live.url());
        }
        Ok(Run { options, address, stop, cap, logins, live })
    }

    async fn all_levels(self) -> Result<PlayReport> {
        let before = self.data_size().await?;
        let (form, workload) = (&self.options.form, &self.options.workload);
        if self.options.dry_run {
            self.dry_run().await?;
        }
        let mut floor = match &self.options.floor {
            Some((database, pgbench)) if !self.options.dry_run => {
                Some(Floor::open(database, pgbench, before.items.max(1), before.users.max(1)).await?)
            }
            _ => None,
        };
        let mut levels = Vec::new();
        let mut failure = None;
        let users = if self.options.dry_run { Vec::new() } else { workload.levels(form) };
        for users in users {
            if self.stop.is_asked() {
                break;
            }
            let mut level = LevelFigures { users, ..LevelFigures::default() };
            for repeat in 0..self.options.repeats.max(1) {
                if self.stop.is_asked() {
                    break;
                }
                eprintln!(
                    "{}: {users} users, run {} of {}",
                    workload.name,
                    repeat + 1,
                    self.options.repeats.max(1)
                );
                if let Err(error) = self.level(&mut level, floor.as_mut(), repeat as u64).await {
                    failure = Some(error);
                    break;
                }
            }
            levels.push(level);
            if failure.is_some() {
                break;
            }
        }
        let database = floor.as_ref().map(|floor| floor.server().to_string());
        if let Some(floor) = floor {
            floor.close().await?;
        }
        // Keep the figures measured before the failure.
        match failure {
            Some(error) if levels.iter().all(|level| level.transactions.is_empty()) => return Err(error),
            Some(error) => eprintln!("the run ended early: {error}"),
            None => {}
        }
        let after = self.data_size().await?;
        let tenants: Vec<_> = self.options.tenants.iter().map(|tenant| tenant.tenant.clone()).collect();
        let consistency = match &self.options.watch.database {
            Some(database) => crate::observe::check(database, &tenants).await?,
            None => Vec::new(),
        };
        let mut about = About::here(self.options.commit.clone());
        about.database = database;
        let is_complete = !self.stop.is_asked();
        Ok(PlayReport { about, before, after, consistency, levels, is_complete, options: self.options })
    }

    async fn data_size(&self) -> Result<DataSize> {
        let mut login = self.logins[0].clerk().await;
        let (connection, session) = &mut *login;
        session.renew(connection).await?;
        DataSize::ask(connection, session).await
    }

    async fn stage(&self, users: usize, repeat: u64) -> Result<Stage> {
        let form = &self.options.form;
        let recorder = Arc::new(Recorder::new(form.length));
        let mut stage = Stage::new();
        for (number, (workload, users)) in self.options.workload.parts(users).into_iter().enumerate() {
            let mut tenants = Vec::new();
            for (login, credentials) in
                self.logins.iter().zip(&self.options.tenants).take(workload.load.tenants)
            {
                let most = Most { items: self.options.most_items, users: self.options.most_records };
                let rows = {
                    let mut login = login.clerk().await;
                    let (connection, session) = &mut *login;
                    session.renew(connection).await?;
                    source::read(workload, connection, session, most).await?
                };
                tenants.push(Arc::new(TenantStage {
                    name: credentials.tenant.clone(),
                    credentials: credentials.clone(),
                    without_login: Arc::new(headers_without_login(credentials)?),
                    login: login.clone(),
                    rows: rows.by_variable,
                    lent: rows.lent,
                    turns: AtomicUsize::new(0),
                    collected: Mutex::new(BTreeMap::new()),
                }));
            }
            let part = PartStage {
                number: number as u64,
                workload: workload.clone(),
                users,
                address: self.address.clone(),
                tenants,
                recorder: recorder.clone(),
                stop: self.stop.clone(),
                cap: self.cap.clone(),
                pace: form.pace,
                ramp_up: form.ramp_up,
                length: form.length,
                most_users: self.options.most_users,
                seed: self.options.seed.wrapping_add(repeat),
            };
            stage.push(Arc::new(part));
        }
        Ok(stage)
    }

    /// Plays the preparation steps; the values they collect become rows.
    async fn prepare(&self, stage: &mut Stage) -> Result<()> {
        for part in stage {
            steps::play_steps(part, &part.workload.prepare).await?;
            let part = Arc::get_mut(part).expect("nobody plays yet");
            for tenant in &mut part.tenants {
                let tenant = Arc::get_mut(tenant).expect("nobody plays yet");
                let collected = tenant.collected.get_mut().expect("collecting does not panic").clone();
                tenant.rows.extend(collected);
                tenant.turns = AtomicUsize::new(0);
            }
            let _ = part.recorder.take();
        }
        Ok(())
    }

    async fn level(&self, level: &mut LevelFigures, floor: Option<&mut Floor>, repeat: u64) -> Result<()> {
        let mut stage = self.stage(level.users, repeat).await?;
        let mut floor = floor;
        let prepared = self.prepare(&mut stage).await;
        let played = match prepared {
            Ok(()) => self.measure(level, &stage, &mut floor).await,
            Err(error) => Err(error),
        };
        let cleaned = self.clean_up(&stage).await;
        played.and(cleaned)
    }

    async fn measure(
        &self,
        level: &mut LevelFigures,
        stage: &Stage,
        floor: &mut Option<&mut Floor>,
    ) -> Result<()> {
        measure_floor(level, floor).await?;
        let length = self.options.form.length;
        let recorder = stage[0].recorder.clone();
        let watch =
            Watch::begin(self.options.watch.clone(), recorder.slice().max(Duration::from_millis(500)))
                .await?;
        let begun = Instant::now();
        if let Some(live) = &self.live {
            live.begin(format!("{}: {} users", self.options.workload.name, level.users));
        }
        // Preparation and the floor came before.
        let _ = recorder.take();
        let mut parts = Vec::new();
        for part in stage {
            parts.push(tokio::spawn(play_part(part.clone())));
        }
        let progress = async {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let glance = watch.glance();
                let second = LiveSecond {
                    at: begun.elapsed().as_secs_f64(),
                    cpu: glance.cpu,
                    connections: glance.connections,
                    ..recorder.look()
                };
                tell_progress(&second, length);
                if let Some(live) = &self.live {
                    live.add(second);
                }
            }
        };
        let all = async {
            for part in parts {
                part.await.map_err(|error| LabError::new(format!("a workload panicked: {error}")))??;
            }
            Ok::<_, LabError>(())
        };
        let outcome = tokio::select! {
            outcome = all => outcome,
            () = progress => Ok(()),
        };
        if std::io::stderr().is_terminal() {
            eprintln!();
        }
        // The rate of an open load is that of its arrivals: the last turns may pause long after the last arrival.
        let is_open = stage.iter().all(|part| part.workload.load.mode == Mode::Open);
        let elapsed = if is_open { begun.elapsed().min(length) } else { begun.elapsed() };
        level.slice = recorder.slice();
        level.planned_rate = is_open.then(|| stage.iter().map(|part| part.rate()).sum());
        level.add(recorder.take(), elapsed, watch.finish().await?);
        outcome?;
        measure_floor(level, floor).await
    }

    /// Checks in the items that the level checked out, and plays the clean-up steps.
    async fn clean_up(&self, stage: &Stage) -> Result<()> {
        if !self.options.clean_up {
            return Ok(());
        }
        for part in stage {
            steps::play_steps(part, &part.workload.clean_up).await?;
        }
        for part in stage {
            let items = part.workload.data.iter().filter(|(_, source)| **source == Source::AvailableItems);
            let items: Vec<_> = items.map(|(variable, _)| variable).collect();
            for tenant in &part.tenants {
                let Some((service_point, lent)) = &tenant.lent else { continue };
                let used: Vec<String> =
                    items.iter().flat_map(|variable| tenant.used_rows(variable)).collect();
                let mut login = tenant.login.clerk().await;
                let (connection, session) = &mut *login;
                session.renew(connection).await?;
                return_items(connection, session, service_point, used.iter().chain(lent)).await?;
            }
        }
        Ok(())
    }

    /// Plays each transaction once in each tenant, and shows every call.
    async fn dry_run(&self) -> Result<()> {
        let mut stage = self.stage(1, 0).await?;
        self.prepare(&mut stage).await?;
        let mut is_good = true;
        for part in &stage {
            for tenant in &part.tenants {
                for transaction in &part.workload.transactions {
                    let mut user = VirtualUser::new(part, tenant, 0);
                    println!("{} in {}:", transaction.name, tenant.name);
                    let (time, outcome) = user.transact(part, transaction).await;
                    for (call, track) in part.recorder.take().calls {
                        let error = track.errors.values().next().map_or("good", |(_, text)| text);
                        println!("  {call}: {error}");
                    }
                    match outcome {
                        Ok(()) => println!("  good, {:.1} ms", time.as_secs_f64() * 1e3),
                        Err(failed) => {
                            is_good = false;
                            println!("  FAILED: {}", failed.text);
                        }
                    }
                }
            }
        }
        self.clean_up(&stage).await?;
        if is_good { Ok(()) } else { Err(LabError::new("the dry run failed; nothing was measured")) }
    }
}

async fn measure_floor(level: &mut LevelFigures, floor: &mut Option<&mut Floor>) -> Result<()> {
    if let Some(floor) = floor {
        let samples = floor.play(level.users.clamp(1, 20), Tempo::Saturated(Duration::from_secs(2))).await?;
        match &mut level.floor {
            Some(all) => all.merge(samples),
            None => level.floor = Some(samples),
        }
    }
    Ok(())
}

fn tell_progress(second: &LiveSecond, length: Duration) {
    let line = format!(
        "{:>5.0} of {:.0} s  {:>6} a second  p95 {:>8.1} ms  {:>4} failed  {:>5} under way  CPU {:>3.0} %  \
         {:>3} connections",
        second.at,
        length.as_secs_f64(),
        second.good,
        second.p95_ms,
        second.failed,
        second.under_way,
        second.cpu,
        second.connections
    );
    if std::io::stderr().is_terminal() {
        eprint!("\r{line}");
        let _ = std::io::stderr().flush();
    } else if (second.at as u64).is_multiple_of(10) {
        eprintln!("{line}");
    }
}
