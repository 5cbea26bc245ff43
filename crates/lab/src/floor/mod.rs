//! The floor: the reference of every performance target. It is the least SQL that does a scan's work durably, run by
//! PostgreSQL's own `pgbench` on the database that the server uses, in the same minute. The difference between a scan
//! and the floor is the cost of the program.

mod pgbench;
mod tables;

use crate::error::{Context, LabError, Result};
use crate::player::{Tempo, on_own_thread};
use crate::processor_time::{Processes, ProcessorTime};
use crate::report::{self, FloorReport, Measured};
use crate::samples::Samples;
use crate::timing::Timing;
use pgbench::Pgbench;
use std::collections::HashMap;
use std::path::PathBuf;
use tables::Tables;
pub use tables::connect;
use tokio_postgres::Config;

/// Options of `carrel lab floor`.
#[derive(Debug, Clone)]
pub struct FloorOptions {
    /// A connection string or URL in libpq's format; the role may create a schema.
    pub database: String,
    /// PostgreSQL's program `pgbench`.
    pub pgbench: PathBuf,
    /// Rows in the item table.
    pub items: u64,
    /// Rows in the user table.
    pub users: u64,
    /// Levels, durations, rate. If nothing else is measured, the rate is a share of the floor's throughput.
    pub timing: Timing,
    /// Where to write the figures as JSON.
    pub json: Option<PathBuf>,
    /// Version of the program, for the report.
    pub commit: Option<String>,
}

/// Measures the floor alone and prints it.
pub async fn floor(options: FloorOptions) -> Result<FloorReport> {
    let report = on_own_thread(move || measure(options)).await?;
    print!("{}", report.table());
    report.save()?;
    Ok(report)
}

async fn measure(options: FloorOptions) -> Result<FloorReport> {
    let timing = &options.timing;
    let mut floor = Floor::open(&options.database, &options.pgbench, options.items, options.users).await?;
    floor.play(timing.most_users(), Tempo::Saturated(timing.saturated / 2)).await?;
    let mut levels: Vec<_> = timing.levels.iter().map(|&users| (users, 0.0, Measured::default())).collect();
    for _ in 0..timing.rounds {
        for (users, rate, measured) in &mut levels {
            let tempo = Tempo::Saturated(timing.saturated);
            measured.add(tempo, floor.play(*users, tempo).await?);
            *rate = timing.rate(&[measured.saturated.per_second()]);
            let tempo = Tempo::Paced { rate: *rate, length: timing.paced };
            measured.add(tempo, floor.play(*users, tempo).await?);
        }
    }
    let server = floor.server().to_string();
    floor.close().await?;
    Ok(FloorReport {
        about: report::About::here(options.commit).with_database(server),
        items: options.items,
        users: options.users,
        levels,
        json: options.json,
    })
}

/// An open floor: its tables, and the program that works on them.
pub(crate) struct Floor {
    tables: Tables,
    pgbench: Pgbench,
    /// The processor time for connecting, by number of workers, which is subtracted.
    connecting: HashMap<usize, ProcessorTime>,
}

impl Floor {
    /// Creates the tables.
    pub async fn open(database: &str, pgbench: &std::path::Path, items: u64, users: u64) -> Result<Floor> {
        if items == 0 || users == 0 {
            return Err(LabError::new("the floor needs at least one item and one user"));
        }
        let config: Config = database.parse().context("reading the floor's database address")?;
        let tables = Tables::create(&config, items, users).await?;
        let pgbench = Pgbench { program: pgbench.to_owned(), database: database.to_owned(), items, users };
        Ok(Floor { tables, pgbench, connecting: HashMap::new() })
    }

    /// Version and durability settings of the database.
    pub fn server(&self) -> &str {
        &self.tables.server
    }

    /// `known`, with the processes of the database if they run on this machine.
    pub fn processes(&self, known: Processes) -> Processes {
        known.with_backend(self.tables.backend)
    }

    /// Bytes of write-ahead log since the database was created.
    pub async fn wal_position(&self) -> Result<u64> {
        self.tables.wal_position().await
    }

    /// Plays a phase with `workers` connections. The processor time that connecting takes is left out.
    pub async fn play(&mut self, workers: usize, tempo: Tempo) -> Result<Samples> {
        let processes = self.processes(Processes::default());
        if !self.connecting.contains_key(&workers) {
            let before = processes.read();
            self.pgbench.connect_only(workers)?;
            self.connecting.insert(workers, processes.read().since(&before));
        }
        let (before, wal) = (processes.read(), self.wal_position().await?);
        let mut samples = self.pgbench.play(workers, tempo)?;
        let used = processes.read().since(&before).less(&self.connecting[&workers]);
        samples.cost(used, self.wal_position().await?.saturating_sub(wal));
        Ok(samples)
    }

    /// Drops the tables.
    pub async fn close(self) -> Result<()> {
        self.tables.drop().await
    }
}
