//! Streaming replicas of a tenant's data, for reading.
//!
//! A replica is used only when it has replayed all that was committed when the read began, by whichever node; so
//! users read their own writes. One that fails or lags is skipped for a while, and the primary answers.

use crate::{Connection, OpenPool};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A late replica is asked this often, every four milliseconds.
const CATCH_UP_ATTEMPTS: usize = 4;
/// A replica that cannot be reached is skipped for this long; then one caller tries it again.
const RETRY_FAILED_AFTER: Duration = Duration::from_secs(10);
/// The same for one that lags.
const RETRY_LATE_AFTER: Duration = Duration::from_secs(1);

/// The replicas of one tenant.
pub struct Replicas {
    all: Vec<Replica>,
    /// The replica that the next read begins with.
    next: AtomicUsize,
}

struct Replica {
    pool: OpenPool,
    opened: Instant,
    /// Milliseconds since `opened`, until which it is skipped; 0 while it is in use.
    skipped_until: AtomicU64,
    /// Bytes of WAL that it had yet to replay when it was last asked.
    behind: AtomicI64,
    /// Reads that it has answered.
    reads: AtomicU64,
}

/// What is known of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaState {
    pub in_use: bool,
    /// Bytes of WAL that it had yet to replay when it was last asked.
    pub behind: i64,
    /// Reads that it has answered for this node.
    pub reads: u64,
}

impl Replicas {
    pub fn new(pools: Vec<OpenPool>) -> Replicas {
        let replica = |pool| Replica {
            pool,
            opened: Instant::now(),
            skipped_until: AtomicU64::new(0),
            behind: AtomicI64::new(0),
            reads: AtomicU64::new(0),
        };
        Replicas { all: pools.into_iter().map(replica).collect(), next: AtomicUsize::new(0) }
    }

    pub fn close(&self) {
        self.all.iter().for_each(|replica| replica.pool.close());
    }

    /// In the order of the configuration.
    pub fn state(&self) -> Vec<ReplicaState> {
        let state = |replica: &Replica| ReplicaState {
            in_use: replica.skipped_until.load(Relaxed) == 0,
            behind: replica.behind.load(Relaxed),
            reads: replica.reads.load(Relaxed),
        };
        self.all.iter().map(state).collect()
    }

    /// A connection to a replica that has replayed every commit acknowledged so far.
    pub async fn caught_up(&self, primary: &OpenPool) -> Option<Connection> {
        if !self.all.iter().any(Replica::may_be_tried) {
            return None;
        }
        // Asked before a replica's connection is borrowed: a task that waits for a connection holds no other.
        let written = position(primary).await?;
        let first = self.next.fetch_add(1, Relaxed);
        for turn in 0..self.all.len() {
            let replica = &self.all[(first + turn) % self.all.len()];
            if !replica.claim_try() {
                continue;
            }
            let connection = match replica.pool.get().await {
                Ok(connection) => connection,
                Err(error) => {
                    tracing::warn!(error = %error, "a replica cannot be reached; the primary answers");
                    replica.skip_for(RETRY_FAILED_AFTER);
                    continue;
                }
            };
            if replica.has_replayed(&connection, &written).await {
                replica.reads.fetch_add(1, Relaxed);
                return Some(connection);
            }
        }
        None
    }
}

/// The end of all that the primary has committed so far; a replica never has what is not on the primary's disk.
async fn position(primary: &OpenPool) -> Option<String> {
    let primary = primary.get().await.ok()?;
    let rows = primary
        .query(
            // Commits that do not wait for the disk are read by others before they reach it.
            "SELECT (CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
                     ELSE pg_current_wal_flush_lsn() END)::text",
            vec![],
        )
        .await
        .ok()?;
    Some(rows.first()?.get(0))
}

impl Replica {
    async fn has_replayed(&self, connection: &Connection, written: &str) -> bool {
        for _ in 0..CATCH_UP_ATTEMPTS {
            let asked = connection
                .query(
                    // A server that replays nothing is no replica.
                    "SELECT coalesce(pg_wal_lsn_diff($1::text::pg_lsn, pg_last_wal_replay_lsn()), 1e15)::bigint",
                    vec![written.into()],
                )
                .await;
            let Ok(rows) = asked else {
                self.skip_for(RETRY_FAILED_AFTER);
                return false;
            };
            let behind: i64 = rows.first().map_or(i64::MAX, |row| row.get(0));
            self.behind.store(behind.max(0), Relaxed);
            if behind <= 0 {
                self.skipped_until.store(0, Relaxed);
                return true;
            }
            tokio::time::sleep(Duration::from_millis(4)).await;
        }
        self.skip_for(RETRY_LATE_AFTER);
        false
    }

    /// Milliseconds since it was opened, at least 1.
    fn now(&self) -> u64 {
        self.opened.elapsed().as_millis() as u64 + 1
    }

    fn may_be_tried(&self) -> bool {
        self.skipped_until.load(Relaxed) <= self.now()
    }

    /// Whether this caller may try the replica; after a failure only one caller may.
    fn claim_try(&self) -> bool {
        let until = self.skipped_until.load(Relaxed);
        if until == 0 {
            return true;
        }
        let now = self.now();
        let longer = now + RETRY_FAILED_AFTER.as_millis() as u64;
        until <= now && self.skipped_until.compare_exchange(until, longer, Relaxed, Relaxed).is_ok()
    }

    fn skip_for(&self, time: Duration) {
        self.skipped_until.store(self.now() + time.as_millis() as u64, Relaxed);
    }
}
