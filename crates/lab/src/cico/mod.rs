//! `lab run cico`: check-outs and check-ins, one call each, against any FOLIO-compatible address, with the floor measured
//! in the same minute.
//!
//! A check-in phase takes exactly the items that the check-out phase before it lent, so that every level begins
//! with the same available items.

mod desks;
mod restock;
mod scan;
mod test_data;

use crate::client::{Address, Connection, Credentials, Session};
use crate::error::{LabError, Result};
use crate::player::{Tempo, on_own_thread, play};
use crate::report::{DataSize, Description, RunReport};
use crate::run::{RunOptions, Workload, run};
use crate::samples::Samples;
pub use desks::Desks;
pub use restock::return_items;
use scan::{Scan, ScanWorker, WorkQueue};
use std::sync::Arc;
use std::time::Duration;
pub use test_data::{TestData, TestDataFiles};

/// Options of `carrel lab run cico`.
#[derive(Debug, Clone)]
pub struct CicoOptions {
    /// Address of the API, `http://host:port`.
    pub address: String,
    /// User of all calls.
    pub credentials: Credentials,
    /// Files with the data, instead of the API.
    pub files: TestDataFiles,
    /// Number of items, at most; a phase that uses them up ends early.
    pub most_items: usize,
    /// Number of users, at most.
    pub most_users: usize,
    /// Number of open loans before the measurement, as far as the items suffice: a real library always has open loans.
    pub open_loans: usize,
    /// Options of every run.
    pub run: RunOptions,
}

/// Plays the scans and the floor, prints the figures and writes the requested files.
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
    /// Available items, the least recently used first.
    shelf: Vec<String>,
    /// Items that the last check-out phase checked out.
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

    async fn warm_up(&mut self, workers: usize) -> Result<()> {
        for scan in [Scan::CheckOut, Scan::CheckIn] {
            self.play(scan, workers, Tempo::Saturated(Duration::from_millis(500))).await?;
        }
        Ok(())
    }

    async fn begin_level(&mut self) -> Result<()> {
        self.session.renew(&mut self.clerk).await
    }

    async fn play(&mut self, scan: Scan, workers: usize, tempo: Tempo) -> Result<Samples> {
        let (items, tempo) = match scan {
            Scan::CheckOut => (std::mem::take(&mut self.shelf), tempo),
            // Without a time limit, so that every item is checked in.
            Scan::CheckIn => (std::mem::take(&mut self.lent), tempo.lasting(Duration::MAX)),
        };
        let most = items.len() as u64;
        let workers = self.lay_out(scan, workers, items);
        let (workers, samples) = play(workers, tempo, most).await?;
        self.clear_up(scan, workers);
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
        let mut test_data =
            TestData::find(&mut clerk, &session, &options.files, most_items, options.most_users).await?;
        // A small data set checks out a part only, so that enough items stay available.
        let lent = test_data.items.split_off(test_data.items.len() - missing.min(test_data.items.len() / 2));
        let workers = options.run.timing.most_users();
        let mut scans = Scans {
            clerk,
            session,
            connections: (0..workers).map(|_| Connection::new(address.clone())).collect(),
            users: Arc::new(test_data.users),
            next_user: 0,
            service_point: test_data.service_point,
            shelf: test_data.items,
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
        let workers = self.lay_out(Scan::CheckOut, self.connections.len(), items);
        let (workers, samples) = play(workers, Tempo::Saturated(Duration::MAX), most).await?;
        self.connections.extend(workers.into_iter().map(|worker| worker.connection));
        match samples.failure_texts().first() {
            Some(text) => Err(LabError::new(format!("lending before the run: {text}"))),
            None => self.session.renew(&mut self.clerk).await,
        }
    }

    /// Workers that share a work queue.
    fn lay_out(&mut self, scan: Scan, workers: usize, items: Vec<String>) -> Vec<ScanWorker> {
        let queue = Arc::new(WorkQueue {
            scan,
            items,
            users: self.users.clone(),
            first_user: self.next_user,
            service_point: self.service_point.clone(),
            headers: self.session.headers(),
        });
        let connections = self.connections.drain(..workers.min(self.connections.len()));
        connections
            .map(|connection| ScanWorker { connection, queue: queue.clone(), done: Vec::new() })
            .collect()
    }

    /// Collects the connections, and makes the unused items available again.
    fn clear_up(&mut self, scan: Scan, workers: Vec<ScanWorker>) {
        let queue = workers[0].queue.clone();
        let mut done = vec![false; queue.items.len()];
        let mut lent = 0;
        for worker in workers {
            lent += worker.done.len();
            worker.done.into_iter().for_each(|turn| done[turn] = true);
            self.connections.push(worker.connection);
        }
        self.next_user = (self.next_user + lent) % self.users.len();
        let taken = |popular: bool| {
            let items = queue.items.iter().zip(&done);
            items.filter(move |(_, done)| **done == popular).map(|(item, _)| item.clone())
        };
        match scan {
            Scan::CheckOut => {
                self.shelf.extend(taken(false));
                self.lent = taken(true).collect();
            }
            // An item whose check-in failed may still be on loan; it is not used again.
            Scan::CheckIn => self.shelf.extend(taken(true)),
        }
    }
}
