//! Plays a workload file: so many users, each one thing after the other, with the plan's pauses.

use super::turn::{Stage, VirtualUser};
use super::{DataKind, Workload};
use crate::cico::{TestData, TestDataFiles, return_items};
use crate::client::{Address, Connection, Credentials, Session};
use crate::error::{LabError, Result};
use crate::player::on_own_thread;
use crate::random::RandomSequence;
use crate::report::{About, DataSize, PlanReport};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What `carrel lab run cico --plan FILE` does, as given on the command line.
#[derive(Debug, Clone)]
pub struct PlanOptions {
    /// The workload file.
    pub workload: PathBuf,
    /// Address of the API, `http://host:port`.
    pub address: String,
    /// Who logs in; every virtual user does so once.
    pub credentials: Credentials,
    /// Files with the data, instead of the API.
    pub files: TestDataFiles,
    /// Number of virtual users.
    pub users: usize,
    /// From one user's start to the next one's; the reference runs had ten seconds.
    pub ramp_up: Duration,
    /// From the first user's start to the end, ramp-up included.
    pub duration: Duration,
    /// The pauses are multiplied with this; 1 is the plan.
    pub pause_factor: f64,
    /// At most so many items take part.
    pub most_items: usize,
    /// At most so many patrons take part.
    pub most_users: usize,
    /// Decides transactions and pauses.
    pub seed: u64,
    /// Where to write the figures as JSON.
    pub json: Option<PathBuf>,
    /// Where to write the Markdown report.
    pub report: Option<PathBuf>,
    /// Version of the program under test, for the report.
    pub commit: Option<String>,
}

/// Plays a workload file, prints the figures and writes the files that were asked for.
pub async fn run_plan(options: PlanOptions) -> Result<PlanReport> {
    let report = on_own_thread(move || play(options)).await?;
    print!("{}", report.table());
    report.save()?;
    Ok(report)
}

async fn play(options: PlanOptions) -> Result<PlanReport> {
    let workload = Workload::read(&options.workload)?;
    if options.users == 0 {
        return Err(LabError::new("a plan needs at least one user"));
    }
    let address = Address::parse(&options.address)?;
    let mut clerk = Connection::new(address.clone());
    let mut session = Session::login(&mut clerk, options.credentials.clone()).await?;
    let before = DataSize::ask(&mut clerk, &session).await?;
    let mut test_data =
        TestData::find(&mut clerk, &session, &options.files, options.most_items, options.most_users).await?;
    let mut lent = Vec::new();
    if workload.data.values().any(|kind| *kind == DataKind::LentItems) {
        lent = test_data.lend(&mut clerk, &session).await?;
    }
    let rows = |kind: &DataKind| match kind {
        DataKind::Users => test_data.users.clone(),
        DataKind::AvailableItems => test_data.items.clone(),
        DataKind::LentItems => lent.clone(),
        DataKind::ServicePoints => vec![test_data.service_point.clone()],
    };
    let rows: BTreeMap<_, _> = workload.data.iter().map(|(name, kind)| (name.clone(), rows(kind))).collect();
    let stage = Arc::new(Stage {
        rows,
        workload,
        turns: AtomicUsize::new(0),
        pause_factor: options.pause_factor,
        transactions: Mutex::default(),
        calls: Mutex::default(),
    });

    let begun = Instant::now();
    let end = begun + options.duration;
    let mut players = Vec::new();
    for number in 0..options.users as u32 {
        let (stage, address, credentials) = (stage.clone(), address.clone(), options.credentials.clone());
        let random = RandomSequence::new(options.seed, 0, number.into());
        let ramp_up = options.ramp_up * number;
        players.push(tokio::spawn(async move {
            tokio::time::sleep(ramp_up).await;
            let mut connection = Connection::new(address);
            let session = Session::login(&mut connection, credentials).await?;
            VirtualUser { connection, session, random }.play(&stage, end).await;
            Ok::<_, LabError>(())
        }));
    }
    for player in players {
        player.await.map_err(|error| LabError::new(format!("a virtual user broke down: {error}")))??;
    }
    let elapsed = begun.elapsed();

    session.renew(&mut clerk).await?;
    let used = stage.turns.load(Ordering::Relaxed).min(test_data.items.len());
    let touched = test_data.items[..used].iter().chain(&lent);
    return_items(&mut clerk, &session, &test_data.service_point, touched).await?;
    let after = DataSize::ask(&mut clerk, &session).await?;
    let taken = |samples: &Mutex<_>| std::mem::take(&mut *samples.lock().expect("recording does not panic"));
    let (transactions, calls) = (taken(&stage.transactions), taken(&stage.calls));
    Ok(PlanReport {
        about: About::here(options.commit),
        address: options.address,
        name: stage.workload.name.clone(),
        title: stage.workload.title.clone(),
        source: stage.workload.source.clone(),
        users: options.users,
        elapsed,
        pause_factor: options.pause_factor,
        before,
        after,
        transactions,
        calls,
        json: options.json,
        markdown: options.report,
    })
}
