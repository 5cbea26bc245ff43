//! Pools of connections: one per role and kind of work, all to one server and within one budget.
//!
//! The budget bounds the open connections, idle ones included. If a pool needs another connection and the budget is
//! used up, it takes over the connection that has been idle longest in any pool; if none is idle, callers wait, and
//! tenants are served in turn (`budget.rs`). So any number of tenants works with any budget, and unused tenants never
//! use up the server's `max_connections`.
//!
//! A connection that is handed over to another tenant changes its role, its search path and its settings, and loses its
//! prepared statements. That costs one round trip; opening a connection costs a process and an authentication.
//!
//! A task that holds a connection must not borrow another one, except from a pool for that ([`Pools::open_second`]): a
//! few such tasks would wait for each other until their time-outs. Builds with debug assertions panic if one does.

mod budget;
mod connection;
mod session;

pub use connection::{Connection, NoAnswer};

use crate::{Members, QUERY_TIMEOUT, Server, database_unreachable, failure, is_shortage};
use budget::{Budget, Grant, PoolKind, Purpose};
use carrel_records::Failure;
use session::Session;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Statement};

/// Where the PostgreSQL servers are and how many connections they get from this node.
#[derive(Debug, Clone)]
pub struct Address {
    /// The primary; where it names several hosts, the one of them that is the primary.
    pub primary: Server,
    /// Standbys to read from; one that is promoted is the primary from then on.
    pub replicas: Vec<Server>,
    /// Connections per tenant for writing; the same number again for reading from each replica.
    pub per_tenant: usize,
}

/// The longest wait for a connection to answer a call.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// The same for work that no client waits for.
const BACKGROUND_ACQUIRE_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest time to open a connection, authentication included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection that was idle for this long is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Number of checks for idle connections within that time.
const SWEEPS: u32 = 6;
/// The time-out of an empty query to a server that has not answered before.
const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// The interval of attempts to connect to a server that has reached its limit of connections.
const RETRY_SHORTAGE: Duration = Duration::from_millis(100);
/// Statements that one connection keeps prepared, at most.
const MAX_PREPARED: usize = 1_000;
/// A connection that has been handed over so often is closed instead: the server keeps what it has read of each
/// tenant's catalog in the memory of the connection.
const MAX_HAND_OVERS: usize = 20;

tokio::task_local! {
    /// Set in tasks that no client waits for.
    static IN_BACKGROUND: ();
}

/// Runs work that no client waits for: it borrows at most a quarter of the connections for calls.
pub async fn in_background<F: Future>(work: F) -> F::Output {
    IN_BACKGROUND.scope((), work).await
}

/// The statement time-out of the program's own statements.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(20);
/// The client's time-out is this much longer than the server's, whose error is more precise.
const TIMEOUT_MARGIN: Duration = Duration::from_secs(5);

fn busy() -> Failure {
    Failure::Unavailable("All connections to the database are busy. Try again in a moment.".into())
}

fn closing() -> Failure {
    Failure::Unavailable("The tenant is being closed.".into())
}

/// The use of a pool's connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// The program's own statements, which are few; each takes at most 20 seconds.
    Writes,
    /// Clients' CQL queries; each takes at most 60 seconds.
    Queries,
    /// Upgrades and other maintenance, without a time-out on the server.
    Upkeep,
}

impl Work {
    fn statement_timeout(self) -> Option<Duration> {
        match self {
            Work::Writes => Some(WRITE_TIMEOUT),
            Work::Queries => Some(QUERY_TIMEOUT),
            Work::Upkeep => None,
        }
    }
}

/// Tables that every node caches, and what a transaction does in addition if it changes one of them.
pub struct WatchedTables {
    pub tables: std::collections::HashSet<&'static str>,
    /// Statements sent right before the COMMIT.
    pub before_commit: Vec<&'static str>,
    /// Called after the COMMIT.
    pub committed: Box<dyn Fn() + Send + Sync>,
}

/// The pools of one server, or of whichever of several is the primary, under one budget of open connections.
#[derive(Clone)]
pub struct Pools {
    shared: Arc<Shared>,
}

struct Shared {
    members: Arc<Members>,
    budget: Mutex<Budget<PooledClient, oneshot::Sender<Slot>>>,
    /// Borrowed connections by the task that borrowed them, and whether they are second ones; with debug assertions.
    borrowers: Mutex<HashMap<Borrower, usize>>,
    /// A pipeline was not answered in time, and nothing has been answered since.
    silent: AtomicBool,
    /// When the server was last probed, and whether it answered; locked during a probe.
    probed: tokio::sync::Mutex<Option<(Instant, bool)>>,
}

type Borrower = (tokio::task::Id, bool);

/// A connection and its prepared statements.
struct PooledClient {
    client: Client,
    /// Drives the connection; it ends when the client is dropped.
    driver: JoinHandle<()>,
    statements: Mutex<HashMap<String, Statement>>,
    /// How often it was handed over to another pool.
    hand_overs: usize,
}

/// The right to use one connection of a pool, which is open or may be opened.
struct Slot {
    shared: Arc<Shared>,
    pool: u64,
    purpose: Purpose,
    client: Option<PooledClient>,
    /// A connection of another pool, to be taken over.
    other: Option<PooledClient>,
    /// When the pool got the connection.
    obtained: Instant,
}

impl Pools {
    /// Pools to a server with at most `budget` open connections in total.
    pub fn new(server: Server, budget: usize) -> Pools {
        Pools::with_idle_timeout(server, budget, IDLE_TIMEOUT)
    }

    /// The same of the server that is the primary.
    pub fn of_primary(members: Arc<Members>, budget: usize) -> Pools {
        Pools::with(members, budget, IDLE_TIMEOUT)
    }

    /// The same of one server, with another time after which a connection that nobody uses is closed.
    pub fn with_idle_timeout(server: Server, budget: usize, idle_timeout: Duration) -> Pools {
        Pools::with(Members::one(server), budget, idle_timeout)
    }

    fn with(members: Arc<Members>, budget: usize, idle_timeout: Duration) -> Pools {
        let shared = Arc::new(Shared {
            members,
            budget: Mutex::new(Budget::new(budget)),
            borrowers: Mutex::default(),
            silent: AtomicBool::new(false),
            probed: tokio::sync::Mutex::new(None),
        });
        let swept = Arc::downgrade(&shared);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(idle_timeout / SWEEPS).await;
                let Some(shared) = swept.upgrade() else { return };
                let idle = shared.lock().take_idle(idle_timeout, Instant::now());
                drop(idle);
            }
        });
        Pools { shared }
    }

    /// The servers, one of which is the primary.
    pub fn members(&self) -> &Arc<Members> {
        &self.shared.members
    }

    /// Sets the number of connections that may be open at the same time.
    pub fn set_budget(&self, budget: usize) {
        let surplus = self.shared.lock().set_limit(budget);
        drop(surplus);
        self.shared.serve();
    }

    /// Connections that are open, and that may be.
    pub fn usage(&self) -> (usize, usize) {
        let budget = self.shared.lock();
        (budget.open(), budget.limit())
    }

    /// A pool for one role and schema; with `None`, for the role of the server's address.
    pub fn open(
        &self,
        schema: Option<&str>,
        size: usize,
        work: Work,
        watched: Option<Arc<WatchedTables>>,
    ) -> OpenPool {
        self.open_as(schema, size, work, watched, false)
    }

    /// A pool for tasks that already hold a connection of another pool. It has a share of the budget of its own; a task
    /// with one of these connections must not wait for another one.
    pub fn open_second(&self, schema: &str, size: usize, work: Work) -> OpenPool {
        self.open_as(Some(schema), size, work, None, true)
    }

    fn open_as(
        &self,
        schema: Option<&str>,
        size: usize,
        work: Work,
        watched: Option<Arc<WatchedTables>>,
        is_second: bool,
    ) -> OpenPool {
        let size = size.max(1);
        let session = Session::new(schema, work);
        let with_options = |server: &Server| {
            let mut config = server.config.clone();
            config.options(session.startup_options()).connect_timeout(CONNECT_TIMEOUT);
            config.application_name(session.name());
            // Without keepalives a server whose machine is gone would be waited for during two hours.
            config.keepalives_idle(Duration::from_secs(15)).keepalives_interval(Duration::from_secs(5));
            config.keepalives_retries(3).tcp_user_timeout(Duration::from_secs(30));
            server.with_config(config)
        };
        let servers = self.shared.members.servers().iter().map(with_options).collect();
        let hands_over = session.hands_over();
        let id = self.shared.lock().add_pool(&PoolKind { tenant: schema, size, is_second, hands_over });
        let timeout = work.statement_timeout().unwrap_or(QUERY_TIMEOUT) + TIMEOUT_MARGIN;
        let shared = Arc::clone(&self.shared);
        let entry = Entry { id, size, is_second, servers, session, timeout, watched, shared };
        OpenPool { entry: Arc::new(entry) }
    }
}

/// The connections of one role to one server; they are closed when the last clone of this value is dropped.
#[derive(Clone)]
pub struct OpenPool {
    entry: Arc<Entry>,
}

struct Entry {
    id: u64,
    size: usize,
    is_second: bool,
    /// Each member, with what this pool asks of its connections.
    servers: Vec<Server>,
    session: Session,
    timeout: Duration,
    watched: Option<Arc<WatchedTables>>,
    shared: Arc<Shared>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.shared.close_pool(self.id);
    }
}

impl OpenPool {
    /// Borrows a connection, waiting at most 10 seconds for one, or a minute for work that no client waits for.
    ///
    /// # Panics With debug assertions, if the task already holds a connection to the same server.
    pub async fn get(&self) -> Result<Connection, Failure> {
        let shared = &self.entry.shared;
        let (purpose, longest) = match IN_BACKGROUND.try_with(|()| ()) {
            Ok(()) => (Purpose::Background, BACKGROUND_ACQUIRE_TIMEOUT),
            Err(_) => (Purpose::Call, ACQUIRE_TIMEOUT),
        };
        let purpose = if self.entry.is_second { Purpose::Second } else { purpose };
        let borrower = shared.panic_on_second_connection(self.entry.is_second);
        let acquired = tokio::time::timeout(longest, self.acquire(purpose)).await.map_err(|_| busy())??;
        shared.note_borrowed(borrower);
        Ok(Connection {
            slot: acquired,
            borrower,
            is_broken: AtomicBool::new(false),
            timeout: self.entry.timeout,
            work: self.entry.session.work(),
            watched: self.entry.watched.clone(),
            primary: None,
        })
    }

    async fn acquire(&self, purpose: Purpose) -> Result<Slot, Failure> {
        let shared = &self.entry.shared;
        let mut slot = self.wait_for_slot(purpose).await?;
        if let Some(mut client) = slot.other.take()
            && !shared.silent.load(Relaxed)
            && client.hand_overs < MAX_HAND_OVERS
        {
            client.hand_overs += 1;
            // The statements are closed on the server as well.
            client.statements.lock().expect("no holder of this lock panics").clear();
            let changed = client.client.batch_execute(self.entry.session.hand_over_sql());
            if let Ok(Ok(())) = tokio::time::timeout(PING_TIMEOUT, changed).await {
                slot.client = Some(client);
            }
        }
        if let Some(client) = &slot.client {
            if client.client.is_closed() {
                // The connection broke while it was idle; its slot may open another one.
                slot.client = None;
            } else if shared.silent.load(Relaxed) {
                match tokio::time::timeout(PING_TIMEOUT, client.client.simple_query("")).await {
                    Ok(Ok(_)) => shared.silent.store(false, Relaxed),
                    Ok(Err(_)) => slot.client = None,
                    Err(_) => {
                        slot.abandon();
                        return Err(database_unreachable());
                    }
                }
            }
        }
        while slot.client.is_none() {
            let timeout = if shared.silent.load(Relaxed) { PING_TIMEOUT } else { CONNECT_TIMEOUT };
            let chosen = shared.members.chosen();
            match tokio::time::timeout(timeout, self.entry.servers[chosen.index].connect()).await {
                Ok(Ok((client, connection))) => {
                    shared.silent.store(false, Relaxed);
                    let moved = shared.members.moved_since(chosen);
                    let driver = tokio::spawn(async move {
                        // The driver's result is not needed: users of the connection see its end.
                        tokio::select! {
                            _ = connection => {}
                            () = moved => {}
                        }
                    });
                    let statements = Mutex::default();
                    slot.client = Some(PooledClient { client, driver, statements, hand_overs: 0 });
                    slot.obtained = Instant::now();
                }
                // Other programs have used up the server's connections; retry until one is free or the time-out is
                // reached.
                Ok(Err(error)) if is_shortage(&error) => tokio::time::sleep(RETRY_SHORTAGE).await,
                Ok(Err(error)) => {
                    shared.members.poll_now();
                    return Err(failure(error, "opening a connection to the database"));
                }
                Err(_) => {
                    shared.silent.store(true, Relaxed);
                    shared.members.poll_now();
                    return Err(database_unreachable());
                }
            }
        }
        Ok(slot)
    }

    /// A slot, immediately if one is free, otherwise when it is the tenant's turn.
    async fn wait_for_slot(&self, purpose: Purpose) -> Result<Slot, Failure> {
        let (shared, id) = (&self.entry.shared, self.entry.id);
        let receiver = {
            let mut budget = shared.lock();
            if budget.is_closed(id) {
                return Err(closing());
            }
            if let Some(grant) = budget.take_at_once(id, purpose) {
                return Ok(shared.slot(id, purpose, grant));
            }
            let (turn, receiver) = oneshot::channel();
            budget.wait(id, purpose, turn);
            receiver
        };
        // Others may wait for what this caller must not have.
        shared.serve();
        receiver.await.map_err(|_| closing())
    }

    /// Closes idle connections now and borrowed ones when they are returned; later callers get an error.
    pub fn close(&self) {
        self.entry.shared.close_pool(self.entry.id);
    }

    /// Connections that may be open at the same time.
    pub fn max_connections(&self) -> usize {
        self.entry.size
    }

    /// The numbers of (open, idle, waiting).
    pub fn usage(&self) -> (usize, usize, usize) {
        self.entry.shared.lock().usage_of(self.entry.id)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Budget<PooledClient, oneshot::Sender<Slot>>> {
        self.budget.lock().expect("no holder of this lock panics")
    }

    fn slot(self: &Arc<Self>, pool: u64, purpose: Purpose, grant: Grant<PooledClient>) -> Slot {
        let shared = Arc::clone(self);
        let (client, other, obtained) = match grant {
            Grant::Own(client, obtained) => (Some(client), None, obtained),
            Grant::HandedOver(client) => (None, Some(client), Instant::now()),
            Grant::New => (None, None, Instant::now()),
        };
        Slot { shared, pool, purpose, client, other, obtained }
    }

    /// Gives free slots to waiting callers.
    fn serve(self: &Arc<Self>) {
        loop {
            let served = self.lock().serve_next(Instant::now(), oneshot::Sender::is_closed);
            let Some((pool, purpose, turn, grant)) = served else { return };
            // If the receiver is gone by now, dropping the slot returns it.
            let _ = turn.send(self.slot(pool, purpose, grant));
        }
    }

    fn close_pool(self: &Arc<Self>, id: u64) {
        let idle = self.lock().close_pool(id);
        drop(idle);
        self.serve();
    }

    /// Panics if the task holds a connection to this server: see the documentation of this file.
    fn panic_on_second_connection(&self, is_second: bool) -> Option<Borrower> {
        if !cfg!(debug_assertions) {
            return None;
        }
        let borrower = (tokio::task::try_id()?, is_second);
        let holds = self.borrowers().contains_key(&borrower);
        assert!(!holds, "a task that holds a database connection asks for a second one");
        Some(borrower)
    }

    fn borrowers(&self) -> MutexGuard<'_, HashMap<Borrower, usize>> {
        self.borrowers.lock().expect("no holder of this lock panics")
    }

    fn note_borrowed(&self, borrower: Option<Borrower>) {
        if let Some(borrower) = borrower {
            *self.borrowers().entry(borrower).or_insert(0) += 1;
        }
    }

    fn note_returned(&self, borrower: Option<Borrower>) {
        if let Some(borrower) = borrower {
            let mut borrowers = self.borrowers();
            if let Some(count) = borrowers.get_mut(&borrower) {
                *count -= 1;
                if *count == 0 {
                    borrowers.remove(&borrower);
                }
            }
        }
    }

    /// Whether the server accepts and authenticates a connection; probed at most once in [`CONNECT_TIMEOUT`].
    async fn answers(&self) -> bool {
        let mut probed = self.probed.lock().await;
        if let Some((at, answered)) = *probed
            && at.elapsed() < CONNECT_TIMEOUT
        {
            return answered;
        }
        // An error answer counts as an answer, too.
        let answered = tokio::time::timeout(CONNECT_TIMEOUT, self.members.primary().connect()).await.is_ok();
        *probed = Some((Instant::now(), answered));
        answered
    }
}

impl Slot {
    /// Closes the connection immediately, even in the middle of a statement.
    fn abandon(&mut self) {
        if let Some(client) = self.client.take() {
            client.driver.abort();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let client = self.client.take().filter(|client| !client.client.is_closed());
        let returned = client.map(|client| (client, self.obtained));
        let closed = self.shared.lock().give_back(self.pool, self.purpose, returned, Instant::now());
        drop(closed);
        self.shared.serve();
    }
}
