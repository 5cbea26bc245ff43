//! Pools of connections: one per role and kind of work, all to one server and within one budget.
//!
//! The budget bounds the open connections, idle ones included. If a pool needs another connection and the budget is
//! used up, it takes the slot of the connection that has been idle longest in any pool; if none is idle, callers wait
//! in order of arrival. So any number of tenants works with any budget, and unused tenants never use up the server's
//! `max_connections`.
//!
//! A task that holds a connection must not borrow another one: a few such tasks would wait for each other until their
//! time-outs. Builds with debug assertions panic if one does.

mod connection;

pub use connection::{Connection, NoAnswer};

use crate::{Members, QUERY_TIMEOUT, Server, database_unreachable, failure, is_shortage};
use carrel_records::Failure;
use std::collections::{BTreeMap, HashMap, VecDeque};
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

/// The longest wait for a connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest time to open a connection, authentication included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection that was idle for this long is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Number of checks for idle connections within that time.
const SWEEPS: u32 = 6;
/// When the budget is used up, a pool keeps a released connection for its own callers until a caller of another pool
/// has waited this long: opening a connection costs more than most work on it.
const OWN_CALLERS_FIRST: Duration = Duration::from_millis(50);
/// The time-out of an empty query to a server that has not answered before.
const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// The interval of attempts to connect to a server that has reached its limit of connections.
const RETRY_SHORTAGE: Duration = Duration::from_millis(100);
/// Statements that one connection keeps prepared, at most.
const MAX_PREPARED: usize = 1_000;

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
    budget: usize,
    state: Mutex<State>,
    /// A pipeline was not answered in time, and nothing has been answered since.
    silent: AtomicBool,
    /// When the server was last probed, and whether it answered; locked during a probe.
    probed: tokio::sync::Mutex<Option<(Instant, bool)>>,
}

#[derive(Default)]
struct State {
    /// Connections open or being opened.
    open: usize,
    pools: BTreeMap<u64, PoolState>,
    next_pool: u64,
    next_ticket: u64,
    /// Borrowed connections, by the task that borrowed them.
    borrowers: HashMap<tokio::task::Id, usize>,
}

struct PoolState {
    size: usize,
    /// Connections borrowed or being opened.
    in_use: usize,
    /// The most recently used one is last.
    idle: VecDeque<Idle>,
    waiting: VecDeque<Waiting>,
}

struct Idle {
    client: PooledClient,
    since: Instant,
}

struct Waiting {
    ticket: u64,
    since: Instant,
    turn: oneshot::Sender<Slot>,
}

/// A connection and its prepared statements.
struct PooledClient {
    client: Client,
    /// Drives the connection; it ends when the client is dropped.
    driver: JoinHandle<()>,
    statements: Mutex<HashMap<String, Statement>>,
}

/// The right to use one connection of a pool, which is open or may be opened.
struct Slot {
    shared: Arc<Shared>,
    pool: u64,
    client: Option<PooledClient>,
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
            budget: budget.max(1),
            state: Mutex::default(),
            silent: AtomicBool::new(false),
            probed: tokio::sync::Mutex::new(None),
        });
        let swept = Arc::downgrade(&shared);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(idle_timeout / SWEEPS).await;
                let Some(shared) = swept.upgrade() else { return };
                shared.close_idle(idle_timeout);
            }
        });
        Pools { shared }
    }

    /// The servers, one of which is the primary.
    pub fn members(&self) -> &Arc<Members> {
        &self.shared.members
    }

    /// A pool for one role and schema; with `None`, for the role of the server's address.
    pub fn open(
        &self,
        schema: Option<&str>,
        size: usize,
        work: Work,
        watched: Option<Arc<WatchedTables>>,
    ) -> OpenPool {
        // A longer wait for a row lock means that a transaction hangs; the caller gets an error.
        let mut options = String::from("-c lock_timeout=7500 -c idle_in_transaction_session_timeout=30000");
        options.push_str(match work {
            // Planning such a statement takes up to forty times as long as running it, and the plan does not depend on
            // the values: it is planned once per connection. Sequential scans are off, since tables that are empty at
            // planning time grow later.
            Work::Writes | Work::Upkeep => " -c plan_cache_mode=force_generic_plan -c enable_seqscan=off",
            // A client's query is planned for its values: a generic plan would not consider how rare a status is, and
            // would scan the whole table by id.
            Work::Queries => " -c plan_cache_mode=force_custom_plan",
        });
        if let Some(longest) = work.statement_timeout() {
            // A longer statement would delay others.
            options.push_str(&format!(" -c statement_timeout={}", longest.as_millis()));
        }
        options.push_str(" -c jit=off -c timezone=UTC");
        // A statement whose node has died keeps its locks no longer than this.
        options.push_str(" -c client_connection_check_interval=2000");
        if let Some(schema) = schema {
            options.push_str(&format!(" -c role={schema} -c search_path={schema},carrel"));
        }
        // `pg_stat_activity` shows the schema's name.
        let name = schema.map_or_else(|| "carrel".to_owned(), |schema| format!("carrel {schema}"));
        let with_options = |server: &Server| {
            let mut config = server.config.clone();
            config.options(&options).connect_timeout(CONNECT_TIMEOUT).application_name(&name);
            // Without keepalives a server whose machine is gone would be waited for during two hours.
            config.keepalives_idle(Duration::from_secs(15)).keepalives_interval(Duration::from_secs(5));
            config.keepalives_retries(3).tcp_user_timeout(Duration::from_secs(30));
            server.with_config(config)
        };
        let servers = self.shared.members.servers().iter().map(with_options).collect();
        let id = {
            let mut state = self.shared.lock();
            let id = state.next_pool;
            state.next_pool += 1;
            let pool =
                PoolState { size: size.max(1), in_use: 0, idle: VecDeque::new(), waiting: VecDeque::new() };
            state.pools.insert(id, pool);
            id
        };
        let timeout = work.statement_timeout().unwrap_or(QUERY_TIMEOUT) + TIMEOUT_MARGIN;
        let entry =
            Entry { id, size: size.max(1), servers, timeout, watched, shared: Arc::clone(&self.shared) };
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
    /// Each member, with what this pool asks of its connections.
    servers: Vec<Server>,
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
    /// Borrows a connection, waiting at most 10 seconds for one.
    ///
    /// # Panics With debug assertions, if the task already holds a connection to the same server.
    pub async fn get(&self) -> Result<Connection, Failure> {
        let borrower = self.entry.shared.panic_on_second_connection();
        let acquired = tokio::time::timeout(ACQUIRE_TIMEOUT, self.acquire()).await.map_err(|_| busy())??;
        self.entry.shared.note_borrowed(borrower);
        Ok(Connection {
            slot: acquired,
            borrower,
            is_broken: AtomicBool::new(false),
            timeout: self.entry.timeout,
            watched: self.entry.watched.clone(),
            primary: None,
        })
    }

    async fn acquire(&self) -> Result<Slot, Failure> {
        let shared = &self.entry.shared;
        let mut slot = self.wait_for_slot().await?;
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
                    slot.client = Some(PooledClient { client, driver, statements: Mutex::default() });
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

    /// A slot, immediately if one is free, otherwise in order of arrival.
    async fn wait_for_slot(&self) -> Result<Slot, Failure> {
        let shared = &self.entry.shared;
        let receiver = {
            let mut state = shared.lock();
            let pool = state.pools.get(&self.entry.id).ok_or_else(closing)?;
            if pool.waiting.is_empty()
                && let Some(client) = state.take(self.entry.id, shared.budget)
            {
                return Ok(shared.slot(self.entry.id, client));
            }
            let (turn, receiver) = oneshot::channel();
            let ticket = state.next_ticket;
            state.next_ticket += 1;
            let pool = state.pools.get_mut(&self.entry.id).ok_or_else(closing)?;
            pool.waiting.push_back(Waiting { ticket, since: Instant::now(), turn });
            receiver
        };
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
        let state = self.entry.shared.lock();
        state
            .pools
            .get(&self.entry.id)
            .map_or((0, 0, 0), |pool| (pool.in_use + pool.idle.len(), pool.idle.len(), pool.waiting.len()))
    }
}

impl State {
    /// Takes the right to one more connection of the pool, with the connection if one is idle; `None` if the limit of
    /// the pool or the budget is reached.
    fn take(&mut self, id: u64, budget: usize) -> Option<Option<PooledClient>> {
        let pool = self.pools.get_mut(&id)?;
        if pool.in_use >= pool.size {
            return None;
        }
        if let Some(idle) = pool.idle.pop_back() {
            pool.in_use += 1;
            return Some(Some(idle.client));
        }
        if self.open >= budget {
            let oldest = self.pools.values_mut().filter(|pool| !pool.idle.is_empty());
            let oldest = oldest.min_by_key(|pool| pool.idle.front().map(|idle| idle.since))?;
            // Dropping the client ends its connection.
            oldest.idle.pop_front();
            self.open -= 1;
        }
        self.open += 1;
        self.pools.get_mut(&id)?.in_use += 1;
        Some(None)
    }

    /// The pool whose first caller is served next: the longest waiting one, unless serving it would take a connection
    /// from a pool that has waiting callers.
    fn next_served(&self, budget: usize) -> Option<u64> {
        let eligible = || {
            self.pools.iter().filter_map(|(id, pool)| {
                let first = pool.waiting.front().filter(|_| pool.in_use < pool.size)?;
                Some((*id, pool, first))
            })
        };
        let (id, pool, first) = eligible().min_by_key(|(.., first)| first.ticket)?;
        let takes_away = pool.idle.is_empty() && self.open >= budget;
        if takes_away && first.since.elapsed() < OWN_CALLERS_FIRST {
            let own = eligible().filter(|(_, pool, _)| !pool.idle.is_empty());
            if let Some((id, ..)) = own.min_by_key(|(.., first)| first.ticket) {
                return Some(id);
            }
        }
        Some(id)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock panics")
    }

    fn slot(self: &Arc<Self>, pool: u64, client: Option<PooledClient>) -> Slot {
        Slot { shared: Arc::clone(self), pool, client }
    }

    /// Gives free slots to waiting callers.
    fn serve(self: &Arc<Self>) {
        loop {
            let (turn, slot) = {
                let mut state = self.lock();
                let Some(id) = state.next_served(self.budget) else { return };
                let Some(client) = state.take(id, self.budget) else { return };
                let waiting = state.pools.get_mut(&id).and_then(|pool| pool.waiting.pop_front());
                let slot = self.slot(id, client);
                match waiting {
                    Some(waiting) => (waiting.turn, slot),
                    None => return,
                }
            };
            // If the receiver is gone, dropping the slot returns it.
            let _ = turn.send(slot);
        }
    }

    fn close_idle(&self, longer_than: Duration) {
        let mut state = self.lock();
        let mut closed = 0;
        for pool in state.pools.values_mut() {
            while pool.idle.front().is_some_and(|idle| idle.since.elapsed() >= longer_than) {
                pool.idle.pop_front();
                closed += 1;
            }
        }
        state.open -= closed;
    }

    fn close_pool(self: &Arc<Self>, id: u64) {
        {
            let mut state = self.lock();
            let Some(pool) = state.pools.remove(&id) else { return };
            state.open -= pool.idle.len();
        }
        self.serve();
    }

    /// Panics if the task holds a connection to this server: see the documentation of this file.
    fn panic_on_second_connection(&self) -> Option<tokio::task::Id> {
        if !cfg!(debug_assertions) {
            return None;
        }
        let task = tokio::task::try_id()?;
        let holds = self.lock().borrowers.contains_key(&task);
        assert!(!holds, "a task that holds a database connection asks for a second one");
        Some(task)
    }

    fn note_borrowed(&self, borrower: Option<tokio::task::Id>) {
        if let Some(task) = borrower {
            *self.lock().borrowers.entry(task).or_insert(0) += 1;
        }
    }

    fn note_returned(&self, borrower: Option<tokio::task::Id>) {
        if let Some(task) = borrower {
            let mut state = self.lock();
            if let Some(count) = state.borrowers.get_mut(&task) {
                *count -= 1;
                if *count == 0 {
                    state.borrowers.remove(&task);
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
        {
            let mut guard = self.shared.lock();
            let state = &mut *guard;
            match (state.pools.get_mut(&self.pool), client) {
                (Some(pool), Some(client)) => {
                    pool.in_use -= 1;
                    pool.idle.push_back(Idle { client, since: Instant::now() });
                }
                (Some(pool), None) => {
                    pool.in_use -= 1;
                    state.open -= 1;
                }
                // The pool was closed in the meantime.
                (None, _) => state.open -= 1,
            }
        }
        self.shared.serve();
    }
}
