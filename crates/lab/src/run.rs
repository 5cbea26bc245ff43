//! A run: the operations of a workload and the floor, in the same minute.
//!
//! Each level goes floor, operations, first saturated, then at a common arrival rate (see `timing`).

use crate::error::Result;
use crate::floor::Floor;
use crate::player::Tempo;
use crate::processor_time::Processes;
use crate::report::{About, DataSize, Description, RunLevel, RunReport};
use crate::samples::Samples;
use crate::timing::Timing;
use std::path::PathBuf;

/// Options of every run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The server's database, for the floor; without it there are no ratios.
    pub database: Option<String>,
    /// PostgreSQL's program `pgbench`, which plays the floor.
    pub pgbench: Option<PathBuf>,
    /// Process id of the server, for its processor time; `None` where it runs elsewhere.
    pub server: Option<u32>,
    /// Levels, lengths, rate.
    pub timing: Timing,
    /// Where to write the figures as JSON.
    pub json: Option<PathBuf>,
    /// Where to write the Markdown report.
    pub report: Option<PathBuf>,
    /// Version of the program under test, for the report.
    pub commit: Option<String>,
}

/// Operations that can be played one after the other, again and again, on the same data.
pub trait Workload {
    /// Identifies an operation.
    type Operation: Copy;
    /// The text of the report besides the figures.
    const DESCRIPTION: &'static Description;

    /// The operations in the order in which they are played, with their names in the JSON file.
    fn operations(&self) -> Vec<(&'static str, Self::Operation)>;

    /// Reads the amount of data.
    async fn data_size(&mut self) -> Result<DataSize>;

    /// Opens all connections, here and behind the server, and lets caches fill.
    async fn warm_up(&mut self, workers: usize) -> Result<()>;

    /// Renews the login so that it is valid during the next level.
    async fn begin_level(&mut self) -> Result<()>;

    /// Plays a phase of an operation.
    async fn play(&mut self, operation: Self::Operation, workers: usize, tempo: Tempo) -> Result<Samples>;

    /// Remarks for the report.
    fn notes(&self) -> Vec<String>;
}

/// Plays the workload and the floor.
pub async fn run<W: Workload>(mut workload: W, address: String, options: RunOptions) -> Result<RunReport> {
    let timing = options.timing;
    let before = workload.data_size().await?;
    eprintln!("{before}");
    let mut floor = match options.database.as_ref().zip(options.pgbench.as_ref()) {
        Some((database, pgbench)) => {
            let (items, users) = (before.items.max(1), before.users.max(1));
            Some(Floor::open(database, pgbench, items, users).await?)
        }
        None => None,
    };
    let known = Processes { server: options.server, postmaster: None };
    let processes = floor.as_ref().map_or(known, |floor| floor.processes(known));
    workload.warm_up(timing.most_users()).await?;
    let names: Vec<_> = workload.operations().into_iter().map(|(name, _)| name).collect();
    let mut levels: Vec<RunLevel> =
        timing.levels.iter().map(|&users| RunLevel::new(users, &names, floor.is_some())).collect();
    for _ in 0..timing.rounds {
        for level in &mut levels {
            eprintln!("measuring {} users", level.users);
            workload.begin_level().await?;
            let tempo = Tempo::Saturated(timing.saturated);
            measure(&mut workload, floor.as_mut(), level, tempo, &processes).await?;
            let rate = timing.rate(&level.capacities());
            level.rates.push(rate);
            let tempo = Tempo::Paced { rate, length: timing.paced };
            measure(&mut workload, floor.as_mut(), level, tempo, &processes).await?;
        }
    }
    let after = workload.data_size().await?;
    let mut about = About::here(options.commit);
    if let Some(floor) = floor {
        about = about.with_database(floor.server().to_string());
        floor.close().await?;
    }
    Ok(RunReport {
        about,
        address,
        story: W::DESCRIPTION,
        timing,
        before,
        after,
        levels,
        notes: workload.notes(),
        json: options.json,
        markdown: options.report,
    })
}

/// One phase of every side: the floor first, then each operation with its cost.
async fn measure<W: Workload>(
    workload: &mut W,
    floor: Option<&mut Floor>,
    level: &mut RunLevel,
    tempo: Tempo,
    processes: &Processes,
) -> Result<()> {
    let mut floor = floor;
    if let (Some(floor), Some(measured)) = (&mut floor, &mut level.floor) {
        measured.add(tempo, floor.play(level.users, tempo).await?);
    }
    for ((_, operation), (_, measured)) in workload.operations().into_iter().zip(&mut level.operations) {
        let wal = async || match &floor {
            Some(floor) => floor.wal_position().await,
            None => Ok(0),
        };
        let (before, written) = (processes.read(), wal().await?);
        let mut samples = workload.play(operation, level.users, tempo).await?;
        samples.cost(processes.read().since(&before), wal().await?.saturating_sub(written));
        measured.add(tempo, samples);
    }
    Ok(())
}
