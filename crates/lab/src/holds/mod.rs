//! `lab run holds`: placing holds of three kinds, with the floor of a hold measured in the same minute.
//!
//! It runs on the library that `lab load` creates, and on instances with many requests (`data::popular`), which a run
//! creates if they are missing. Every phase places what `mix` draws; its requests are canceled afterwards, unmeasured.

mod cancel;
mod mix;
mod place;
mod queues;

use crate::client::{Address, Connection, Credentials, Session};
use crate::data::{self, Library, PopularInstances};
use crate::error::{LabError, Result};
use crate::load::{exists, load_popular};
use crate::player::{Tempo, Worker, on_own_thread, play};
use crate::report::{Against, DataSize, Description, RunReport};
use crate::run::{RunOptions, Workload, run};
use crate::samples::Samples;
use bytes::Bytes;
use cancel::CancelWorker;
use mix::Mix;
use place::{HoldKind, HoldRequests, HoldWorker};
use queues::{QueueWorker, open_requests};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Requests a second of a saturated phase, at most: more than any server on such a machine answers.
const MOST_PER_SECOND: f64 = 6_000.0;
/// Connections of the unmeasured calls.
const UNMEASURED_DESKS: usize = 8;

/// Options of `carrel lab run holds`.
#[derive(Debug, Clone)]
pub struct HoldsOptions {
    /// Address of the API, `http://host:port`.
    pub address: String,
    /// User of all calls.
    pub credentials: Credentials,
    /// The generated library that was loaded there.
    pub library: Library,
    /// Options of every run.
    pub run: RunOptions,
}

/// Plays the three kinds of hold and the floor, prints the figures and writes the requested files.
pub async fn run_holds(options: HoldsOptions) -> Result<RunReport> {
    let report = on_own_thread(move || async move {
        let holds = Holds::prepare(&options).await?;
        run(holds, options.address, options.run).await
    });
    let report = report.await?;
    print!("{}", report.table());
    report.save()?;
    Ok(report)
}

const DESCRIPTION: Description = Description {
    title: "Placing holds",
    purpose: "How long it takes until a hold is placed, for a copy, for a title in whichever copy, and by the \
        reader himself, and how many the machine places in a second, compared with the least SQL that does the same \
        work durably on the same database in the same minute (the floor).",
    method: "\
- One call per hold, over keep-alive connections without packet delay, one per desk; no pauses, no preflights.
- Arrivals follow a schedule and do not wait for slow answers. When all desks are busy they queue, and a time \
counts from the scheduled arrival to the last byte of the answer. Failed calls are counted and have no time.
- Patron holds are in turns for an item and for an instance.
- Of 1,000 requests 500 are for a copy that is on the shelf and is paged, 400 for a copy for which 1 to 5 readers \
wait, 80 for titles with 1 to 50 copies (half of them available, half requested once each), 18 for a copy with a \
queue of 100, 2 for one with a queue of 1,000. Queues grow by what a phase places.
- Nobody asks for a title twice in a phase; what a phase placed is cancelled after it, unmeasured.
- The floor is pgbench with a fixed script of prepared statements: begin, read patron and item by barcode, insert a \
loan, update the item's status, commit. Its tables have as many rows as the data set, keys and barcode indexes only.
- Processor time is that of all processes: generator, server, database.
",
    bar_tps: None,
    against: Some(Against {
        operation: "instance_level",
        other: "item_level",
        bar: 1.3,
        key: "instance_over_item",
    }),
};

/// A run in progress.
struct Holds {
    address: Address,
    clerk: Connection,
    session: Session,
    connections: Vec<Connection>,
    mix: Mix,
    pickup: Uuid,
    kinds: Vec<(&'static str, HoldKind)>,
    /// Ways of placing a hold whose kinds the server does not have.
    unknown: Vec<String>,
    cancelled: Samples,
}

impl Workload for Holds {
    type Operation = HoldKind;
    const DESCRIPTION: &'static Description = &DESCRIPTION;

    fn operations(&self) -> Vec<(&'static str, HoldKind)> {
        self.kinds.clone()
    }

    async fn data_size(&mut self) -> Result<DataSize> {
        DataSize::ask(&mut self.clerk, &self.session).await
    }

    async fn warm_up(&mut self, workers: usize) -> Result<()> {
        for (name, kind) in HoldKind::ALL {
            // Two turns cover both routes of a kind.
            let probe = self.ask(kind, 1, Tempo::Saturated(Duration::MAX), 2).await?;
            if let Some(text) = probe.failure_texts().iter().find(|text| text.starts_with("501 ")) {
                let name = name.replace('_', " ");
                eprintln!("{name}: {text}");
                self.unknown.push(format!("{name}: the server answers 501"));
                self.kinds.retain(|(_, other)| *other != kind);
            }
        }
        for (_, kind) in self.operations() {
            self.play(kind, workers, Tempo::Saturated(Duration::from_millis(300))).await?;
        }
        Ok(())
    }

    async fn begin_level(&mut self) -> Result<()> {
        self.session.renew(&mut self.clerk).await
    }

    async fn play(&mut self, kind: HoldKind, workers: usize, tempo: Tempo) -> Result<Samples> {
        let number = match tempo {
            Tempo::Saturated(length) => length.as_secs_f64() * MOST_PER_SECOND,
            Tempo::Paced { rate, length } => (rate * length.as_secs_f64()).round().max(1.0),
        };
        self.ask(kind, workers, tempo, number as usize).await
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.unknown.clone();
        if self.cancelled.failures() > 0 {
            notes.push(format!(
                "{} of the requests placed could not be cancelled, the next run will try again: {}",
                self.cancelled.failures(),
                self.cancelled.failure_texts().join("; ")
            ));
        }
        notes
    }
}

impl Holds {
    async fn prepare(options: &HoldsOptions) -> Result<Holds> {
        let address = Address::parse(&options.address)?;
        let mut clerk = Connection::new(address.clone());
        let session = Session::login(&mut clerk, options.credentials.clone()).await?;
        let library = options.library;
        let last_user = library.user_id(library.users).to_string();
        if !exists(&mut clerk, &session, "/users", &last_user).await? {
            return Err(LabError::new(format!(
                "there is no user number {}; load a data set of this size first",
                library.users
            )));
        }
        let popular = PopularInstances::beside(library)?;
        load_popular(&address, &session, &popular).await?;
        let workers = options.run.timing.most_users();
        let mut holds = Holds {
            connections: (0..workers).map(|_| Connection::new(address.clone())).collect(),
            address,
            clerk,
            session,
            mix: Mix::of(&library, &popular),
            pickup: data::named(data::DESK),
            kinds: HoldKind::ALL.to_vec(),
            unknown: Vec::new(),
            cancelled: Samples::default(),
        };
        holds.queue_up(popular).await?;
        Ok(holds)
    }

    /// Cancels the requests of an interrupted run, and creates the missing queues.
    async fn queue_up(&mut self, popular: PopularInstances) -> Result<()> {
        let patrons: HashSet<Uuid> = self.mix.patrons().iter().copied().collect();
        let open = open_requests(&mut self.clerk, &self.session, &patrons).await?;
        if !open.of_patrons.is_empty() {
            eprintln!("cancelling {} requests that an earlier run left", open.of_patrons.len());
            self.cancel(open.of_patrons).await?;
        }
        let titles = popular.titles.len() as u64;
        let (popular, there) = (Arc::new(popular), Arc::new(open.ids));
        let (session, pickup) = (self.session.clone(), self.pickup);
        let made = self
            .unmeasured(titles, |connection| QueueWorker {
                connection,
                session: session.clone(),
                popular: popular.clone(),
                there: there.clone(),
                pickup,
            })
            .await?;
        match made.failure_texts().first() {
            Some(text) => Err(LabError::new(format!("the queues could not be created: {text}"))),
            None => Ok(()),
        }
    }

    /// Plays a phase of at most `number` requests, and cancels them afterwards.
    async fn ask(&mut self, kind: HoldKind, workers: usize, tempo: Tempo, number: usize) -> Result<Samples> {
        let (pickup, headers) = (self.pickup, self.session.headers());
        let requests = Arc::new(HoldRequests { kind, requests: self.mix.draw(number), pickup, headers });
        let most = requests.requests.len() as u64;
        let connections = self.connections.drain(..workers.min(self.connections.len()));
        let workers = connections
            .map(|connection| HoldWorker { connection, requests: requests.clone(), placed: Vec::new() })
            .collect();
        let (workers, samples) = play(workers, tempo, most).await?;
        let mut placed = Vec::new();
        for worker in workers {
            placed.extend(worker.placed);
            self.connections.push(worker.connection);
        }
        self.cancel(placed).await?;
        Ok(samples)
    }

    async fn cancel(&mut self, placed: Vec<Bytes>) -> Result<()> {
        self.session.renew(&mut self.clerk).await?;
        let (placed, session) = (Arc::new(placed), self.session.clone());
        let cancelled = self
            .unmeasured(placed.len() as u64, |connection| CancelWorker {
                connection,
                session: session.clone(),
                placed: placed.clone(),
            })
            .await?;
        self.cancelled.merge(cancelled);
        Ok(())
    }

    /// Runs unmeasured work on separate connections.
    async fn unmeasured<D: Worker>(&self, turns: u64, worker: impl Fn(Connection) -> D) -> Result<Samples> {
        let workers = (0..UNMEASURED_DESKS).map(|_| worker(Connection::new(self.address.clone()))).collect();
        let (_, samples) = play(workers, Tempo::Saturated(Duration::MAX), turns).await?;
        Ok(samples)
    }
}
