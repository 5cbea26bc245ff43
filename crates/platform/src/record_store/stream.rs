//! Long lists: documents are sent to the client as the database sends them, so that only a few are in memory.

use crate::database::{
    Bind, Connection, Json, QUERY_TIMEOUT, database_unreachable, failure, query_timed_out,
};
use crate::http::{Answer, Call, Rest, pretty};
use crate::meter::spawn_metered;
use crate::record_store::read::{self, Bound, Count, Page, PageRequest};
use bytes::Bytes;
use carrel_cql::Where;
use carrel_records::{Failure, RecordType};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, RowStream};

/// Longer pages are streamed; shorter ones are read with their count in one round trip.
pub const LONGEST_PAGE: i64 = 1_000;
/// Bytes that are sent at once.
const CHUNK: usize = 64 * 1024;
/// A client that reads nothing for this long loses its list and its connection.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes per second that a client must read on average, checked after [`WRITE_TIMEOUT`].
const MIN_BYTES_PER_SECOND: u64 = 64 * 1024;
/// Long lists of a tenant that are read at the same time on this node: at most this fraction of its connections for
/// reading, and at least one. Slow clients leave the other connections to short pages.
const CONCURRENT_LISTS_DIVISOR: usize = 4;
/// The time for which a long list waits until it may start.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);

type Chunk = Result<Bytes, std::io::Error>;

/// Formats a row as JSON.
pub type Show = Box<dyn Fn(&Row) -> Result<Vec<u8>, Failure> + Send>;

/// The text after the last document, given the number of all documents.
pub type Closing = fn(&RecordType, i64) -> String;

/// A statement, and how its rows are formatted.
struct Rows {
    statement: Bound,
    show: Show,
    /// Name of the list.
    name: &'static str,
    closing: Closing,
}

/// The requested records as they are stored: a short page at once, a long one as a stream.
pub async fn plain(
    call: &Call,
    record: &'static RecordType,
    requested: &PageRequest,
) -> Result<Answer, Failure> {
    if requested.limit <= LONGEST_PAGE {
        let connection = call.tenant()?.reader().await?;
        let page = read::list(&connection, record, &call.node.records, requested).await?;
        return Ok(Answer::json_bytes(page.to_bytes(record)));
    }
    let condition = read::condition(requested.query.as_ref(), record, &call.node.records)?;
    let connection = connection_for_list(call).await?;
    let statement = read::documents(record, &condition, requested);
    let as_stored = Rows { statement, show: first_column(), name: record.collection, closing: Page::closing };
    rows(connection, record, &condition, requested, as_stored).await
}

/// The requested records as documents that the database composes, in a list of this name; always streamed.
///
/// `select` builds the statement, whose first column is the document, from the text of [`read::page_of`].
pub async fn composed(
    call: &Call,
    record: &'static RecordType,
    requested: &PageRequest,
    (name, closing): (&'static str, Closing),
    select: impl FnOnce(&str) -> String,
) -> Result<Answer, Failure> {
    let condition = read::condition(requested.query.as_ref(), record, &call.node.records)?;
    let connection = connection_for_list(call).await?;
    let (page, binds) = read::page_of(&condition, requested.limit, requested.offset);
    let composed = Rows { statement: (select(&page), binds), show: first_column(), name, closing };
    rows(connection, record, &condition, requested, composed).await
}

/// Concatenated documents, without anything around or between them: the number of records of a harvest is not known in
/// advance.
pub async fn bare(call: &Call, statement: Bound, show: Show) -> Result<Answer, Failure> {
    let connection = connection_for_list(call).await?;
    let frame = Frame { opening: String::new(), between: "", closing: Box::new(|_| String::new()) };
    pour(connection, statement, show, frame).await
}

/// Only the number of all documents.
pub fn total_alone(_: &RecordType, total: i64) -> String {
    format!("],\"totalRecords\":{total}}}")
}

fn first_column() -> Show {
    Box::new(|row: &Row| match row.try_get::<_, Json>(0) {
        Ok(document) => Ok(document.into_compact()),
        Err(error) => Err(failure(error, "reading a document")),
    })
}

/// The requested records, formatted with related data: a short page at once, a long one as a stream.
///
/// `select` builds the statement from the text of [`read::page_of`], `show` formats a row as JSON.
pub async fn shown(
    call: &Call,
    record: &'static RecordType,
    requested: &PageRequest,
    select: impl FnOnce(&str) -> String,
    show: impl Fn(&Row) -> Result<Value, Failure> + Send + 'static,
) -> Result<Answer, Failure> {
    let condition = read::condition(requested.query.as_ref(), record, &call.node.records)?;
    let (page, binds) = read::page_of(&condition, requested.limit, requested.offset);
    let statement = (select(&page), binds);
    if requested.limit <= LONGEST_PAGE {
        let connection = call.tenant()?.reader().await?;
        let found = read::found(&connection, &condition, requested, statement).await?;
        let shown = found.rows().iter().map(show).collect::<Result<Vec<Value>, Failure>>()?;
        let body = json!({(record.collection): shown, "totalRecords": found.total});
        return Ok(Answer::json_bytes(pretty(&body)));
    }
    let connection = connection_for_list(call).await?;
    let show = Box::new(move |row: &Row| show(row).map(|shown| pretty(&shown)));
    let shown = Rows { statement, show, name: record.collection, closing: total_alone };
    rows(connection, record, &condition, requested, shown).await
}

/// A connection for a list of unknown length and an unknown speed of its reader.
struct ListConnection {
    connection: Connection,
    /// Counts against the concurrent lists until it is dropped.
    permit: OwnedSemaphorePermit,
}

/// Limits the concurrent long lists of a tenant.
#[derive(Default)]
struct Turns(OnceLock<Arc<Semaphore>>);

async fn connection_for_list(call: &Call) -> Result<ListConnection, Failure> {
    let tenant = call.tenant()?;
    let turns = tenant.state.of::<Turns>();
    let turns = turns.0.get_or_init(|| {
        let lists = (tenant.reader_connections() / CONCURRENT_LISTS_DIVISOR).max(1);
        Arc::new(Semaphore::new(lists))
    });
    let busy =
        || Failure::Unavailable("As many long lists are read as may be. Try again in a moment.".into());
    let permit = tokio::time::timeout(TURN_TIMEOUT, Arc::clone(turns).acquire_owned())
        .await
        .map_err(|_| busy())?
        .map_err(|_| busy())?;
    Ok(ListConnection { connection: tenant.reader().await?, permit })
}

/// A collection: its matches are counted first, then each row is sent as it is read.
async fn rows(
    connection: ListConnection,
    record: &'static RecordType,
    condition: &Where,
    requested: &PageRequest,
    Rows { statement, show, name, closing }: Rows,
) -> Result<Answer, Failure> {
    let counted = match requested.count {
        Count::Wanted => read::count(&connection.connection, condition, requested.offset).await?,
        Count::Unwanted => 0,
    };
    let before = requested.offset;
    let frame = Frame {
        opening: format!("{{\"{name}\":["),
        between: ",",
        closing: Box::new(move |sent| {
            closing(record, if sent > 0 { counted.max(before + sent) } else { counted })
        }),
    };
    pour(connection, statement, show, frame).await
}

/// The text around and between documents; the closing text is given their number.
struct Frame {
    opening: String,
    between: &'static str,
    closing: Box<dyn FnOnce(i64) -> String + Send>,
}

/// The rows of a statement that may take as long as its client reads on, and the first of them, which may take as long
/// as a query.
async fn first_row(
    connection: &Connection,
    sql: &str,
    binds: &[Bind],
) -> Result<(Pin<Box<RowStream>>, Option<Result<Row, tokio_postgres::Error>>), Failure> {
    let failed = |error| failure(error, "reading a long list");
    let begun = connection.bounded(async {
        connection.client().batch_execute("SET statement_timeout = 0").await?;
        let statement = connection.prepare(sql).await?;
        let binds: Vec<&(dyn ToSql + Sync)> = binds.iter().map(|bind| bind as _).collect();
        connection.client().query_raw(&statement, binds).await
    });
    let mut rows = Box::pin(begun.await.map_err(|_| database_unreachable())?.map_err(failed)?);
    match tokio::time::timeout(QUERY_TIMEOUT, rows.next()).await {
        Ok(Some(Err(error))) => Err(failed(error)),
        Ok(first) => Ok((rows, first)),
        Err(_) => Err(query_timed_out()),
    }
}

/// Sends each row as it is read.
async fn pour(
    connection: ListConnection,
    (sql, binds): Bound,
    show: Show,
    frame: Frame,
) -> Result<Answer, Failure> {
    let ListConnection { mut connection, permit } = connection;
    let (mut rows, first) = match first_row(&connection, &sql, &binds).await {
        Ok(begun) => begun,
        Err(begun @ Failure::Unavailable(_)) => {
            // A replica that went away; nothing is sent yet.
            let Some(primary) = connection.in_place_of_replica().await else { return Err(begun) };
            connection = primary;
            match first_row(&connection, &sql, &binds).await {
                Ok(begun) => begun,
                Err(failure) => {
                    connection.discard();
                    return Err(failure);
                }
            }
        }
        Err(failure) => {
            // The database notices within two seconds that nobody waits for it any more.
            connection.discard();
            return Err(failure);
        }
    };
    let (sender, receiver) = mpsc::channel(2);
    connection.hand_over();
    spawn_metered(async move {
        let _permit = permit;
        let mut pace = Pace { started: Instant::now(), bytes: 0 };
        let mut next = first;
        let mut chunk = Vec::with_capacity(CHUNK + CHUNK / 4);
        chunk.extend_from_slice(frame.opening.as_bytes());
        let mut sent = 0;
        while let Some(row) = next {
            let shown = match row {
                Ok(row) => show(&row),
                Err(error) => Err(failure(error, "reading a long list")),
            };
            let document = match shown {
                Ok(document) => document,
                Err(error) => {
                    tracing::warn!(error = %error, "a long list was aborted after {sent} rows");
                    let _ = sender.send(Err(std::io::Error::other("the list was aborted"))).await;
                    connection.discard();
                    return;
                }
            };
            if sent > 0 {
                chunk.extend_from_slice(frame.between.as_bytes());
            }
            sent += 1;
            chunk.extend_from_slice(&document);
            if chunk.len() >= CHUNK && !pace.send(&sender, &mut chunk).await {
                // The rest of the server's rows would delay the next user of the connection.
                connection.discard();
                return;
            }
            next = match tokio::time::timeout(QUERY_TIMEOUT, rows.next()).await {
                Ok(next) => next,
                Err(_) => {
                    tracing::warn!("a long list was aborted after {sent} rows: the database sends no more");
                    let _ = sender.send(Err(std::io::Error::other("the list was aborted"))).await;
                    connection.discard();
                    return;
                }
            };
        }
        let reset = connection.bounded(connection.restore_statement_timeout()).await;
        if !matches!(reset, Ok(Ok(()))) {
            connection.discard();
        }
        chunk.extend_from_slice((frame.closing)(sent).as_bytes());
        pace.send(&sender, &mut chunk).await;
    });
    Ok(Answer::json_bytes(Vec::new()).followed_by(Rest::of(receiver)))
}

/// The speed at which the client reads the list.
struct Pace {
    started: Instant,
    bytes: u64,
}

impl Pace {
    /// Sends the chunk; false if the client has disconnected or is too slow.
    async fn send(&mut self, sender: &mpsc::Sender<Chunk>, chunk: &mut Vec<u8>) -> bool {
        self.bytes += chunk.len() as u64;
        let bytes = Bytes::from(std::mem::replace(chunk, Vec::with_capacity(CHUNK + CHUNK / 4)));
        let sent = tokio::time::timeout(WRITE_TIMEOUT, sender.send(Ok(bytes))).await;
        matches!(sent, Ok(Ok(()))) && !self.is_too_slow(self.started.elapsed())
    }

    fn is_too_slow(&self, elapsed: Duration) -> bool {
        elapsed > WRITE_TIMEOUT && self.bytes < MIN_BYTES_PER_SECOND * elapsed.as_secs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_half_a_minute_and_then_needs_a_least_speed() {
        let pace = |bytes| Pace { started: Instant::now(), bytes };
        let seconds = Duration::from_secs;
        assert!(!pace(0).is_too_slow(seconds(30)));
        assert!(pace(31 * 64 * 1024).is_too_slow(seconds(60)));
        assert!(!pace(60 * 64 * 1024).is_too_slow(seconds(60)));
    }
}
