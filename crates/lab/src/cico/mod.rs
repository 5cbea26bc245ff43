//! `lab run cico`: the bare scans of check-out and check-in against any FOLIO-compatible address, with the floor
//! measured in the same minute.
//!
//! A check-in phase takes exactly the items that the check-out phase before it lent, so that every level begins
//! with the same shelves.

mod restock;
mod scan;
mod stock;

use crate::client::{Address, Connection, Credentials, Session};
use crate::error::{LabError, Result};
use crate::player::{Tempo, on_own_thread, play};
use crate::report::{DataSize, Description, RunReport};
use crate::run::{RunOptions, Workload, run};
use crate::samples::Samples;
pub use restock::return_items;
use scan::{Pile, Scan, ScanDesk};
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
    /// Files instead of data found through the API.
    pub files: StockFiles,
    /// At most so many items take part; a phase that uses them up ends early.
    pub most_items: usize,
    /// At most so many users take part.
    pub most_users: usize,
    /// So many loans are open before anything is measured, as far as the items suffice: a library lends all the time.
    pub open_loans: usize,
    /// What every run is asked for.
    pub run: RunOptions,
}

/// Plays the scans and the floor, prints the figures and writes the files that were asked for.
pub async fn run_cico(options: CicoOptions) -> Result<RunReport> {
    let report = on_own_thread(move || async move {
        let scans = Scans::prepare(&options).await?;
        run(scans, options.address, options.run).await
    });
    let report = report.await?;
    print!("{}", report.table());
    report.save()?;
    Ok(report)
}

const DESCRIPTION: Description = Description {
    title: "Check-out and check-in, bare scans",
    purpose: "How long one check-out and one check-in take at a desk and how many the machine does in a second, \
        compared with the least SQL that does the same work durably on the same database in the same minute (the \
        floor).",
    method: "\
- One call per scan, over keep-alive connections without packet delay, one per desk; no pauses, no preflights.
- Arrivals follow a schedule and do not wait for slow answers. When all desks are busy they queue, and a time \
counts from the scheduled arrival to the last byte of the answer. Failed calls are counted and have no time.
- Check-ins take the items that the check-outs before them lent, at a service point of their location.
- The floor is pgbench with a fixed script of prepared statements: begin, read patron and item by barcode, insert a \
loan, update the item's status, commit. Its tables have as many rows as the data set, keys and barcode indexes only.
- Processor time is that of all processes: generator, server, database.
",
    bar_tps: Some(0.3),
    against: None,
};

/// A run in progress.
struct Scans {
    clerk: Connection,
    session: Session,
    connections: Vec<Connection>,
    users: Arc<Vec<String>>,
    next_user: usize,
    service_point: String,
    /// Items on the shelf, those that rested longest first.
    shelf: Vec<String>,
    /// Items that the last check-outs lent.
    lent: Vec<String>,
}

impl Workload for Scans {
    type Operation = Scan;
    const DESCRIPTION: &'static Description = &DESCRIPTION;

    fn operations(&self) -> Vec<(&'static str, Scan)> {
        vec![("check_out", Scan::CheckOut), ("check_in", Scan::CheckIn)]
    }

    async fn data_size(&mut self) -> Result<DataSize> {
        eprintln!("{} items and {} users take part", self.shelf.len(), self.users.len());
        DataSize::ask(&mut self.clerk, &self.session).await
    }

    async fn warm_up(&mut self, desks: usize) -> Result<()> {
        for scan in [Scan::CheckOut, Scan::CheckIn] {
            self.play(scan, desks, Tempo::Saturated(Duration::from_millis(500))).await?;
        }
        Ok(())
    }

    async fn begin_level(&mut self) -> Result<()> {
        self.session.renew(&mut self.clerk).await
    }

    async fn play(&mut self, scan: Scan, desks: usize, tempo: Tempo) -> Result<Samples> {
        let (items, tempo) = match scan {
            Scan::CheckOut => (std::mem::take(&mut self.shelf), tempo),
            // However long it takes: all that was lent comes back.
            Scan::CheckIn => (std::mem::take(&mut self.lent), tempo.lasting(Duration::MAX)),
        };
        let most = items.len() as u64;
        let desks = self.lay_out(scan, desks, items);
        let (desks, samples) = play(desks, tempo, most).await?;
        self.clear_up(scan, desks);
        Ok(samples)
    }

    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Scans {
    async fn prepare(options: &CicoOptions) -> Result<Scans> {
        let address = Address::parse(&options.address)?;
        let mut clerk = Connection::new(address.clone());
        let session = Session::login(&mut clerk, options.credentials.clone()).await?;
        let open = "/loan-storage/loans?query=status.name==%22Open%22&limit=0";
        let open = session.get(&mut clerk, open).await?["totalRecords"].as_u64().unwrap_or(0) as usize;
        let missing = options.open_loans.saturating_sub(open);
        let most_items = options.most_items.saturating_add(missing);
        let mut stock =
            Stock::find(&mut clerk, &session, &options.files, most_items, options.most_users).await?;
        // A small data set lends a part only, so that enough is left to play with.
        let lent = stock.items.split_off(stock.items.len() - missing.min(stock.items.len() / 4));
        let desks = options.run.timing.most_users();
        let mut scans = Scans {
            clerk,
            session,
            connections: (0..desks).map(|_| Connection::new(address.clone())).collect(),
            users: Arc::new(stock.users),
            next_user: 0,
            service_point: stock.service_point,
            shelf: stock.items,
            lent: Vec::new(),
        };
        scans.lend(lent).await?;
        Ok(scans)
    }

    /// Checks items out that stay on loan.
    async fn lend(&mut self, items: Vec<String>) -> Result<()> {
        if items.is_empty() {
            return Ok(());
        }
        eprintln!("lending {} items that stay on loan", items.len());
        let most = items.len() as u64;
        let desks = self.lay_out(Scan::CheckOut, self.connections.len(), items);
        let (desks, samples) = play(desks, Tempo::Saturated(Duration::MAX), most).await?;
        self.connections.extend(desks.into_iter().map(|desk| desk.connection));
        match samples.failure_texts().first() {
            Some(text) => Err(LabError::new(format!("lending before the run: {text}"))),
            None => self.session.renew(&mut self.clerk).await,
        }
    }

    /// Desks with a common pile.
    fn lay_out(&mut self, scan: Scan, desks: usize, items: Vec<String>) -> Vec<ScanDesk> {
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

    /// Takes the connections back and puts what lies at the desks on the shelf, but for what was lent.
    fn clear_up(&mut self, scan: Scan, desks: Vec<ScanDesk>) {
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
                self.lent = taken(true).collect();
            }
            // An item whose check-in failed may still be out; it takes no further part.
            Scan::CheckIn => self.shelf.extend(taken(true)),
        }
    }
}
