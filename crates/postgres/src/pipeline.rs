//! Pipelines: several statements sent in one round trip.

use crate::joining::{RowChange, Step, TableChange, changed_tables, joined};
use crate::meter;
use crate::pool::{NoAnswer, WatchedTables};
use crate::{Bind, Connection, Json, database_unreachable, failure, is_outage, log_outage};
use carrel_records::Failure;
use futures_util::future::{join_all, try_join_all};
use std::borrow::Cow;
use std::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// Statements to send in one round trip, in order.
#[derive(Default, Clone)]
pub struct Pipeline {
    steps: Vec<Step>,
}

/// The rows of each statement, by the number that [`Pipeline::add`] returned.
pub struct Results {
    rows: Vec<Vec<Row>>,
    /// When the result of each statement arrived, since the start of the pipeline.
    pub arrived: Vec<std::time::Duration>,
}

/// A statement of a pipeline failed; the transaction is rolled back.
#[derive(Debug)]
pub struct DatabaseError {
    /// Number of the statement in its pipeline.
    pub step: usize,
    /// SQLSTATE, if the server sent one.
    pub state: Option<String>,
    /// The violated constraint, if there is one.
    pub constraint: Option<String>,
    /// The error itself, for the log.
    pub error: Cause,
}

/// The cause of a failed statement.
#[derive(Debug)]
pub enum Cause {
    /// An error of the driver: the server's error, or a broken connection.
    Driver(tokio_postgres::Error),
    /// The server did not answer in time.
    NoAnswer(NoAnswer),
}

impl Cause {
    /// The server's error, if it sent one.
    pub fn as_db_error(&self) -> Option<&tokio_postgres::error::DbError> {
        match self {
            Cause::Driver(error) => error.as_db_error(),
            Cause::NoAnswer(_) => None,
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cause::Driver(error) => error.fmt(f),
            Cause::NoAnswer(NoAnswer { after }) => {
                write!(f, "the server did not answer within {} seconds", after.as_secs())
            }
        }
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Cause::Driver(error) => std::error::Error::source(error),
            Cause::NoAnswer(_) => None,
        }
    }
}

impl DatabaseError {
    pub fn is_unique_violation(&self) -> bool {
        self.state.as_deref() == Some("23505")
    }
    pub fn is_foreign_key_violation(&self) -> bool {
        self.state.as_deref() == Some("23503")
    }
    pub fn is_lock_timeout(&self) -> bool {
        self.state.as_deref() == Some("55P03")
    }
    /// The server refused the statement because of its content (data 22, integrity 23, transaction 40, locks 55), so
    /// the transaction had no effect. After other errors the outcome is unknown.
    pub fn is_refusal(&self) -> bool {
        self.state
            .as_deref()
            .is_some_and(|state| ["22", "23", "40", "55"].iter().any(|class| state.starts_with(class)))
    }
    /// The server, a replica, went away, or has cancelled the statement to replay what the primary has removed.
    fn is_loss_of_server(&self) -> bool {
        match &self.error {
            Cause::Driver(error) => is_outage(error) || self.is_retryable(),
            Cause::NoAnswer(_) => true,
        }
    }
    /// Deadlock or serialization failure: the same work may be retried.
    pub fn is_retryable(&self) -> bool {
        matches!(self.state.as_deref(), Some("40P01" | "40001"))
    }
}

impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Failure {
        if error.is_lock_timeout() {
            return Failure::Unavailable("Unable to acquire lock".into());
        }
        if error.is_retryable() {
            return Failure::Unavailable(
                "Others changed the same records at the same time. Try again.".into(),
            );
        }
        match error.error {
            Cause::Driver(error) => failure(error, "running a statement"),
            Cause::NoAnswer(_) => {
                log_outage(&error.error, "running a statement");
                database_unreachable()
            }
        }
    }
}

impl Pipeline {
    pub fn new() -> Pipeline {
        Pipeline::default()
    }

    /// Adds a statement and returns its number.
    pub fn add(&mut self, sql: impl Into<Cow<'static, str>>, binds: Vec<Bind>) -> usize {
        self.push(sql.into(), binds, false, None)
    }

    /// Adds a change whose rows are not read, and returns its number.
    ///
    /// Consecutive changes are sent as one statement if they concern different tables: none sees the effects of the
    /// others. An error is reported for the first of them.
    pub fn change(&mut self, sql: impl Into<Cow<'static, str>>, binds: Vec<Bind>) -> usize {
        self.push(sql.into(), binds, true, None)
    }

    /// Adds a change of one row, and returns its number. Rows that the pipeline changes in the same way, or inserts
    /// into the same table, are changed by one part of the joined statement.
    pub fn change_row(&mut self, change: &'static RowChange, binds: Vec<Bind>) -> usize {
        self.push(change.one.into(), binds, true, Some(change))
    }

    fn push(
        &mut self,
        sql: Cow<'static, str>,
        binds: Vec<Bind>,
        joinable: bool,
        rows: Option<&'static RowChange>,
    ) -> usize {
        let joinable = joinable.then(|| TableChange::of(&sql));
        self.steps.push(Step { sql, binds, joinable, rows });
        self.steps.len() - 1
    }

    /// Whether one of the statements changes one of the tables.
    fn changes_any(&self, watched: &WatchedTables) -> bool {
        self.steps.iter().any(|step| changed_tables(&step.sql).any(|table| watched.tables.contains(table)))
    }

    #[cfg(test)]
    pub(crate) fn into_steps(self) -> Vec<Step> {
        self.steps
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
    pub fn len(&self) -> usize {
        self.steps.len()
    }
}

impl Results {
    pub fn rows(&self, step: usize) -> &[Row] {
        &self.rows[step]
    }
    pub fn first(&self, step: usize) -> Option<&Row> {
        self.rows[step].first()
    }
    /// The first column of every row as a document.
    pub fn documents(&self, step: usize) -> Vec<Json> {
        self.rows[step].iter().map(|row| row.get(0)).collect()
    }
    /// The first column of the first row as a document.
    pub fn document(&self, step: usize) -> Option<Json> {
        self.first(step).and_then(|row| row.get(0))
    }
}

impl Connection {
    /// Sends the statements in one round trip, outside of a transaction.
    pub async fn send(&self, pipeline: Pipeline) -> Result<Results, DatabaseError> {
        debug_assert!(
            self.watched.as_deref().is_none_or(|watched| !pipeline.changes_any(watched)),
            "a table that nodes cache is changed outside of a transaction"
        );
        if !self.is_of_replica() {
            return send(self, None, pipeline, None).await;
        }
        // A replica: it is only read from, so the primary can be asked the same.
        if let Some(primary) = self.substitute() {
            return send(primary, None, pipeline, None).await;
        }
        let error = match send(self, None, pipeline.clone(), None).await {
            Err(error) if error.is_loss_of_server() => error,
            answered => return answered,
        };
        match self.open_substitute().await {
            Some(primary) => {
                tracing::info!(error = %error.error, "a replica went away; the primary answers");
                send(primary, None, pipeline, None).await
            }
            None => Err(error),
        }
    }

    /// One statement, one round trip.
    pub async fn query(
        &self,
        sql: impl Into<Cow<'static, str>>,
        binds: Vec<Bind>,
    ) -> Result<Vec<Row>, DatabaseError> {
        let mut pipeline = Pipeline::new();
        pipeline.add(sql, binds);
        Ok(self.send(pipeline).await?.rows.pop().unwrap_or_default())
    }

    /// A transaction that begins with its first round trip.
    pub fn begin(self) -> Tx {
        Tx { connection: Some(self), state: State::NotBegun, changes_watched: false }
    }
}

/// A transaction: it begins with its first round trip, ends with [`Tx::send_and_commit`], and is rolled back if dropped
/// before.
pub struct Tx {
    connection: Option<Connection>,
    state: State,
    /// Whether it has changed a table that nodes cache.
    changes_watched: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    NotBegun,
    Open,
    Done,
}

impl Tx {
    /// Sends the statements in one round trip; the first round trip of the transaction includes its BEGIN.
    pub async fn send(&mut self, pipeline: Pipeline) -> Result<Results, DatabaseError> {
        let before = (self.state == State::NotBegun).then_some("BEGIN");
        self.state = State::Open;
        if let Some(watched) = &self.connection().watched {
            self.changes_watched |= pipeline.changes_any(watched);
        }
        send(self.connection(), before, pipeline, None).await
    }

    /// Sends the statements and the COMMIT in one round trip.
    pub async fn send_and_commit(mut self, mut pipeline: Pipeline) -> Result<Results, DatabaseError> {
        let before = (self.state == State::NotBegun).then_some("BEGIN");
        self.state = State::Open;
        let watched = self.connection().watched.clone();
        let watched = watched.filter(|watched| self.changes_watched || pipeline.changes_any(watched));
        for sql in watched.iter().flat_map(|watched| &watched.before_commit) {
            pipeline.add(*sql, vec![]);
        }
        let results = send(self.connection(), before, pipeline, Some("COMMIT")).await;
        if let Some(watched) = watched {
            // Also if the outcome of the COMMIT is unknown.
            (watched.committed)();
        }
        // If a statement failed, the server has answered COMMIT with a rollback; if it could not even be prepared,
        // COMMIT was not sent. Then dropping rolls back, which is at worst superfluous.
        if results.is_ok() {
            self.state = State::Done;
        }
        results
    }

    /// One statement, one round trip.
    pub async fn query(
        &mut self,
        sql: impl Into<Cow<'static, str>>,
        binds: Vec<Bind>,
    ) -> Result<Vec<Row>, DatabaseError> {
        let mut pipeline = Pipeline::new();
        pipeline.add(sql, binds);
        Ok(self.send(pipeline).await?.rows.pop().unwrap_or_default())
    }

    pub async fn commit(self) -> Result<(), DatabaseError> {
        self.send_and_commit(Pipeline::new()).await.map(|_| ())
    }

    /// The transaction's connection, for other reads: a task that holds a connection must not borrow a second one.
    pub fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("the connection is taken only when the transaction is dropped")
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        if self.state == State::Open
            && let Some(mut connection) = self.connection.take()
            // Closing the connection in the middle of a pipeline also rolls back the transaction.
            && !connection.is_broken()
        {
            connection.hand_over();
            // The rollback is not awaited; the connection returns to its pool when it is done.
            tokio::spawn(async move {
                let _ = connection.bounded(connection.client().batch_execute("ROLLBACK")).await;
            });
        }
    }
}

async fn send(
    connection: &Connection,
    before: Option<&'static str>,
    pipeline: Pipeline,
    after: Option<&'static str>,
) -> Result<Results, DatabaseError> {
    let client = connection.client();
    let started = Instant::now();
    let pipeline_length = pipeline.steps.len();
    let (steps, numbers) = joined(pipeline.steps);
    let no_answer =
        |none| DatabaseError { step: 0, state: None, constraint: None, error: Cause::NoAnswer(none) };
    // Statements are prepared once per connection, so this is not counted as a round trip.
    let prepared = try_join_all(steps.iter().zip(&numbers).map(|(step, number)| async move {
        connection.prepare(&step.sql).await.map_err(|error| failed(*number, error))
    }));
    let statements = connection.bounded(prepared).await.map_err(no_answer)??;
    let control = |sql: Option<&'static str>| async move {
        match sql {
            Some(sql) => client.batch_execute(sql).await,
            None => Ok(()),
        }
    };
    let queries = join_all(steps.iter().zip(&statements).map(|(step, statement)| async move {
        let binds: Vec<&(dyn ToSql + Sync)> = step.binds.iter().map(|bind| bind as _).collect();
        let rows = client.query(statement, &binds).await;
        (rows, started.elapsed())
    }));
    // Polled, and therefore sent, in this order; the results are awaited together.
    let (begun, answers, ended) = {
        let begin = control(before);
        let end = control(after);
        connection.bounded(futures_util::future::join3(begin, queries, end)).await.map_err(no_answer)?
    };
    meter::count_round_trip(started.elapsed());
    begun.map_err(|error| failed(0, error))?;
    let mut rows = Vec::with_capacity(pipeline_length);
    let mut arrived = Vec::with_capacity(pipeline_length);
    for (number, (answer, when)) in numbers.into_iter().zip(answers) {
        // The other changes of the joined statement have no rows.
        rows.resize_with(number, Vec::new);
        arrived.resize(number, when);
        rows.push(answer.map_err(|error| failed(number, error))?);
        arrived.push(when);
    }
    rows.resize_with(pipeline_length, Vec::new);
    ended.map_err(|error| failed(rows.len(), error))?;
    Ok(Results { rows, arrived })
}

fn failed(step: usize, error: tokio_postgres::Error) -> DatabaseError {
    let (state, constraint) = match error.as_db_error() {
        Some(db) => (Some(db.code().code().to_owned()), db.constraint().map(str::to_owned)),
        None => (None, None),
    };
    DatabaseError { step, state, constraint, error: Cause::Driver(error) }
}
