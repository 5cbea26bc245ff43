//! Streaming replicas, for reading.
//!
//! A replica serves a read only if it has replayed everything that any node had committed when the read began; so users
//! users read their own writes. One that fails or lags is skipped for a while, and the primary answers. After a
//! promotion WAL positions say nothing about a standby that still follows the former primary: a replica must have
//! replayed the row that marks the beginning of the primary's timeline as well.

use crate::{Connection, History, Members, OpenPool};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A lagging replica is checked this many times, every four milliseconds.
const CATCH_UP_ATTEMPTS: usize = 4;
/// A replica that cannot be reached is skipped for this time; then one caller tries it again.
const RETRY_FAILED_AFTER: Duration = Duration::from_secs(10);
/// A replica that lags is skipped for this time.
const RETRY_LATE_AFTER: Duration = Duration::from_secs(1);

/// The replicas of one tenant: all members but the one that is the primary.
pub struct Replicas {
    members: Arc<Members>,
    all: Vec<Replica>,
    /// Index of the replica that the next read tries first.
    next: AtomicUsize,
}

struct Replica {
    /// Its index among the members.
    member: usize,
    pool: OpenPool,
    opened: Instant,
    /// Milliseconds since `opened` until which it is skipped; 0 while it is in use.
    skipped_until: AtomicU64,
    /// Bytes of WAL that it had not yet replayed at the last check.
    behind: AtomicI64,
    /// Reads that it has served.
    reads: AtomicU64,
}

/// The state of a replica as seen by this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaState {
    pub in_use: bool,
    /// Bytes of WAL that it had not yet replayed at the last check.
    pub behind: i64,
    /// Reads that it has served for this node.
    pub reads: u64,
}

impl Replicas {
    /// Pools of replicas, each with the index of its server among the members.
    pub fn new(members: Arc<Members>, pools: Vec<(usize, OpenPool)>) -> Replicas {
        let replica = |(member, pool)| Replica {
            member,
            pool,
            opened: Instant::now(),
            skipped_until: AtomicU64::new(0),
            behind: AtomicI64::new(0),
            reads: AtomicU64::new(0),
        };
        Replicas { members, all: pools.into_iter().map(replica).collect(), next: AtomicUsize::new(0) }
    }

    pub fn close(&self) {
        self.all.iter().for_each(|replica| replica.pool.close());
    }

    /// In the order of the configuration.
    pub fn state(&self) -> Vec<ReplicaState> {
        let primary = self.members.chosen().index;
        let state = |replica: &Replica| ReplicaState {
            in_use: replica.member != primary && replica.skipped_until.load(Relaxed) == 0,
            behind: replica.behind.load(Relaxed),
            reads: replica.reads.load(Relaxed),
        };
        self.all.iter().map(state).collect()
    }

    /// A connection to a replica that has replayed every commit acknowledged so far. Should the replica go away, the
    /// primary answers what is sent to it.
    pub async fn caught_up(&self, primary: &OpenPool) -> Option<Connection> {
        let chosen = self.members.chosen();
        let history = chosen.history?;
        if !self.all.iter().any(|replica| replica.member != chosen.index && replica.may_be_tried()) {
            return None;
        }
        // Read before a connection to a replica is borrowed: a task that waits for a connection must not hold another
        // one.
        let written = Written::of(primary, history).await?;
        let first = self.next.fetch_add(1, Relaxed);
        for turn in 0..self.all.len() {
            let replica = &self.all[(first + turn) % self.all.len()];
            if replica.member == chosen.index || !replica.claim_try() {
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
                return Some(connection.or_by(primary));
            }
        }
        None
    }
}

/// The end of all WAL committed on the primary; a replica never has WAL that the primary has not flushed.
struct Written {
    position: String,
    history: History,
}

impl Written {
    /// `None` where the primary does not answer, or if another server than the known one has answered.
    async fn of(primary: &OpenPool, history: History) -> Option<Written> {
        let primary = primary.get().await.ok()?;
        let rows = primary
            .query(
                // Commits that do not wait for the disk are read by others before they reach it.
                "WITH written AS (SELECT CASE current_setting('synchronous_commit')
                         WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END AS position)
                 SELECT position::text AS position, left(pg_walfile_name(position), 8) AS timeline FROM written",
                vec![],
            )
            .await
            .ok()?;
        let row = rows.first()?;
        let timeline = u32::from_str_radix(row.get("timeline"), 16).ok()?;
        (timeline == history.timeline).then(|| Written { position: row.get("position"), history })
    }
}

impl Replica {
    async fn has_replayed(&self, connection: &Connection, written: &Written) -> bool {
        for _ in 0..CATCH_UP_ATTEMPTS {
            let result = connection
                .query(
                    // A server that replays no WAL is not a replica.
                    "SELECT coalesce(pg_wal_lsn_diff($1::text::pg_lsn, pg_last_wal_replay_lsn()), 1e15)::bigint AS behind,
                         pg_is_in_recovery() AND EXISTS
                             (SELECT FROM carrel.timeline WHERE system = $2 AND timeline = $3) AS follows",
                    vec![
                        written.position.as_str().into(),
                        written.history.system.into(),
                        i64::from(written.history.timeline).into(),
                    ],
                )
                .await;
            let Ok(rows) = result else {
                self.skip_for(RETRY_FAILED_AFTER);
                return false;
            };
            let (behind, follows): (i64, bool) =
                rows.first().map_or((i64::MAX, false), |row| (row.get("behind"), row.get("follows")));
            self.behind.store(behind.max(0), Relaxed);
            if behind <= 0 && follows {
                self.skipped_until.store(0, Relaxed);
                return true;
            }
            tokio::time::sleep(Duration::from_millis(4)).await;
        }
        self.skip_for(RETRY_LATE_AFTER);
        false
    }

    /// Milliseconds since `opened`, at least 1.
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
