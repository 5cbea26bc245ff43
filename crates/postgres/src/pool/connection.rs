//! A connection that is lent by a pool.

use super::{Borrower, CONNECT_TIMEOUT, MAX_PREPARED, OpenPool, PooledClient, Slot, WatchedTables, Work};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, Statement};

/// A borrowed connection.
pub struct Connection {
    pub(super) slot: Slot,
    pub(super) borrower: Option<Borrower>,
    /// Set while a pipeline is under way: a connection that is dropped then is closed, as nobody will read the rest.
    pub(super) is_broken: AtomicBool,
    pub(super) timeout: Duration,
    pub(super) work: Work,
    pub(crate) watched: Option<Arc<WatchedTables>>,
    /// Of a connection to a replica: who answers in its place when it goes away.
    pub(super) primary: Option<Primary>,
}

/// What a connection to a replica falls back on.
pub(super) struct Primary {
    pool: OpenPool,
    /// Opened when the replica has gone away.
    connection: OnceCell<Box<Connection>>,
}

impl Connection {
    /// Lets the primary answer what this connection's server, a replica, goes away from.
    pub(crate) fn or_by(mut self, primary: &OpenPool) -> Connection {
        self.primary = Some(Primary { pool: primary.clone(), connection: OnceCell::new() });
        self
    }

    /// Whether it is to a replica, in place of which the primary can answer.
    pub fn is_of_replica(&self) -> bool {
        self.primary.is_some()
    }

    /// The connection to the primary that answers in place of this one since its server went away.
    pub(crate) fn substitute(&self) -> Option<&Connection> {
        self.primary.as_ref()?.connection.get().map(Box::as_ref)
    }

    /// Opens it; `None` where it cannot be opened.
    pub(crate) async fn open_substitute(&self) -> Option<&Connection> {
        let primary = self.primary.as_ref()?;
        let open = async { primary.pool.get().await.map(Box::new) };
        primary.connection.get_or_try_init(|| open).await.ok().map(Box::as_ref)
    }

    /// A connection to the primary in place of this one; `None` where this one is to the primary, or none can be had.
    pub async fn in_place_of_replica(self) -> Option<Connection> {
        let primary = self.primary.as_ref()?.pool.clone();
        self.discard();
        primary.get().await.ok()
    }

    /// Closes the connection instead of giving it back: it is in the middle of something.
    pub fn discard(self) {
        self.is_broken.store(true, Relaxed);
    }

    /// The driver's client, for COPY and streams.
    pub fn client(&self) -> &Client {
        &self.pooled().client
    }

    /// Sets the statement time-out of its pool again after it was changed. `RESET` would bring back that of the pool for
    /// which the connection was opened.
    pub async fn restore_statement_timeout(&self) -> Result<(), tokio_postgres::Error> {
        self.client().batch_execute(&self.work.statement_timeout_sql()).await
    }

    /// The statement, prepared on this connection when it is first asked for.
    pub async fn prepare(&self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        let statements = &self.pooled().statements;
        if let Some(known) = statements.lock().expect("no holder of this lock panics").get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client().prepare(sql).await?;
        let mut statements = statements.lock().expect("no holder of this lock panics");
        // Clients' queries come in any number of forms.
        if statements.len() >= MAX_PREPARED {
            statements.clear();
        }
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Another task uses the connection from now on, and gives it back.
    pub fn hand_over(&mut self) {
        self.slot.shared.note_returned(self.borrower.take());
    }

    /// Waits for the answer to what was sent, at most as long as the pool's kind of work may take, and at most 10
    /// seconds where the whole server does not answer. Without an answer the connection is of no more use.
    pub async fn bounded<T>(&self, work: impl Future<Output = T>) -> Result<T, NoAnswer> {
        self.is_broken.store(true, Relaxed);
        let started = Instant::now();
        let mut work = std::pin::pin!(work);
        loop {
            let wait = CONNECT_TIMEOUT.min(self.timeout.saturating_sub(started.elapsed()));
            match tokio::time::timeout(wait, &mut work).await {
                Ok(done) => {
                    self.is_broken.store(false, Relaxed);
                    return Ok(done);
                }
                Err(_) if started.elapsed() >= self.timeout => break,
                Err(_) => {
                    // Answers may come in while the probe waits for its own.
                    let answers = tokio::select! {
                        done = &mut work => {
                            self.is_broken.store(false, Relaxed);
                            return Ok(done);
                        }
                        answers = self.slot.shared.answers() => answers,
                    };
                    if !answers {
                        break;
                    }
                }
            }
        }
        self.slot.shared.silent.store(true, Relaxed);
        Err(NoAnswer { after: started.elapsed() })
    }

    /// Whether an earlier pipeline was not answered.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.load(Relaxed)
    }

    fn pooled(&self) -> &PooledClient {
        self.slot.client.as_ref().expect("a borrowed connection is open until it is dropped")
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.slot.shared.note_returned(self.borrower.take());
        if self.is_broken() {
            self.slot.abandon();
        }
    }
}

/// The server did not answer in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoAnswer {
    pub after: Duration,
}
