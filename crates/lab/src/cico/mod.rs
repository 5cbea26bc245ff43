//! `lab run cico`: the bare scans of check-out and check-in against any FOLIO-compatible address, with the floor
//! measured in the same minute.
//!
//! Each level goes floor, check-out, check-in, floor, first saturated, then at a common arrival rate (see
//! `timing`). A check-in phase takes exactly the items that the check-out phase before it lent, so that every
//! level begins with the same shelves.

mod restock;
mod scan;
mod stock;

use crate::client::{Address, Connection, Credentials, Session};
use crate::error::Result;
use crate::floor::{Floor, FloorKind};
use crate::player::{on_own_thread, play_paced, play_saturated};
use crate::report::{About, CicoLevel, CicoReport, DataSize};
use crate::samples::Samples;
use crate::schedule::Schedule;
use crate::timing::Timing;
pub use restock::return_items;
use scan::{Pile, Scan, ScanDesk};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
pub use stock::{Stock, StockFiles};

/// What `carrel lab run cico` is asked to do.
#[derive(Debug, Clone)]
pub struct CicoOptions {
    /// Address of the API, `http://host:port`.
    pub address: String,
    /// Who logs in.
    pub credentials: Credentials,
    /// The server's database, for the floor; without it there are no ratios.
    pub database: Option<String>,
    /// Files instead of data found through the API.
    pub files: StockFiles,
    /// Levels, lengths, rate.
    pub timing: Timing,
    /// At most so many items take part; a phase that uses them up ends early.
    pub most_items: usize,
    /// At most so many users take part.
    pub most_users: usize,
    /// Where to write the figures as JSON.
    pub json: Option<PathBuf>,
    /// Where to write the Markdown report.
    pub report: Option<PathBuf>,
    /// Version of the program under test, for the report.
    pub commit: Option<String>,
}

/// Plays the scans and the floor, prints the figures and writes the files that were asked for.
pub async fn run_cico(options: CicoOptions) -> Result<CicoReport> {
    let report = on_own_thread(move || play(options)).await?;
    print!("{}", report.table());
    report.save()?;
    Ok(report)
}

async fn play(options: CicoOptions) -> Result<CicoReport> {
    let timing = options.timing.clone();
    let mut run = Run::prepare(&options).await?;
    let before = DataSize::ask(&mut run.clerk, &run.session).await?;
    eprintln!("{before}; {} items and {} users take part", run.shelf.len(), run.users.len());
    let mut floor = match &options.database {
        Some(database) => {
            let (items, users) = (before.items.max(1), before.users.max(1));
            Some(Floor::open(database, FloorKind::CheckOut, items, users, timing.most_users()).await?)
        }
        None => None,
    };
    run.warm_up(timing.most_users()).await?;
    let mut levels: Vec<CicoLevel> =
        timing.levels.iter().map(|&users| CicoLevel::new(users, floor.is_some())).collect();
    for _ in 0..timing.rounds {
        for level in &mut levels {
            eprintln!("measuring {} users", level.users);
            run.measure(level, &timing, floor.as_mut()).await?;
        }
    }
    let after = DataSize::ask(&mut run.clerk, &run.session).await?;
    let mut about = About::here(options.commit);
    if let Some(floor) = floor {
        about = about.with_database(floor.server().to_string());
        floor.close().await?;
    }
    Ok(CicoReport {
        about,
        address: options.address,
        timing,
        before,
        after,
        levels,
        json: options.json,
        markdown: options.report,
    })
}

/// A run in progress.
struct Run {
    clerk: Connection,
    session: Session,
    connections: Vec<Connection>,
    users: Arc<Vec<String>>,
    next_user: usize,
    service_point: String,
    /// Items on the shelf, those that rested longest first.
    shelf: Vec<String>,
}

impl Run {
    async fn prepare(options: &CicoOptions) -> Result<Run> {
        let address = Address::parse(&options.address)?;
        let mut clerk = Connection::new(address.clone());
        let session = Session::login(&mut clerk, options.credentials.clone()).await?;
        let stock =
            Stock::find(&mut clerk, &session, &options.files, options.most_items, options.most_users).await?;
        let desks = options.timing.most_users();
        Ok(Run {
            clerk,
            session,
            connections: (0..desks).map(|_| Connection::new(address.clone())).collect(),
            users: Arc::new(stock.users),
            next_user: 0,
            service_point: stock.service_point,
            shelf: stock.items,
        })
    }

    /// Opens all connections, here and behind the server, and lets caches fill.
    async fn warm_up(&mut self, desks: usize) -> Result<()> {
        let (lent, _) = self.saturate(Scan::CheckOut, desks, Duration::from_millis(500), None).await?;
        self.saturate(Scan::CheckIn, desks, Duration::MAX, Some(lent)).await?;
        Ok(())
    }

    async fn measure(
        &mut self,
        level: &mut CicoLevel,
        timing: &Timing,
        mut floor: Option<&mut Floor>,
    ) -> Result<()> {
        let users = level.users;
        let half = timing.saturated / 2;
        self.session.renew(&mut self.clerk).await?;
        // The floor comes first and last, half of it each time, so that a machine that slows down or speeds up
        // meanwhile does so to both.
        if let (Some(floor), Some(measured)) = (&mut floor, &mut level.floor) {
            measured.saturated.merge(floor.saturate(users, half).await?);
        }
        let (lent, samples) = self.saturate(Scan::CheckOut, users, timing.saturated, None).await?;
        level.check_out.saturated.merge(samples);
        let (_, samples) = self.saturate(Scan::CheckIn, users, Duration::MAX, Some(lent)).await?;
        level.check_in.saturated.merge(samples);
        if let (Some(floor), Some(measured)) = (&mut floor, &mut level.floor) {
            measured.saturated.merge(floor.saturate(users, half).await?);
        }

        let sides = [Some(&level.check_out), Some(&level.check_in), level.floor.as_ref()];
        let capacities: Vec<f64> = sides.into_iter().flatten().map(|m| m.saturated.per_second()).collect();
        let rate = timing.rate(&capacities);
        level.rates.push(rate);
        let half = timing.paced / 2;
        if let (Some(floor), Some(measured)) = (&mut floor, &mut level.floor) {
            measured.paced.merge(floor.pace(users, rate, half).await?);
        }
        let (lent, samples) = self.pace(Scan::CheckOut, users, rate, timing.paced, None).await?;
        level.check_out.paced.merge(samples);
        let (_, samples) = self.pace(Scan::CheckIn, users, rate, Duration::MAX, Some(lent)).await?;
        level.check_in.paced.merge(samples);
        if let (Some(floor), Some(measured)) = (&mut floor, &mut level.floor) {
            measured.paced.merge(floor.pace(users, rate, half).await?);
        }
        Ok(())
    }

    /// Scans as fast as the desks can; returns the items that changed hands.
    async fn saturate(
        &mut self,
        scan: Scan,
        desks: usize,
        length: Duration,
        pile: Option<Vec<String>>,
    ) -> Result<(Vec<String>, Samples)> {
        let desks = self.lay_out(scan, desks, pile);
        let items = desks[0].pile.items.len() as u64;
        let (desks, samples) = play_saturated(desks, length, items).await?;
        Ok((self.clear_up(scan, desks), samples))
    }

    /// Scans at the given rate; returns the items that changed hands.
    async fn pace(
        &mut self,
        scan: Scan,
        desks: usize,
        rate: f64,
        length: Duration,
        pile: Option<Vec<String>>,
    ) -> Result<(Vec<String>, Samples)> {
        let desks = self.lay_out(scan, desks, pile);
        let items = desks[0].pile.items.len() as u64;
        if items == 0 {
            return Ok((self.clear_up(scan, desks), Samples::default()));
        }
        let length = length.min(Duration::from_secs_f64(items as f64 / rate));
        let mut schedule = Schedule::new(rate, length);
        schedule.arrivals = schedule.arrivals.min(items);
        let (desks, samples) = play_paced(desks, schedule).await?;
        Ok((self.clear_up(scan, desks), samples))
    }

    /// Desks with a common pile: the given one, or the whole shelf.
    fn lay_out(&mut self, scan: Scan, desks: usize, pile: Option<Vec<String>>) -> Vec<ScanDesk> {
        let items = pile.unwrap_or_else(|| std::mem::take(&mut self.shelf));
        let pile = Arc::new(Pile {
            scan,
            items,
            users: self.users.clone(),
            first_user: self.next_user,
            service_point: self.service_point.clone(),
            headers: self.session.headers(),
        });
        let connections = self.connections.drain(..desks.min(self.connections.len()));
        connections.map(|connection| ScanDesk { connection, pile: pile.clone(), done: Vec::new() }).collect()
    }

    /// Takes the connections back, puts what lies at the desks on the shelf, and returns what was lent.
    fn clear_up(&mut self, scan: Scan, desks: Vec<ScanDesk>) -> Vec<String> {
        let pile = desks[0].pile.clone();
        let mut done = vec![false; pile.items.len()];
        let mut lent = 0;
        for desk in desks {
            lent += desk.done.len();
            desk.done.into_iter().for_each(|turn| done[turn] = true);
            self.connections.push(desk.connection);
        }
        self.next_user = (self.next_user + lent) % self.users.len();
        let taken = |wanted: bool| {
            let items = pile.items.iter().zip(&done);
            items.filter(move |(_, done)| **done == wanted).map(|(item, _)| item.clone())
        };
        match scan {
            Scan::CheckOut => {
                self.shelf.extend(taken(false));
                taken(true).collect()
            }
            // An item whose check-in failed may still be out; it takes no further part.
            Scan::CheckIn => {
                self.shelf.extend(taken(true));
                Vec::new()
            }
        }
    }
}
