//! The PostgreSQL servers that hold the same data: one primary and its standbys, each of which may become the primary.
//!
//! Each server is polled once a second, and immediately when a connection fails: does it accept writes, and on which
//! timeline? A promotion starts a new timeline, so the primary is the server that accepts writes on the highest one. A
//! former primary that restarts without having been demoted is therefore not chosen. When the primary changes, all
//! connections to the former one are closed.

use crate::Server;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio_postgres::Client;

/// Time between two polls.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Time between two polls while connections fail.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// A server that does not respond within this time counts as down.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

/// `pg_walfile_name` starts with the timeline in hexadecimal digits; on a standby the function fails.
const STATUS: &str = "SELECT (SELECT system_identifier FROM pg_control_system()) AS system,
    CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END AS timeline";

/// A standby that has this row has replayed the start of the timeline.
const MARK: &str = "INSERT INTO carrel.timeline (system, timeline) VALUES ($1, $2) ON CONFLICT DO NOTHING";

/// The history of the data: its cluster, and the timeline, which each promotion increases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct History {
    /// PostgreSQL's system identifier, which is equal on a primary and its standbys.
    pub system: i64,
    pub timeline: u32,
}

/// Which server is the primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// Its index in the list of members.
    pub index: usize,
    /// Absent until a member has reported that it is the primary.
    pub history: Option<History>,
    /// Increases each time the primary changes.
    pub moves: u64,
}

/// The status that a member reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Down,
    Standby,
    Primary(History),
}

/// Servers that hold the same data.
pub struct Members {
    servers: Vec<Server>,
    chosen: watch::Sender<Chosen>,
    poll: Notify,
}

impl Members {
    /// A single server, which is always the primary.
    pub fn one(server: Server) -> Arc<Members> {
        Members::new(vec![server])
    }

    /// These servers. A task polls them for the primary until the value is dropped.
    ///
    /// # Panics
    /// Without any server.
    pub fn of(servers: Vec<Server>) -> Arc<Members> {
        let members = Members::new(servers);
        if members.servers.len() > 1 {
            tokio::spawn(poll_repeatedly(Arc::downgrade(&members)));
        }
        members
    }

    fn new(servers: Vec<Server>) -> Arc<Members> {
        assert!(!servers.is_empty(), "at least one server");
        let (chosen, _) = watch::channel(Chosen { index: 0, history: None, moves: 0 });
        Arc::new(Members { servers, chosen, poll: Notify::new() })
    }

    pub fn len(&self) -> usize {
        self.servers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    pub fn chosen(&self) -> Chosen {
        *self.chosen.borrow()
    }

    /// The server that was the primary at the last poll.
    pub fn primary(&self) -> &Server {
        &self.servers[self.chosen().index]
    }

    /// Waits until a primary is found, at most this long.
    pub async fn wait_for_primary(&self, within: Duration) {
        let mut changes = self.chosen.subscribe();
        let found = changes.wait_for(|now| now.history.is_some());
        // If none is found, the first connection reports the error.
        let _ = tokio::time::timeout(within, found).await;
    }

    /// Polls all members now, because a connection has failed.
    pub fn poll_now(&self) {
        self.poll.notify_one();
    }

    /// Completes when the primary has changed since `chosen`; never completes if it does not change.
    pub fn moved_since(&self, chosen: Chosen) -> impl Future<Output = ()> + Send + use<> {
        let mut changes = self.chosen.subscribe();
        async move {
            if changes.wait_for(|now| now.moves != chosen.moves).await.is_err() {
                // The members are no longer polled; connections stay open until they are dropped.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Polls all servers until one is the primary; `None` if none is within the time.
    pub async fn find_primary(servers: &[Server], within: Duration) -> Option<Server> {
        let mut clients: Vec<Option<Client>> = servers.iter().map(|_| None).collect();
        let started = std::time::Instant::now();
        loop {
            let statuses = poll_all(servers, &mut clients).await;
            if let Some(chosen) = choose(Chosen { index: 0, history: None, moves: 0 }, &statuses) {
                return Some(servers[chosen.index].clone());
            }
            if started.elapsed() > within {
                return None;
            }
            tokio::time::sleep(POLL_INTERVAL / 4).await;
        }
    }
}

async fn poll_repeatedly(members: Weak<Members>) {
    let mut clients: Vec<Option<Client>> = Vec::new();
    let mut marked = None;
    loop {
        let Some(members) = members.upgrade() else { return };
        clients.resize_with(members.servers.len(), || None);
        let statuses = poll_all(&members.servers, &mut clients).await;
        let before = members.chosen();
        if let Some(chosen) = choose(before, &statuses)
            && chosen != before
        {
            if chosen.moves != before.moves {
                tracing::warn!(
                    "the primary has moved to {} (timeline {})",
                    members.servers[chosen.index].address(),
                    chosen.history.map_or(0, |history| history.timeline)
                );
            }
            members.chosen.send_replace(chosen);
        }
        let chosen = members.chosen();
        if chosen.history.is_some() && chosen.history != marked && mark(&clients[chosen.index], chosen).await
        {
            marked = chosen.history;
        }
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = members.poll.notified() => tokio::time::sleep(MIN_POLL_INTERVAL).await,
        }
    }
}

/// Writes the primary's timeline to its database; standbys see the row once they have replayed it. Returns whether the
/// row was written.
async fn mark(client: &Option<Client>, chosen: Chosen) -> bool {
    let (Some(client), Some(History { system, timeline })) = (client, chosen.history) else { return false };
    let timeline = i64::from(timeline);
    let marking = async { client.execute(MARK, &[&system, &timeline]).await };
    // Before the first start has created the table this fails; the next poll tries again.
    matches!(tokio::time::timeout(RESPONSE_TIMEOUT, marking).await, Ok(Ok(_)))
}

/// The statuses of all servers, polled concurrently.
async fn poll_all(servers: &[Server], clients: &mut [Option<Client>]) -> Vec<Status> {
    let polls = servers.iter().zip(clients.iter_mut()).map(|(server, client)| async move {
        match tokio::time::timeout(RESPONSE_TIMEOUT, poll(server, client)).await {
            Ok(Ok(status)) => status,
            Ok(Err(error)) => {
                tracing::debug!("cannot poll {}: {error}", server.address());
                *client = None;
                Status::Down
            }
            Err(_) => {
                *client = None;
                Status::Down
            }
        }
    });
    futures_util::future::join_all(polls).await
}

async fn poll(server: &Server, client: &mut Option<Client>) -> Result<Status, tokio_postgres::Error> {
    let client_in_use = match client.take_if(|client| !client.is_closed()) {
        Some(client) => client,
        None => {
            let mut server = server.clone();
            server.config.application_name("carrel members");
            let (client, connection) = server.connect().await?;
            // The next poll notices if the connection has ended.
            tokio::spawn(connection);
            client
        }
    };
    let row = client_in_use.query_one(STATUS, &[]).await?;
    *client = Some(client_in_use);
    let timeline: Option<String> = row.try_get("timeline")?;
    Ok(match timeline.and_then(|digits| u32::from_str_radix(&digits, 16).ok()) {
        Some(timeline) => Status::Primary(History { system: row.try_get("system")?, timeline }),
        None => Status::Standby,
    })
}

/// Chooses the primary by the members' statuses; `None` if no member is it.
fn choose(before: Chosen, statuses: &[Status]) -> Option<Chosen> {
    let primary = |(index, status): (usize, &Status)| match status {
        Status::Primary(history) => Some((index, *history)),
        Status::Down | Status::Standby => None,
    };
    let (index, history) = statuses
        .iter()
        .enumerate()
        .filter_map(primary)
        // Excludes another cluster at the same address, and a server that missed a promotion.
        .filter(|(_, found)| {
            before.history.is_none_or(|last| found.system == last.system && found.timeline >= last.timeline)
        })
        // Of several on the same timeline, the one in use, else the first in the list.
        .max_by_key(|(index, found)| (found.timeline, *index == before.index, std::cmp::Reverse(*index)))?;
    let has_moved = index != before.index || before.history.is_some_and(|last| last != history);
    Some(Chosen { index, history: Some(history), moves: before.moves + u64::from(has_moved) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn primary(system: i64, timeline: u32) -> Status {
        Status::Primary(History { system, timeline })
    }

    #[test]
    fn the_primary_takes_writes_on_the_highest_timeline() {
        use Status::{Down, Standby};
        let chosen =
            |index, timeline| Chosen { index, history: Some(History { system: 7, timeline }), moves: 0 };
        let unknown = Chosen { index: 0, history: None, moves: 0 };
        let table = [
            (unknown, vec![primary(7, 1), Standby], Some(0)),
            (unknown, vec![Down, primary(7, 2)], Some(1)),
            (unknown, vec![primary(7, 1), primary(7, 2)], Some(1)),
            (chosen(0, 1), vec![Down, Standby], None),
            (chosen(0, 1), vec![Down, primary(7, 2), Standby], Some(1)),
            // The former primary restarts and still accepts writes.
            (chosen(1, 2), vec![primary(7, 1), primary(7, 2)], Some(1)),
            (chosen(1, 2), vec![primary(7, 1), Down], None),
            (chosen(0, 1), vec![primary(7, 1), primary(8, 5)], Some(0)),
            (chosen(1, 2), vec![primary(7, 2), primary(7, 2)], Some(1)),
            (chosen(0, 1), vec![primary(7, 3)], Some(0)),
        ];
        for (before, statuses, expected) in table {
            let choice = choose(before, &statuses);
            assert_eq!(choice.map(|chosen| chosen.index), expected, "{before:?} {statuses:?}");
        }
    }

    #[test]
    fn connections_are_closed_only_when_the_primary_changes() {
        let first =
            choose(Chosen { index: 0, history: None, moves: 0 }, &[primary(7, 1)]).expect("a primary");
        assert_eq!(first.moves, 0);
        assert_eq!(choose(first, &[primary(7, 1)]), Some(first));
        assert_eq!(choose(first, &[Status::Down, primary(7, 2)]).map(|chosen| chosen.moves), Some(1));
        assert_eq!(choose(first, &[primary(7, 2)]).map(|chosen| chosen.moves), Some(1));
    }
}
