//! Streaming replicas of a tenant's data, for reading.
//!
//! A replica is used only when it has replayed all that was committed when the read began, by whichever node; so
//! everybody reads his own writes. One that is dead or late is left alone for a while, and the primary answers.

use crate::database::{Connection, OpenPool};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A late replica gets this many chances, four milliseconds apart.
const TRIES_TO_CATCH_UP: usize = 4;
/// A replica that cannot be reached is left alone for this long; then one caller tries it again.
const DEAD_FOR: Duration = Duration::from_secs(10);
/// The same for one that lags behind.
const LATE_FOR: Duration = Duration::from_secs(1);

/// The replicas of one tenant.
pub struct Replicas {
    all: Vec<Replica>,
    /// They take turns.
    next: AtomicUsize,
}

struct Replica {
    pool: OpenPool,
    /// Milliseconds of this program's clock until which it is left alone; 0 while it is well.
    left_alone_until: AtomicU64,
    /// Bytes of WAL that it had yet to replay when it was last asked.
    behind: AtomicI64,
}

impl Replicas {
    pub fn new(pools: Vec<OpenPool>) -> Replicas {
        let replica = |pool| Replica { pool, left_alone_until: AtomicU64::new(0), behind: AtomicI64::new(0) };
        Replicas { all: pools.into_iter().map(replica).collect(), next: AtomicUsize::new(0) }
    }

    pub fn close(&self) {
        self.all.iter().for_each(|replica| replica.pool.close());
    }

    /// For each replica whether it is in use, and how many bytes it was behind when last asked.
    pub fn state(&self) -> Vec<(bool, i64)> {
        let well = |replica: &Replica| replica.left_alone_until.load(Relaxed) == 0;
        self.all.iter().map(|replica| (well(replica), replica.behind.load(Relaxed))).collect()
    }

    /// A connection to a replica that has replayed every commit acknowledged so far.
    pub async fn caught_up(&self, primary: &OpenPool) -> Option<Connection> {
        let first = self.next.fetch_add(1, Relaxed);
        let mut written = None;
        for turn in 0..self.all.len() {
            let replica = &self.all[(first + turn) % self.all.len()];
            if !replica.may_be_asked() {
                continue;
            }
            let connection = match replica.pool.get().await {
                Ok(connection) => connection,
                Err(error) => {
                    tracing::warn!(error = %error, "a replica cannot be reached; the primary answers");
                    replica.leave_alone(DEAD_FOR);
                    continue;
                }
            };
            // Asked once, and only where some replica could answer.
            if written.is_none() {
                written = Some(position(primary).await?);
            }
            if replica.has_replayed(&connection, written.as_deref().unwrap_or_default()).await {
                return Some(connection);
            }
        }
        None
    }
}

/// What the primary has written so far, on disk.
async fn position(primary: &OpenPool) -> Option<String> {
    let primary = primary.get().await.ok()?;
    let rows = primary.query("SELECT pg_current_wal_flush_lsn()::text", vec![]).await.ok()?;
    Some(rows.first()?.get(0))
}

impl Replica {
    async fn has_replayed(&self, connection: &Connection, written: &str) -> bool {
        for _ in 0..TRIES_TO_CATCH_UP {
            let asked = connection
                .query(
                    // A server that replays nothing is no replica.
                    "SELECT coalesce(pg_wal_lsn_diff($1::text::pg_lsn, pg_last_wal_replay_lsn()), 1e15)::bigint",
                    vec![written.into()],
                )
                .await;
            let Ok(rows) = asked else {
                self.leave_alone(DEAD_FOR);
                return false;
            };
            let behind: i64 = rows.first().map_or(i64::MAX, |row| row.get(0));
            self.behind.store(behind.max(0), Relaxed);
            if behind <= 0 {
                self.left_alone_until.store(0, Relaxed);
                return true;
            }
            tokio::time::sleep(Duration::from_millis(4)).await;
        }
        self.leave_alone(LATE_FOR);
        false
    }

    /// Of all who find the time of rest over, one tries.
    fn may_be_asked(&self) -> bool {
        let until = self.left_alone_until.load(Relaxed);
        if until == 0 {
            return true;
        }
        let now = now();
        let longer = now + DEAD_FOR.as_millis() as u64;
        until <= now && self.left_alone_until.compare_exchange(until, longer, Relaxed, Relaxed).is_ok()
    }

    fn leave_alone(&self, time: Duration) {
        self.left_alone_until.store(now() + time.as_millis() as u64, Relaxed);
    }
}

/// Milliseconds since the program's first look at a replica, and one.
fn now() -> u64 {
    static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
    STARTED.elapsed().as_millis() as u64 + 1
}
