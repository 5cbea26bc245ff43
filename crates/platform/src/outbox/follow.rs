//! Reads the outbox in the order of its numbers, without missing an event.
//!
//! Numbers are drawn before transactions commit, so an event may become visible after one with a higher number. A
//! reader therefore reads only up to [`settled`]: the highest number below which every transaction has ended. The
//! events of one record have numbers in the order of its changes, since a transaction that changes a record has locked
//! it when it draws the number.

use crate::database::{Connection, Json};
use crate::tenant::Tenant;
use carrel_records::Failure;
use jiff::Timestamp;
use std::collections::HashSet;
use std::sync::Mutex;

/// An event as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    pub id: i64,
    pub topic: String,
    pub key: String,
    /// JSON text.
    pub payload: String,
    pub created: Timestamp,
}

/// Events after a position, and the position after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub events: Vec<StoredEvent>,
    /// All events up to this number have been read.
    pub position: i64,
    /// There may be more events already.
    pub is_full: bool,
}

/// The state of the tenant's event numbers as seen by this node.
#[derive(Default)]
struct Horizon(Mutex<Watch>);

#[derive(Debug, Default)]
struct Watch {
    settled: i64,
    /// A number, and the transactions that may still commit events up to it.
    pending: Option<(i64, HashSet<String>)>,
}

impl Watch {
    /// Processes the last number drawn and the transactions that were writing to the outbox after it was read.
    fn saw(&mut self, last: i64, writing: HashSet<String>) -> i64 {
        if writing.is_empty() {
            self.settled = self.settled.max(last);
            self.pending = None;
            return self.settled;
        }
        if let Some((number, waiting)) = &mut self.pending {
            waiting.retain(|transaction| writing.contains(transaction));
            if waiting.is_empty() {
                self.settled = self.settled.max(*number);
                self.pending = None;
            }
        }
        self.pending.get_or_insert((last, writing));
        self.settled
    }
}

/// The highest number below which every event is visible; under load it lags by the duration of the longest
/// transaction.
///
/// A transaction that draws a number holds the table's lock for writing until its end. So all numbers drawn so far are
/// settled when the transactions that held this lock afterwards have ended.
pub async fn settled(tenant: &Tenant) -> Result<i64, Failure> {
    let connection = tenant.writer().await?;
    let last = connection.query("SELECT last_value, is_called FROM outbox_id_seq", vec![]).await?;
    let last: i64 =
        last.first().map_or(0, |row| if row.get("is_called") { row.get("last_value") } else { 0 });
    let rows = connection
        .query(
            "SELECT virtualtransaction FROM pg_locks
             WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND relation = 'outbox'::regclass
                 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            vec![],
        )
        .await?;
    let writing = rows.iter().map(|row| row.get("virtualtransaction")).collect();
    Ok(tenant.state.of::<Horizon>().0.lock().expect("no holder of this lock panics").saw(last, writing))
}

/// Reads at most `limit` events of the topics after a position, up to a settled number.
pub async fn read(
    connection: &Connection,
    topics: &[String],
    after: i64,
    settled: i64,
    limit: i64,
) -> Result<Batch, Failure> {
    if after >= settled {
        return Ok(Batch { events: Vec::new(), position: after, is_full: false });
    }
    let rows = connection
        .query(
            "SELECT id, topic, key, payload::text AS payload, created FROM outbox
             WHERE id > $1 AND id <= $2 AND topic = ANY ($3) ORDER BY id LIMIT $4::bigint",
            vec![after.into(), settled.into(), topics.to_vec().into(), limit.into()],
        )
        .await?;
    let events: Vec<StoredEvent> = rows
        .iter()
        .map(|row| StoredEvent {
            id: row.get("id"),
            topic: row.get("topic"),
            key: row.get("key"),
            payload: row.get("payload"),
            created: row.get("created"),
        })
        .collect();
    let is_full = events.len() as i64 >= limit;
    let position = if is_full { events.last().map_or(settled, |event| event.id) } else { settled };
    Ok(Batch { events, position, is_full })
}

/// The payload of the newest event with this key whose topic begins with `topics`; a module must have an index for it.
pub async fn published(tenant: &Tenant, topics: &'static str, key: &str) -> Result<Option<Json>, Failure> {
    let connection = tenant.reader().await?;
    // The prefix is part of the statement, so that the planner can use the partial index.
    let sql = format!(
        "SELECT payload::jsonb AS payload FROM outbox WHERE topic LIKE '{topics}%' AND key = $1
         ORDER BY id DESC LIMIT 1"
    );
    let rows = connection.query(sql, vec![key.into()]).await?;
    Ok(rows.first().map(|row| row.get("payload")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transactions(names: &[&str]) -> HashSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_number_is_settled_when_all_have_ended_who_may_have_drawn_a_lower_one() {
        let mut watch = Watch::default();
        assert_eq!(watch.saw(5, transactions(&["a", "b"])), 0);
        assert_eq!(watch.saw(7, transactions(&["b", "c"])), 0, "b may still commit number 4");
        assert_eq!(watch.saw(9, transactions(&["c", "d"])), 5);
        assert_eq!(watch.saw(9, transactions(&["d"])), 5, "d may have drawn 9");
        assert_eq!(watch.saw(12, transactions(&["e"])), 9);
        assert_eq!(watch.saw(12, transactions(&[])), 12);
        assert_eq!(watch.saw(12, transactions(&["f"])), 12, "it never goes back");
    }
}
