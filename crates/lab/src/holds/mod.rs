//! `lab run holds`: placing a hold in three ways, with the floor of a hold measured in the same minute.
//!
//! It is played on the library that `lab load` makes, and beside it on titles that many want (`data::wanted`),
//! which a run makes where they are lacking. Every phase asks for what `mix` draws; what it placed is cancelled
//! after it, unmeasured.

mod ask;
mod cancel;
mod mix;
mod queues;

use crate::client::{Address, Connection, Credentials, Session};
use crate::data::{self, Library, Wanted};
use crate::error::{LabError, Result};
use crate::load::{exists, load_wanted};
use crate::player::{Desk, Tempo, on_own_thread, play};
use crate::report::{Against, DataSize, Description, RunReport};
use crate::run::{RunOptions, Workload, run};
use crate::samples::Samples;
use ask::{AskDesk, Asks, Way};
use bytes::Bytes;
use cancel::CancelDesk;
use mix::Mix;
use queues::{QueueDesk, open_requests};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// No server on a machine of this size answers faster; only so many requests are drawn for a saturated phase.
const MOST_PER_SECOND: f64 = 6_000.0;
/// What is not measured goes over so many connections.
const UNMEASURED_DESKS: usize = 8;

/// What `carrel lab run holds` is asked to do.
#[derive(Debug, Clone)]
pub struct HoldsOptions {
    /// Address of the API, `http://host:port`.
    pub address: String,
    /// Who logs in.
    pub credentials: Credentials,
    /// The library that was loaded there.
    pub library: Library,
    /// What every run is asked for.
    pub run: RunOptions,
}

/// Plays the three ways and the floor, prints the figures and writes the files that were asked for.
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
    ways: Vec<(&'static str, Way)>,
    /// Ways that the server does not know.
    unknown: Vec<String>,
    cancelled: Samples,
}

impl Workload for Holds {
    type Operation = Way;
    const DESCRIPTION: &'static Description = &DESCRIPTION;

    fn operations(&self) -> Vec<(&'static str, Way)> {
        self.ways.clone()
    }

    async fn data_size(&mut self) -> Result<DataSize> {
        DataSize::ask(&mut self.clerk, &self.session).await
    }

    async fn warm_up(&mut self, desks: usize) -> Result<()> {
        for (name, way) in Way::ALL {
            // Two turns are all the routes that a way has.
            let probe = self.ask(way, 1, Tempo::Saturated(Duration::MAX), 2).await?;
            if let Some(text) = probe.failure_texts().iter().find(|text| text.starts_with("501 ")) {
                let name = name.replace('_', " ");
                eprintln!("{name}: {text}");
                self.unknown.push(format!("{name}: the server answers 501"));
                self.ways.retain(|(_, other)| *other != way);
            }
        }
        for (_, way) in self.operations() {
            self.play(way, desks, Tempo::Saturated(Duration::from_millis(300))).await?;
        }
        Ok(())
    }

    async fn begin_level(&mut self) -> Result<()> {
        self.session.renew(&mut self.clerk).await
    }

    async fn play(&mut self, way: Way, desks: usize, tempo: Tempo) -> Result<Samples> {
        let number = match tempo {
            Tempo::Saturated(length) => length.as_secs_f64() * MOST_PER_SECOND,
            Tempo::Paced { rate, length } => (rate * length.as_secs_f64()).round().max(1.0),
        };
        self.ask(way, desks, tempo, number as usize).await
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
        let wanted = Wanted::beside(library)?;
        load_wanted(&address, &session, &wanted).await?;
        let desks = options.run.timing.most_users();
        let mut holds = Holds {
            connections: (0..desks).map(|_| Connection::new(address.clone())).collect(),
            address,
            clerk,
            session,
            mix: Mix::of(&library, &wanted),
            pickup: data::named(data::DESK),
            ways: Way::ALL.to_vec(),
            unknown: Vec::new(),
            cancelled: Samples::default(),
        };
        holds.queue_up(wanted).await?;
        Ok(holds)
    }

    /// Clears away what an earlier run left, and makes the queues that are lacking.
    async fn queue_up(&mut self, wanted: Wanted) -> Result<()> {
        let readers: HashSet<Uuid> = self.mix.readers().iter().copied().collect();
        let open = open_requests(&mut self.clerk, &self.session, &readers).await?;
        if !open.of_readers.is_empty() {
            eprintln!("cancelling {} requests that an earlier run left", open.of_readers.len());
            self.cancel(open.of_readers).await?;
        }
        let titles = wanted.titles.len() as u64;
        let (wanted, there) = (Arc::new(wanted), Arc::new(open.ids));
        let (session, pickup) = (self.session.clone(), self.pickup);
        let made = self
            .unmeasured(titles, |connection| QueueDesk {
                connection,
                session: session.clone(),
                wanted: wanted.clone(),
                there: there.clone(),
                pickup,
            })
            .await?;
        match made.failure_texts().first() {
            Some(text) => Err(LabError::new(format!("the queues could not be made: {text}"))),
            None => Ok(()),
        }
    }

    /// Plays a phase of at most `number` requests, and cancels what it placed.
    async fn ask(&mut self, way: Way, desks: usize, tempo: Tempo, number: usize) -> Result<Samples> {
        let (pickup, headers) = (self.pickup, self.session.headers());
        let asks = Arc::new(Asks { way, asks: self.mix.draw(number), pickup, headers });
        let most = asks.asks.len() as u64;
        let connections = self.connections.drain(..desks.min(self.connections.len()));
        let desks = connections
            .map(|connection| AskDesk { connection, asks: asks.clone(), placed: Vec::new() })
            .collect();
        let (desks, samples) = play(desks, tempo, most).await?;
        let mut placed = Vec::new();
        for desk in desks {
            placed.extend(desk.placed);
            self.connections.push(desk.connection);
        }
        self.cancel(placed).await?;
        Ok(samples)
    }

    async fn cancel(&mut self, placed: Vec<Bytes>) -> Result<()> {
        self.session.renew(&mut self.clerk).await?;
        let (placed, session) = (Arc::new(placed), self.session.clone());
        let cancelled = self
            .unmeasured(placed.len() as u64, |connection| CancelDesk {
                connection,
                session: session.clone(),
                placed: placed.clone(),
            })
            .await?;
        self.cancelled.merge(cancelled);
        Ok(())
    }

    /// Does work that is not measured, over connections of its own.
    async fn unmeasured<D: Desk>(&self, turns: u64, desk: impl Fn(Connection) -> D) -> Result<Samples> {
        let desks = (0..UNMEASURED_DESKS).map(|_| desk(Connection::new(self.address.clone()))).collect();
        let (_, samples) = play(desks, Tempo::Saturated(Duration::MAX), turns).await?;
        Ok(samples)
    }
}
