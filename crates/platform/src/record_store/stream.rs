//! Long lists: documents go to the client as they come from the database, and only a few stand in memory.

use crate::database::{Connection, Json, failure};
use crate::http::{Answer, Call, Rest, pretty};
use crate::record_store::read::{self, Asked, Bound, Count, Page};
use bytes::Bytes;
use carrel_cql::Where;
use carrel_records::{Failure, RecordType};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::pin::pin;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// Longer pages are streamed; shorter ones are one round trip with their count.
pub const LONGEST_PAGE: i64 = 1_000;
/// Bytes that are sent at once.
const CHUNK: usize = 64 * 1024;
/// A client that takes nothing for so long gives its connection back.
const PATIENCE: Duration = Duration::from_secs(60);

type Chunk = Result<Bytes, std::io::Error>;

/// A statement, and what its rows become.
struct Rows {
    statement: Bound,
    /// Makes the JSON of a row.
    show: Box<dyn Fn(&Row) -> Result<Vec<u8>, Failure> + Send>,
    /// What stands behind the last document.
    closing: fn(&RecordType, i64) -> String,
}

/// The records that are asked for, as they are stored: a short page at once, a long one as it is read.
pub async fn plain(call: &Call, record: &'static RecordType, asked: &Asked) -> Result<Answer, Failure> {
    let connection = call.tenant()?.reader().await?;
    if asked.limit <= LONGEST_PAGE {
        let page = read::list(&connection, record, &call.library.records, asked).await?;
        return Ok(Answer::json_bytes(page.to_bytes(record)));
    }
    let condition = read::condition(asked.query.as_ref(), record, &call.library.records)?;
    let statement = read::documents(record, &condition, asked);
    let show = Box::new(|row: &Row| match row.try_get::<_, Json>(0) {
        Ok(document) => Ok(document.0.into_bytes()),
        Err(error) => Err(failure(error, "reading a document")),
    });
    rows(connection, record, &condition, asked, Rows { statement, show, closing: Page::closing }).await
}

/// The records that are asked for, shown with what stands beside them: a short page at once, a long one as it is read.
///
/// `select` makes the statement of the text that [`read::page_of`] gives, `show` the JSON of one of its rows.
pub async fn shown(
    call: &Call,
    record: &'static RecordType,
    asked: &Asked,
    select: impl FnOnce(&str) -> String,
    show: impl Fn(&Row) -> Result<Value, Failure> + Send + 'static,
) -> Result<Answer, Failure> {
    let connection = call.tenant()?.reader().await?;
    let condition = read::condition(asked.query.as_ref(), record, &call.library.records)?;
    let (page, binds) = read::page_of(&condition, asked.limit, asked.offset);
    let statement = (select(&page), binds);
    if asked.limit <= LONGEST_PAGE {
        let found = read::found(&connection, &condition, asked, statement).await?;
        let shown = found.rows().iter().map(show).collect::<Result<Vec<Value>, Failure>>()?;
        let body = json!({(record.collection): shown, "totalRecords": found.total});
        return Ok(Answer::json_bytes(pretty(&body)));
    }
    let show = Box::new(move |row: &Row| show(row).map(|shown| pretty(&shown)));
    let closing = |_: &RecordType, total: i64| format!("],\"totalRecords\":{total}}}");
    rows(connection, record, &condition, asked, Rows { statement, show, closing }).await
}

/// A collection of the record's name: its matches are counted first, then each row is sent as it is read.
async fn rows(
    connection: Connection,
    record: &'static RecordType,
    condition: &Where,
    asked: &Asked,
    Rows { statement: (sql, binds), show, closing }: Rows,
) -> Result<Answer, Failure> {
    let counted = match asked.count {
        Count::Wanted => read::count(&connection, condition, asked.offset).await?,
        Count::Unwanted => 0,
    };
    let before = asked.offset;
    let statement = connection
        .client
        .prepare_cached(&sql)
        .await
        .map_err(|error| failure(error, "preparing a long list"))?;
    let binds: Vec<&(dyn ToSql + Sync)> = binds.iter().map(|bind| bind as _).collect();
    let rows = connection
        .client()
        .query_raw(&statement, binds)
        .await
        .map_err(|error| failure(error, "reading a long list"))?;
    let (sender, receiver) = mpsc::channel(2);
    tokio::spawn(async move {
        let mut rows = pin!(rows);
        let mut chunk = Vec::with_capacity(CHUNK + CHUNK / 4);
        chunk.extend_from_slice(Page::opening(record).as_bytes());
        let mut sent = 0;
        while let Some(row) = rows.next().await {
            let shown = match row {
                Ok(row) => show(&row),
                Err(error) => Err(failure(error, "reading a long list")),
            };
            let document = match shown {
                Ok(document) => document,
                Err(error) => {
                    tracing::warn!(error = %error, "a long list of {} broke off", record.name);
                    let _ = sender.send(Err(std::io::Error::other("the list broke off"))).await;
                    connection.discard();
                    return;
                }
            };
            if sent > 0 {
                chunk.push(b',');
            }
            sent += 1;
            chunk.extend_from_slice(&document);
            if chunk.len() >= CHUNK && !send(&sender, &mut chunk).await {
                // Whatever the server has still to send would keep the next borrower waiting.
                connection.discard();
                return;
            }
        }
        let total = if sent > 0 { counted.max(before + sent) } else { counted };
        chunk.extend_from_slice(closing(record, total).as_bytes());
        send(&sender, &mut chunk).await;
    });
    Ok(Answer::json_bytes(Vec::new()).followed_by(Rest::of(receiver)))
}

/// Hands the chunk over; false where nobody takes it.
async fn send(sender: &mpsc::Sender<Chunk>, chunk: &mut Vec<u8>) -> bool {
    let bytes = Bytes::from(std::mem::replace(chunk, Vec::with_capacity(CHUNK + CHUNK / 4)));
    matches!(tokio::time::timeout(PATIENCE, sender.send(Ok(bytes))).await, Ok(Ok(())))
}
