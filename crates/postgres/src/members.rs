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

/// Time between two rounds of questions.
const INTERVAL: Duration = Duration::from_secs(1);
/// The same while connections fail.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);
/// A server that does not answer for so long counts as down.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// `pg_walfile_name` begins with the timeline in hexadecimal digits; a standby refuses to be asked for it.
const QUESTION: &str = "SELECT (SELECT system_identifier FROM pg_control_system()) AS system,
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
enum Answer {
    Down,
    Standby,
    Primary(History),
}

/// Servers that hold the same data.
pub struct Members {
    servers: Vec<Server>,
    chosen: watch::Sender<Chosen>,
    ask: Notify,
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
            tokio::spawn(keep_asking(Arc::downgrade(&members)));
        }
        members
    }

    fn new(servers: Vec<Server>) -> Arc<Members> {
        assert!(!servers.is_empty(), "an address names a host");
        let (chosen, _) = watch::channel(Chosen { index: 0, history: None, moves: 0 });
        Arc::new(Members { servers, chosen, ask: Notify::new() })
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

    /// Asks all members now instead of within a second: a connection has failed.
    pub fn ask_now(&self) {
        self.ask.notify_one();
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
            let answers = ask_all(servers, &mut clients).await;
            if let Some(chosen) = choose(Chosen { index: 0, history: None, moves: 0 }, &answers) {
                return Some(servers[chosen.index].clone());
            }
            if started.elapsed() > within {
                return None;
            }
            tokio::time::sleep(INTERVAL / 4).await;
        }
    }
}

async fn keep_asking(members: Weak<Members>) {
    let mut clients: Vec<Option<Client>> = Vec::new();
    let mut marked = None;
    loop {
        let Some(members) = members.upgrade() else { return };
        clients.resize_with(members.servers.len(), || None);
        let answers = ask_all(&members.servers, &mut clients).await;
        let before = members.chosen();
        if let Some(chosen) = choose(before, &answers)
            && chosen != before
        {
            if chosen.moves != before.moves {
                tracing::warn!(
                    "the primary has moved to {} (timeline {})",
                    members.servers[chosen.index].place(),
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
        let asked = async {
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                () = members.ask.notified() => tokio::time::sleep(SHORTEST_INTERVAL).await,
            }
        };
        asked.await;
    }
}

/// Writes the primary's timeline to its database; standbys see the row once they have replayed it. Returns whether the
/// row was written.
async fn mark(client: &Option<Client>, chosen: Chosen) -> bool {
    let (Some(client), Some(History { system, timeline })) = (client, chosen.history) else { return false };
    let timeline = i64::from(timeline);
    let marking = async { client.execute(MARK, &[&system, &timeline]).await };
    // Before the first start has set up its tables, the next round does.
    matches!(tokio::time::timeout(ANSWER_TIMEOUT, marking).await, Ok(Ok(_)))
}

/// What all servers say, each asked at the same time.
async fn ask_all(servers: &[Server], clients: &mut [Option<Client>]) -> Vec<Answer> {
    let asking = servers.iter().zip(clients.iter_mut()).map(|(server, client)| async move {
        match tokio::time::timeout(ANSWER_TIMEOUT, ask(server, client)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                tracing::debug!("{} cannot be asked: {error}", server.place());
                *client = None;
                Answer::Down
            }
            Err(_) => {
                *client = None;
                Answer::Down
            }
        }
    });
    futures_util::future::join_all(asking).await
}

async fn ask(server: &Server, client: &mut Option<Client>) -> Result<Answer, tokio_postgres::Error> {
    let known = match client.take_if(|client| !client.is_closed()) {
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
    let row = known.query_one(QUESTION, &[]).await?;
    *client = Some(known);
    let timeline: Option<String> = row.try_get("timeline")?;
    Ok(match timeline.and_then(|digits| u32::from_str_radix(&digits, 16).ok()) {
        Some(timeline) => Answer::Primary(History { system: row.try_get("system")?, timeline }),
        None => Answer::Standby,
    })
}

/// The primary by what the members say; `None` where none of them is it.
fn choose(before: Chosen, answers: &[Answer]) -> Option<Chosen> {
    let primary = |(index, answer): (usize, &Answer)| match answer {
        Answer::Primary(history) => Some((index, *history)),
        Answer::Down | Answer::Standby => None,
    };
    let (index, history) = answers
        .iter()
        .enumerate()
        .filter_map(primary)
        // Excludes another cluster at the same address, and a server that missed a promotion.
        .filter(|(_, found)| {
            before
                .history
                .is_none_or(|known| found.system == known.system && found.timeline >= known.timeline)
        })
        // Of several on the same timeline, the one in use, else the first in the list.
        .max_by_key(|(index, found)| (found.timeline, *index == before.index, std::cmp::Reverse(*index)))?;
    let has_moved = index != before.index || before.history.is_some_and(|known| known != history);
    Some(Chosen { index, history: Some(history), moves: before.moves + u64::from(has_moved) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn primary(system: i64, timeline: u32) -> Answer {
        Answer::Primary(History { system, timeline })
    }

    #[test]
    fn the_primary_takes_writes_on_the_highest_timeline() {
        use Answer::{Down, Standby};
        let known =
            |index, timeline| Chosen { index, history: Some(History { system: 7, timeline }), moves: 0 };
        let unknown = Chosen { index: 0, history: None, moves: 0 };
        let table = [
            (unknown, vec![primary(7, 1), Standby], Some(0)),
            (unknown, vec![Down, primary(7, 2)], Some(1)),
            (unknown, vec![primary(7, 1), primary(7, 2)], Some(1)),
            (known(0, 1), vec![Down, Standby], None),
            (known(0, 1), vec![Down, primary(7, 2), Standby], Some(1)),
            // The former primary is back and does not know that it is one no more.
            (known(1, 2), vec![primary(7, 1), primary(7, 2)], Some(1)),
            (known(1, 2), vec![primary(7, 1), Down], None),
            (known(0, 1), vec![primary(7, 1), primary(8, 5)], Some(0)),
            (known(1, 2), vec![primary(7, 2), primary(7, 2)], Some(1)),
            (known(0, 1), vec![primary(7, 3)], Some(0)),
        ];
        for (before, answers, expected) in table {
            let chosen = choose(before, &answers);
            assert_eq!(chosen.map(|chosen| chosen.index), expected, "{before:?} {answers:?}");
        }
    }

    #[test]
    fn connections_are_closed_only_when_the_primary_moves() {
        let first =
            choose(Chosen { index: 0, history: None, moves: 0 }, &[primary(7, 1)]).expect("a primary");
        assert_eq!(first.moves, 0);
        assert_eq!(choose(first, &[primary(7, 1)]), Some(first));
        assert_eq!(choose(first, &[Answer::Down, primary(7, 2)]).map(|chosen| chosen.moves), Some(1));
        assert_eq!(choose(first, &[primary(7, 2)]).map(|chosen| chosen.moves), Some(1));
    }
}
