//! Long lists: documents go to the client as they come from the database, and only a few stand in memory.

use crate::database::{Connection, failure};
use crate::http::{Answer, Rest};
use crate::record_store::read::{self, Asked, Page};
use bytes::Bytes;
use carrel_records::{Failure, RecordType};
use futures_util::StreamExt;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_postgres::types::ToSql;

/// Longer pages are streamed; shorter ones are one round trip with their count.
pub const LONGEST_PAGE: i64 = 1_000;
/// Bytes that are sent at once.
const CHUNK: usize = 64 * 1024;
/// A client that takes nothing for so long gives its connection back.
const PATIENCE: Duration = Duration::from_secs(60);

type Chunk = Result<Bytes, std::io::Error>;

/// The answer to a question for a long list: counted first, then sent row by row.
pub async fn list(
    connection: Connection,
    record: &'static RecordType,
    all: &[&'static RecordType],
    asked: &Asked,
) -> Result<Answer, Failure> {
    let counted = read::list(&connection, record, all, &Asked { limit: 0, ..asked.clone() }).await?;
    let (sql, binds) = read::page_sql(record, all, asked)?;
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
        let mut first = true;
        while let Some(row) = rows.next().await {
            let document: crate::Json = match row.and_then(|row| row.try_get(0)) {
                Ok(document) => document,
                Err(error) => {
                    tracing::warn!(error = %error, "a long list of {} broke off", record.name);
                    let _ = sender.send(Err(std::io::Error::other("the list broke off"))).await;
                    connection.discard();
                    return;
                }
            };
            if !std::mem::take(&mut first) {
                chunk.push(b',');
            }
            chunk.extend_from_slice(document.0.as_bytes());
            if chunk.len() >= CHUNK && !send(&sender, &mut chunk).await {
                // Whatever the server has still to send would keep the next borrower waiting.
                connection.discard();
                return;
            }
        }
        chunk.extend_from_slice(Page::closing(record, counted.total).as_bytes());
        send(&sender, &mut chunk).await;
    });
    Ok(Answer::json_bytes(Vec::new()).followed_by(Rest::of(receiver)))
}

/// Hands the chunk over; false where nobody takes it.
async fn send(sender: &mpsc::Sender<Chunk>, chunk: &mut Vec<u8>) -> bool {
    let bytes = Bytes::from(std::mem::replace(chunk, Vec::with_capacity(CHUNK + CHUNK / 4)));
    matches!(tokio::time::timeout(PATIENCE, sender.send(Ok(bytes))).await, Ok(Ok(())))
}
