//! The floor: the yardstick of every bar on speed. It is the least SQL that does a scan's work durably, through
//! the driver that the server uses, on the database that the server uses, in the same minute. What a scan takes
//! beyond it is what the program adds.

mod desk;
mod tables;

use crate::error::{Context, LabError, Result};
use crate::player::{Tempo, on_own_thread, play};
use crate::report::{self, FloorReport, Measured};
use crate::samples::Samples;
use crate::timing::Timing;
use desk::FloorDesk;
use std::path::PathBuf;
use tables::Tables;
use tokio_postgres::Config;

/// Which desk action the floor stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloorKind {
    /// Check-out and check-in: patron, item; a loan; the item's status.
    CheckOut,
    /// A hold: patron, item, queue; a request; the item's status.
    Hold,
}

/// What `carrel lab floor` is asked to do.
#[derive(Debug, Clone)]
pub struct FloorOptions {
    /// A connection string or URL as PostgreSQL's own tools take it; the role may create a schema.
    pub database: String,
    /// Which desk action.
    pub kind: FloorKind,
    /// Rows in the item table.
    pub items: u64,
    /// Rows in the user table.
    pub users: u64,
    /// Levels, lengths, rate. Without another side to compare with, the rate is a share of the floor's own.
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
    let mut floor =
        Floor::open(&options.database, options.kind, options.items, options.users, timing.most_users())
            .await?;
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
        kind: options.kind,
        items: options.items,
        users: options.users,
        levels,
        json: options.json,
    })
}

/// An open floor: tables and as many desks as the largest level needs.
pub(crate) struct Floor {
    tables: Tables,
    desks: Vec<FloorDesk>,
}

impl Floor {
    /// Makes the tables and opens the desks.
    pub async fn open(
        database: &str,
        kind: FloorKind,
        items: u64,
        users: u64,
        desks: usize,
    ) -> Result<Floor> {
        if items == 0 || users == 0 {
            return Err(LabError::new("the floor needs at least one item and one user"));
        }
        let config: Config = database.parse().context("reading the floor's database address")?;
        let tables = Tables::create(&config, items, users).await?;
        let mut floor = Floor { tables, desks: Vec::new() };
        for number in 0..desks as u64 {
            floor.desks.push(FloorDesk::open(&config, kind, items, users, number).await?);
        }
        Ok(floor)
    }

    /// Version and durability settings of the database.
    pub fn server(&self) -> &str {
        &self.tables.server
    }

    /// Plays a phase with `users` desks.
    pub async fn play(&mut self, users: usize, tempo: Tempo) -> Result<Samples> {
        let desks = self.desks.drain(..users.min(self.desks.len())).collect();
        let (desks, samples) = play(desks, tempo, u64::MAX).await?;
        self.desks.extend(desks);
        Ok(samples)
    }

    /// Closes the desks and drops the tables.
    pub async fn close(self) -> Result<()> {
        // The desks' connections hold no lock between actions; close them first all the same, so that the
        // drop waits for nobody.
        drop(self.desks);
        self.tables.drop().await
    }
}
