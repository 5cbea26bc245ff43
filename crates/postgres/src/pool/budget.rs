//! Who gets a connection next: the bookkeeping of the pools of one server, without connections, clock or tasks.
//!
//! One budget bounds the open connections of all tenants, idle ones included. Tenants with waiting callers are served in
//! turn, so the queue of one tenant delays a call of another by one turn, not by its length. Shares keep work of one kind
//! from using up the budget:
//! - one tenant uses at most three quarters of the connections for calls while the node serves several tenants;
//! - background work uses at most a quarter;
//! - an eighth is for tasks that take a second connection, so that they never wait for each other.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// While tenants wait for each other's connections, a pool keeps one for its own callers for so long after it got it:
/// the first statements of a tenant on a connection cost more than most later ones.
pub(super) const KEEP_FOR_OWN: Duration = Duration::from_millis(100);
/// Connections for tasks that hold another one already, at most.
const MAX_SECOND: usize = 8;
/// Background work may always use this many connections, if there are more.
const MIN_BACKGROUND: usize = 2;

/// What a connection is borrowed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// To answer a client's call.
    Call,
    /// Jobs and other work that no client waits for.
    Background,
    /// In addition to a connection that the same task holds.
    Second,
}

/// The pools of a server; `C` is a connection, `W` a caller that waits for one.
pub(super) struct Budget<C, W> {
    limit: usize,
    /// Connections open or being opened.
    open: usize,
    in_use: InUse,
    pools: BTreeMap<u64, Pool<C, W>>,
    /// Pools that somebody waits for.
    wanted: BTreeSet<u64>,
    tenants: HashMap<Arc<str>, Tenant>,
    /// Of them, those that are not the node itself.
    number_of_tenants: usize,
    has_second: bool,
    next_pool: u64,
    next_ticket: u64,
    next_turn: u64,
}

/// Connections borrowed or being opened, by purpose.
#[derive(Default)]
struct InUse {
    calls: usize,
    background: usize,
    second: usize,
}

/// The pools of one tenant, or those with the node's own role.
#[derive(Default)]
struct Tenant {
    pools: usize,
    /// Connections borrowed for calls or background work.
    in_use: usize,
    /// When it was last served, counted in turns of all tenants.
    last_turn: u64,
}

/// What a pool is for.
pub(super) struct PoolKind<'a> {
    /// `None`: the node's own role.
    pub tenant: Option<&'a str>,
    /// Connections that may be borrowed at the same time.
    pub size: usize,
    /// Its callers hold another connection already.
    pub is_second: bool,
    /// Its connections may be handed over to another such pool.
    pub hands_over: bool,
}

struct Pool<C, W> {
    tenant: Arc<str>,
    size: usize,
    is_second: bool,
    hands_over: bool,
    is_closed: bool,
    /// Connections borrowed or being opened.
    in_use: usize,
    /// The most recently used one is last.
    idle: VecDeque<Idle<C>>,
    calls: VecDeque<Waiting<W>>,
    background: VecDeque<Waiting<W>>,
}

struct Idle<C> {
    connection: C,
    /// When it was last used.
    since: Instant,
    /// When the pool got it.
    obtained: Instant,
}

struct Waiting<W> {
    ticket: u64,
    caller: W,
}

/// The right to use one connection of a pool.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Grant<C> {
    /// This one, which the pool has had since then.
    Own(C, Instant),
    /// One that served another pool until now.
    HandedOver(C),
    /// One that is to be opened.
    New,
}

impl<C, W> Budget<C, W> {
    pub fn new(limit: usize) -> Budget<C, W> {
        Budget {
            limit: limit.max(1),
            open: 0,
            in_use: InUse::default(),
            pools: BTreeMap::new(),
            wanted: BTreeSet::new(),
            tenants: HashMap::new(),
            number_of_tenants: 0,
            has_second: false,
            next_pool: 0,
            next_ticket: 0,
            next_turn: 1,
        }
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Connections open or being opened.
    pub fn open(&self) -> usize {
        self.open
    }

    /// Sets the number of connections that may be open; returns idle ones beyond it, which must be closed. Borrowed ones
    /// beyond it are closed when they are returned.
    pub fn set_limit(&mut self, limit: usize) -> Vec<C> {
        self.limit = limit.max(1);
        let mut surplus = Vec::new();
        while self.open > self.limit
            && let Some((connection, _)) = self.take_least_recently_used()
        {
            self.open -= 1;
            surplus.push(connection);
        }
        surplus
    }

    pub fn add_pool(&mut self, kind: &PoolKind<'_>) -> u64 {
        let id = self.next_pool;
        self.next_pool += 1;
        // No tenant's schema has an empty name.
        let name: Arc<str> = Arc::from(kind.tenant.unwrap_or_default());
        let tenant = self.tenants.entry(Arc::clone(&name)).or_default();
        self.number_of_tenants += usize::from(tenant.pools == 0 && kind.tenant.is_some());
        tenant.pools += 1;
        self.has_second |= kind.is_second;
        let pool = Pool {
            tenant: name,
            size: kind.size.max(1),
            is_second: kind.is_second,
            hands_over: kind.hands_over,
            is_closed: false,
            in_use: 0,
            idle: VecDeque::new(),
            calls: VecDeque::new(),
            background: VecDeque::new(),
        };
        self.pools.insert(id, pool);
        id
    }

    /// Closes a pool; returns its idle connections, which must be closed. Its callers stop waiting.
    pub fn close_pool(&mut self, id: u64) -> Vec<C> {
        let Some(pool) = self.pools.get_mut(&id).filter(|pool| !pool.is_closed) else { return Vec::new() };
        pool.is_closed = true;
        pool.calls.clear();
        pool.background.clear();
        self.wanted.remove(&id);
        let idle: Vec<C> = pool.idle.drain(..).map(|idle| idle.connection).collect();
        self.open -= idle.len();
        self.forget_if_unused(id);
        idle
    }

    pub fn is_closed(&self, id: u64) -> bool {
        self.pools.get(&id).is_none_or(|pool| pool.is_closed)
    }

    /// The numbers of (open, idle, waiting).
    pub fn usage_of(&self, id: u64) -> (usize, usize, usize) {
        self.pools.get(&id).map_or((0, 0, 0), |pool| {
            (pool.in_use + pool.idle.len(), pool.idle.len(), pool.calls.len() + pool.background.len())
        })
    }

    /// A connection at once; `None` if somebody waits already, or a bound is reached.
    pub fn take_at_once(&mut self, id: u64, purpose: Purpose) -> Option<Grant<C>> {
        if !self.wanted.is_empty() || !self.may_take(id, purpose) {
            return None;
        }
        self.take(id, purpose)
    }

    pub fn wait(&mut self, id: u64, purpose: Purpose, caller: W) {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        if let Some(pool) = self.pools.get_mut(&id).filter(|pool| !pool.is_closed) {
            pool.queue(purpose).push_back(Waiting { ticket, caller });
            self.wanted.insert(id);
        }
    }

    /// The next caller that can be served, with the pool and purpose of what it gets. Callers that `is_gone` have stopped
    /// waiting.
    pub fn serve_next(
        &mut self,
        now: Instant,
        is_gone: impl Fn(&W) -> bool,
    ) -> Option<(u64, Purpose, W, Grant<C>)> {
        loop {
            let (id, purpose) = self.next_served(now)?;
            let pool = self.pools.get_mut(&id)?;
            let first = pool.queue(purpose).pop_front()?;
            if pool.calls.is_empty() && pool.background.is_empty() {
                self.wanted.remove(&id);
            }
            if is_gone(&first.caller) {
                continue;
            }
            if let Some(grant) = self.take(id, purpose) {
                return Some((id, purpose, first.caller, grant));
            }
            // More connections are in use than may be open.
            self.pools.get_mut(&id)?.queue(purpose).push_front(first);
            self.wanted.insert(id);
            return None;
        }
    }

    /// Returns a borrowed connection, or the right to open one. Gives the connection back if it must be closed.
    pub fn give_back(
        &mut self,
        id: u64,
        purpose: Purpose,
        connection: Option<(C, Instant)>,
        now: Instant,
    ) -> Option<C> {
        match purpose {
            Purpose::Call => self.in_use.calls -= 1,
            Purpose::Background => self.in_use.background -= 1,
            Purpose::Second => self.in_use.second -= 1,
        }
        let is_surplus = self.open > self.limit;
        let Some(pool) = self.pools.get_mut(&id) else {
            self.open -= 1;
            return connection.map(|(connection, _)| connection);
        };
        pool.in_use -= 1;
        if purpose != Purpose::Second
            && let Some(tenant) = self.tenants.get_mut(&pool.tenant)
        {
            tenant.in_use -= 1;
        }
        match connection {
            Some((connection, obtained)) if !pool.is_closed && !is_surplus => {
                pool.idle.push_back(Idle { connection, since: now, obtained });
                None
            }
            connection => {
                self.open -= 1;
                self.forget_if_unused(id);
                connection.map(|(connection, _)| connection)
            }
        }
    }

    /// Connections that nobody has used for this time; they must be closed.
    pub fn take_idle(&mut self, longer_than: Duration, now: Instant) -> Vec<C> {
        let mut taken = Vec::new();
        for pool in self.pools.values_mut() {
            while pool
                .idle
                .front()
                .is_some_and(|idle| now.saturating_duration_since(idle.since) >= longer_than)
            {
                taken.extend(pool.idle.pop_front().map(|idle| idle.connection));
            }
        }
        self.open -= taken.len();
        taken
    }

    /// Connections for tasks that hold one already.
    fn second(&self) -> usize {
        match self.has_second && self.limit > 1 {
            true => (self.limit / 8).clamp(1, MAX_SECOND),
            false => 0,
        }
    }

    /// Whether the bounds of the pool, of its tenant and of the purpose allow one more connection to be borrowed.
    fn may_take(&self, id: u64, purpose: Purpose) -> bool {
        let Some(pool) = self.pools.get(&id) else { return false };
        if pool.is_closed || pool.in_use >= pool.size {
            return false;
        }
        let first = self.limit - self.second();
        if purpose == Purpose::Second {
            return self.in_use.second < self.second();
        }
        let background = (first / 4).max(MIN_BACKGROUND).min((first - 1).max(1));
        if purpose == Purpose::Background && self.in_use.background >= background {
            return false;
        }
        let of_tenant = match self.number_of_tenants {
            0 | 1 => first,
            _ => (first * 3 / 4).max(1),
        };
        self.in_use.calls + self.in_use.background < first
            && self.tenants.get(&pool.tenant).is_some_and(|tenant| tenant.in_use < of_tenant)
    }

    /// The pool and purpose whose first caller is served next: a pool that got its idle connection a moment ago keeps it
    /// for its own callers; otherwise the tenant that was served least recently, and of its callers the first.
    fn next_served(&self, now: Instant) -> Option<(u64, Purpose)> {
        let candidates = self.wanted.iter().flat_map(|id| {
            let pool = &self.pools[id];
            let purposes = match pool.is_second {
                true => [Some(Purpose::Second), None],
                false => [Some(Purpose::Call), Some(Purpose::Background)],
            };
            purposes.into_iter().flatten().filter_map(move |purpose| {
                let first = pool.waiting(purpose).front()?;
                self.may_take(*id, purpose).then_some((*id, pool, purpose, first.ticket))
            })
        });
        let rank = |pool: &Pool<C, W>, ticket| {
            let keeps = pool
                .idle
                .back()
                .is_some_and(|idle| now.saturating_duration_since(idle.obtained) < KEEP_FOR_OWN);
            let last_turn = self.tenants.get(&pool.tenant).map_or(0, |tenant| tenant.last_turn);
            (!keeps, last_turn, ticket)
        };
        candidates
            .min_by_key(|(_, pool, _, ticket)| rank(pool, *ticket))
            .map(|(id, _, purpose, _)| (id, purpose))
    }

    /// Takes a connection that may be taken: an idle one of the pool, a new one, or the one that any pool has not used
    /// for the longest time. `None` if all are in use.
    fn take(&mut self, id: u64, purpose: Purpose) -> Option<Grant<C>> {
        let hands_over = self.pools.get(&id)?.hands_over;
        let grant = if let Some(idle) = self.pools.get_mut(&id)?.idle.pop_back() {
            Grant::Own(idle.connection, idle.obtained)
        } else if self.open < self.limit {
            self.open += 1;
            Grant::New
        } else {
            match self.take_least_recently_used()? {
                (connection, true) if hands_over => Grant::HandedOver(connection),
                // Dropping it closes it, and its place is free.
                _ => Grant::New,
            }
        };
        match purpose {
            Purpose::Call => self.in_use.calls += 1,
            Purpose::Background => self.in_use.background += 1,
            Purpose::Second => self.in_use.second += 1,
        }
        let pool = self.pools.get_mut(&id)?;
        pool.in_use += 1;
        let turn = self.next_turn;
        self.next_turn += 1;
        if let Some(tenant) = self.tenants.get_mut(&pool.tenant) {
            tenant.last_turn = turn;
            tenant.in_use += usize::from(purpose != Purpose::Second);
        }
        Some(grant)
    }

    /// The idle connection that was used least recently in any pool, and whether it may be handed over. It still counts
    /// as open.
    fn take_least_recently_used(&mut self) -> Option<(C, bool)> {
        let with_idle = self.pools.values_mut().filter(|pool| !pool.idle.is_empty());
        let pool = with_idle.min_by_key(|pool| pool.idle.front().map(|idle| idle.since))?;
        pool.idle.pop_front().map(|idle| (idle.connection, pool.hands_over))
    }

    fn forget_if_unused(&mut self, id: u64) {
        let Some(pool) = self.pools.get(&id).filter(|pool| pool.is_closed && pool.in_use == 0) else {
            return;
        };
        if let Some(tenant) = self.tenants.get_mut(&pool.tenant) {
            tenant.pools -= 1;
            if tenant.pools == 0 {
                self.number_of_tenants -= usize::from(!pool.tenant.is_empty());
                self.tenants.remove(&pool.tenant);
            }
        }
        self.pools.remove(&id);
    }
}

impl<C, W> Pool<C, W> {
    fn waiting(&self, purpose: Purpose) -> &VecDeque<Waiting<W>> {
        match purpose {
            Purpose::Background => &self.background,
            Purpose::Call | Purpose::Second => &self.calls,
        }
    }

    fn queue(&mut self, purpose: Purpose) -> &mut VecDeque<Waiting<W>> {
        match purpose {
            Purpose::Background => &mut self.background,
            Purpose::Call | Purpose::Second => &mut self.calls,
        }
    }
}
