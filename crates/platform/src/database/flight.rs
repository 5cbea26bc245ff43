//! Statements that travel together: one flight is one round trip, however many statements it carries.

use crate::database::{Bind, Connection, Json, failure};
use crate::meter;
use carrel_records::Failure;
use futures_util::future::join_all;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// Statements to send in one go, in order.
#[derive(Default)]
pub struct Flight {
    steps: Vec<Step>,
}

struct Step {
    sql: Cow<'static, str>,
    binds: Vec<Bind>,
    /// What it touches, where it is a change that may be one statement with the changes beside it.
    joins: Option<Touch>,
}

/// What came back, by the number that [`Flight::add`] gave.
pub struct Landed {
    rows: Vec<Vec<Row>>,
    /// When the answer of each statement arrived, since the start of the flight.
    pub arrived: Vec<std::time::Duration>,
}

/// A statement of a flight failed; the transaction is undone.
#[derive(Debug)]
pub struct DatabaseError {
    /// Number of the statement in its flight.
    pub step: usize,
    /// SQLSTATE, where the server gave one.
    pub state: Option<String>,
    /// Constraint that refused the change, where one did.
    pub constraint: Option<String>,
    /// The server's detail, for the log.
    pub error: tokio_postgres::Error,
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
    /// Deadlock or serialization failure: the same work may be tried again.
    pub fn is_worth_another_try(&self) -> bool {
        matches!(self.state.as_deref(), Some("40P01" | "40001"))
    }
}

impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Failure {
        if error.is_lock_timeout() {
            return Failure::Unavailable("Unable to acquire lock".into());
        }
        if error.is_worth_another_try() {
            return Failure::Unavailable(
                "Others changed the same records at the same time. Try again.".into(),
            );
        }
        failure(error.error, "running a statement")
    }
}

impl Flight {
    pub fn new() -> Flight {
        Flight::default()
    }

    /// Adds a statement and gives its number.
    pub fn add(&mut self, sql: impl Into<Cow<'static, str>>, binds: Vec<Bind>) -> usize {
        self.steps.push(Step { sql: sql.into(), binds, joins: None });
        self.steps.len() - 1
    }

    /// Adds a change that nobody reads rows of, and gives its number.
    ///
    /// What a scan pays for is the number of statements, so changes that follow each other are sent as one, where
    /// they are of different tables: none sees what the others did. An error is told of the first.
    pub fn change(&mut self, sql: impl Into<Cow<'static, str>>, binds: Vec<Bind>) -> usize {
        let sql = sql.into();
        let joins = Some(Touch::of(&sql));
        self.steps.push(Step { sql, binds, joins });
        self.steps.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
    pub fn len(&self) -> usize {
        self.steps.len()
    }
}

impl Landed {
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
    /// Sends the statements in one round trip, outside a transaction of ours.
    pub async fn fly(&self, flight: Flight) -> Result<Landed, DatabaseError> {
        fly(self, None, flight, None).await
    }

    /// One statement, one round trip.
    pub async fn query(
        &self,
        sql: impl Into<Cow<'static, str>>,
        binds: Vec<Bind>,
    ) -> Result<Vec<Row>, DatabaseError> {
        let mut flight = Flight::new();
        flight.add(sql, binds);
        Ok(self.fly(flight).await?.rows.pop().unwrap_or_default())
    }

    /// A transaction that begins with its first flight.
    pub fn begin(self) -> Tx {
        Tx { connection: Some(self), state: State::NotBegun }
    }
}

/// A transaction: it begins with its first flight, ends with the flight that says so, and is undone when
/// dropped before.
pub struct Tx {
    connection: Option<Connection>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    NotBegun,
    Open,
    Done,
}

impl Tx {
    /// Sends the statements in one round trip; the first flight of the transaction carries its BEGIN.
    pub async fn fly(&mut self, flight: Flight) -> Result<Landed, DatabaseError> {
        let before = (self.state == State::NotBegun).then_some("BEGIN");
        self.state = State::Open;
        fly(self.connection(), before, flight, None).await
    }

    /// Sends the statements and the COMMIT in one round trip.
    pub async fn fly_and_commit(mut self, flight: Flight) -> Result<Landed, DatabaseError> {
        let before = (self.state == State::NotBegun).then_some("BEGIN");
        self.state = State::Open;
        let landed = fly(self.connection(), before, flight, Some("COMMIT")).await;
        // Where a statement failed, the server has answered COMMIT with a rollback; where it could not even be
        // prepared, COMMIT was not sent. Then dropping rolls back, once too often at worst.
        if landed.is_ok() {
            self.state = State::Done;
        }
        landed
    }

    /// One statement, one round trip.
    pub async fn query(
        &mut self,
        sql: impl Into<Cow<'static, str>>,
        binds: Vec<Bind>,
    ) -> Result<Vec<Row>, DatabaseError> {
        let mut flight = Flight::new();
        flight.add(sql, binds);
        Ok(self.fly(flight).await?.rows.pop().unwrap_or_default())
    }

    pub async fn commit(self) -> Result<(), DatabaseError> {
        self.fly_and_commit(Flight::new()).await.map(|_| ())
    }

    fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("the connection is taken only when the transaction is dropped")
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        if self.state == State::Open
            && let Some(connection) = self.connection.take()
        {
            // Nobody waits for a rollback; the connection goes back to its pool when it is done.
            tokio::spawn(async move {
                let _ = connection.client.batch_execute("ROLLBACK").await;
            });
        }
    }
}

async fn fly(
    connection: &Connection,
    before: Option<&'static str>,
    flight: Flight,
    after: Option<&'static str>,
) -> Result<Landed, DatabaseError> {
    let client = &connection.client;
    let started = Instant::now();
    let flight_length = flight.steps.len();
    let (steps, numbers) = joined(flight.steps);
    // Statements are prepared once a connection: not counted as flights, as they do not recur.
    let mut statements = Vec::with_capacity(steps.len());
    for (step, number) in steps.iter().zip(&numbers) {
        statements.push(client.prepare_cached(&step.sql).await.map_err(|error| told(*number, error))?);
    }
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
    // Polled in this order, so sent in this order; the answers are awaited together.
    let (begun, answers, ended) = {
        let begin = control(before);
        let end = control(after);
        futures_util::future::join3(begin, queries, end).await
    };
    meter::flew(started.elapsed());
    begun.map_err(|error| told(0, error))?;
    let mut rows = Vec::with_capacity(flight_length);
    let mut arrived = Vec::with_capacity(flight_length);
    for (number, (answer, when)) in numbers.into_iter().zip(answers) {
        // The other changes of the same statement have no rows.
        rows.resize_with(number, Vec::new);
        arrived.resize(number, when);
        rows.push(answer.map_err(|error| told(number, error))?);
        arrived.push(when);
    }
    rows.resize_with(flight_length, Vec::new);
    ended.map_err(|error| told(rows.len(), error))?;
    Ok(Landed { rows, arrived })
}

/// So many changes are one statement at most: a batch of a thousand records is not one of a thousand parts.
const LONGEST_JOIN: usize = 8;

/// The statements to send, changes that follow each other as one, each with the number of its first step.
fn joined(steps: Vec<Step>) -> (Vec<Step>, Vec<usize>) {
    let mut sent: Vec<Step> = Vec::with_capacity(steps.len());
    let mut numbers = Vec::with_capacity(steps.len());
    let mut steps = steps.into_iter().enumerate().peekable();
    while let Some((number, mut step)) = steps.next() {
        numbers.push(number);
        if let Some(touch) = step.joins.take() {
            let mut touched = vec![touch];
            let mut sql = String::new();
            while let Some((place, next)) = steps.next_if(|(_, next)| {
                touched.len() < LONGEST_JOIN
                    && next.joins.as_ref().is_some_and(|touch| touch.is_apart_from(&touched))
            }) {
                if sql.is_empty() {
                    let _ = write!(sql, "WITH change_0 AS ({})", step.sql);
                }
                let _ = write!(sql, ", change_{place} AS (");
                shift_parameters(&next.sql, step.binds.len(), &mut sql);
                sql.push(')');
                touched.extend(next.joins);
                step.binds.extend(next.binds);
            }
            if !sql.is_empty() {
                sql.push_str(" SELECT 1 WHERE false");
                step.sql = sql.into();
            }
        }
        sent.push(step);
    }
    (sent, numbers)
}

/// The table that a change touches.
#[derive(Clone, PartialEq, Eq)]
struct Touch {
    table: String,
    inserts: bool,
}

impl Touch {
    fn of(sql: &str) -> Touch {
        let mut words = sql.split(|letter: char| letter.is_whitespace() || letter == '(');
        let verb = words.next().unwrap_or_default();
        let table = words.find(|word| !matches!(*word, "INTO" | "FROM" | ""));
        Touch { table: table.unwrap_or_default().to_owned(), inserts: verb == "INSERT" }
    }

    /// Of two changes of one row in one statement only one would happen, so a table is changed once in each;
    /// new rows are apart from each other.
    fn is_apart_from(&self, others: &[Touch]) -> bool {
        others.iter().all(|other| other.table != self.table || other.inserts && self.inserts)
    }
}

/// Appends a statement with its parameters numbered from `by` on.
fn shift_parameters(sql: &str, by: usize, out: &mut String) {
    let mut pieces = sql.split('$');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        match piece[..digits].parse::<usize>() {
            Ok(number) => {
                let _ = write!(out, "${}", number + by);
            }
            Err(_) => out.push('$'),
        }
        out.push_str(&piece[digits..]);
    }
}

fn told(step: usize, error: tokio_postgres::Error) -> DatabaseError {
    let (state, constraint) = match error.as_db_error() {
        Some(db) => (Some(db.code().code().to_owned()), db.constraint().map(str::to_owned)),
        None => (None, None),
    };
    DatabaseError { step, state, constraint, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(flight: Flight) -> Vec<(usize, String, usize)> {
        let (steps, numbers) = joined(flight.steps);
        steps
            .into_iter()
            .zip(numbers)
            .map(|(step, number)| (number, step.sql.into_owned(), step.binds.len()))
            .collect()
    }

    #[test]
    fn a_table_is_changed_once_in_a_statement_but_gets_several_new_rows() {
        let mut flight = Flight::new();
        for sql in ["UPDATE a SET b = 1", "INSERT INTO c(d) VALUES (1)", "INSERT INTO c(d) VALUES (2)"] {
            flight.change(sql, vec![]);
        }
        flight.change("UPDATE a SET b = 2", vec![]);
        flight.change("DELETE FROM a WHERE b = 2", vec![]);
        let numbers: Vec<usize> = texts(flight).into_iter().map(|(number, ..)| number).collect();
        assert_eq!(numbers, [0, 3, 4]);
    }

    #[test]
    fn changes_that_follow_each_other_are_one_statement() {
        let mut flight = Flight::new();
        flight.add("SELECT $1", vec![1.into()]);
        flight.change("INSERT INTO a VALUES ($1, $2)", vec![1.into(), 2.into()]);
        flight.change("UPDATE b SET c = $2, d = '$' WHERE e = $1", vec![3.into(), 4.into()]);
        flight.add("SELECT 2", vec![]);
        flight.change("DELETE FROM f WHERE g = $1", vec![5.into()]);
        let joined = "WITH change_0 AS (INSERT INTO a VALUES ($1, $2)), \
            change_2 AS (UPDATE b SET c = $4, d = '$' WHERE e = $3) SELECT 1 WHERE false";
        assert_eq!(
            texts(flight),
            [
                (0, "SELECT $1".to_owned(), 1),
                (1, joined.to_owned(), 4),
                (3, "SELECT 2".to_owned(), 0),
                (4, "DELETE FROM f WHERE g = $1".to_owned(), 1),
            ]
        );
    }
}
