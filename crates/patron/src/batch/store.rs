//! Batches and their lines in the database.

use super::hold_request::{Batch, MOST};
use carrel_platform::transaction_listeners::Outcome;
use carrel_platform::{Bind, Changes, Connection, Json, Pipeline, Tenant};
use carrel_records::{Failure, Refusal, time};
use carrel_requests::anonymize::RequestAnonymized;
use jiff::Timestamp;
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

/// The state of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchStatus {
    pub id: Uuid,
    pub requester: Uuid,
    pub document: Value,
    /// Whether all its requests have been placed or refused.
    pub is_done: bool,
    pub lines: Vec<Line>,
}

/// One item of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub place: i32,
    pub item: Uuid,
    pub pickup: Uuid,
    pub status: LineStatus,
    /// The request that it becomes.
    pub request: Uuid,
    pub error: Option<String>,
}

/// The state of a line of a batch, with FOLIO's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStatus {
    Pending,
    Completed,
    Failed,
}

impl LineStatus {
    pub fn text(self) -> &'static str {
        match self {
            LineStatus::Pending => "Pending",
            LineStatus::Completed => "Completed",
            LineStatus::Failed => "Failed",
        }
    }
    fn named(text: &str) -> LineStatus {
        match text {
            "Completed" => LineStatus::Completed,
            "Failed" => LineStatus::Failed,
            _ => LineStatus::Pending,
        }
    }
}

/// Stores a batch with all lines, unless it is refused.
pub async fn take_in(
    tenant: &Tenant,
    batch: &Batch,
    document: &Value,
    now: Timestamp,
) -> Result<(), Failure> {
    let mut tx = tenant.begin().await?;
    let rows = tx
        .query(
            "SELECT doc->'value' FROM settings WHERE doc->>'scope' = 'mod-requests-mediated.manage'
               AND doc->>'key' = 'multiItemBatchRequestItemsValidation' LIMIT 1",
            vec![],
        )
        .await?;
    let setting = rows.first().and_then(|row| row.get::<_, Option<Json>>(0)).map(|json| json.parse());
    let most = setting.and_then(|setting| setting["maxAllowedItemsCount"].as_i64()).unwrap_or(MOST);
    if let Some(refusal) = batch.refuse(most) {
        return Err(refusal.into());
    }
    let uuid_time = carrel_platform::record_store::write::uuid_time;
    let requests: Vec<Uuid> = batch.hold_requests.iter().map(|_| Uuid::new_v7(uuid_time(now))).collect();
    let mut pipeline = Pipeline::new();
    let first = pipeline.add(
        "INSERT INTO patron_batch (id, requester_id, doc, is_done) VALUES ($1, $2, $3, false)",
        vec![batch.id.into(), batch.requester.into(), Bind::from(document)],
    );
    pipeline.add(
        "INSERT INTO patron_batch_line (batch_id, place, item_id, pickup_id, request_id, status)
         SELECT $1, line.place, line.item, line.pickup, line.request, 'Pending'
         FROM unnest($2::uuid[], $3::uuid[], $4::uuid[]) WITH ORDINALITY
              AS line (item, pickup, request, place)",
        vec![
            batch.id.into(),
            batch.hold_requests.iter().map(|hold_request| hold_request.item).collect::<Vec<_>>().into(),
            batch.hold_requests.iter().map(|hold_request| hold_request.pickup).collect::<Vec<_>>().into(),
            requests.into(),
        ],
    );
    tx.send_and_commit(pipeline).await.map_err(|error| {
        if error.is_unique_violation() && error.step == first {
            let known: Refusal = batch.known_already();
            return known.into();
        }
        Failure::from(error)
    })?;
    Ok(())
}

const COLUMNS: &str = "batch.id, batch.requester_id, batch.doc, batch.is_done, line.place, line.item_id, \
     line.pickup_id, line.status, line.request_id, line.error";

/// The batch with the id, and the title of an instance.
pub async fn find(
    connection: &Connection,
    id: Uuid,
    instance: Uuid,
) -> Result<(Option<BatchStatus>, Option<String>), Failure> {
    let mut pipeline = Pipeline::new();
    let batch = pipeline.add(
        format!(
            "SELECT {COLUMNS} FROM patron_batch batch LEFT JOIN patron_batch_line line ON line.batch_id = batch.id
             WHERE batch.id = $1 ORDER BY line.place"
        ),
        vec![id.into()],
    );
    let title = pipeline.add("SELECT doc->>'title' FROM instance WHERE id = $1", vec![instance.into()]);
    let results = connection.send(pipeline).await?;
    let title = results.first(title).and_then(|row| row.get::<_, Option<String>>(0));
    Ok((gathered(results.rows(batch)).pop(), title))
}

/// The batches that some of these requests came from.
pub async fn of_requests(connection: &Connection, requests: Vec<Uuid>) -> Result<Vec<BatchStatus>, Failure> {
    let sql = format!(
        "SELECT {COLUMNS} FROM patron_batch batch JOIN patron_batch_line line ON line.batch_id = batch.id
         WHERE batch.id IN (SELECT batch_id FROM patron_batch_line WHERE request_id = ANY($1))
         ORDER BY batch.id, line.place"
    );
    Ok(gathered(&connection.query(sql, vec![requests.into()]).await?))
}

/// Batches with lines that are not placed yet, the oldest first, some lines at a time.
pub async fn waiting(connection: &Connection, at_most: i64) -> Result<Vec<BatchStatus>, Failure> {
    let sql = format!(
        "SELECT {COLUMNS} FROM patron_batch batch JOIN patron_batch_line line ON line.batch_id = batch.id
         WHERE NOT batch.is_done AND line.status = 'Pending'
         ORDER BY batch.doc->>'requestDate', batch.id, line.place LIMIT $1"
    );
    Ok(gathered(&connection.query(sql, vec![at_most.into()]).await?))
}

/// Stores the outcome of a line.
pub async fn note(
    connection: &Connection,
    batch: Uuid,
    place: i32,
    status: LineStatus,
    error: Option<String>,
) -> Result<(), Failure> {
    connection
        .query(
            "UPDATE patron_batch_line SET status = $3, error = $4 WHERE batch_id = $1 AND place = $2",
            vec![batch.into(), place.into(), status.text().into(), error.into()],
        )
        .await?;
    Ok(())
}

/// Ends the batches without open lines.
pub async fn end(connection: &Connection, now: Timestamp) -> Result<(), Failure> {
    connection
        .query(
            "UPDATE patron_batch SET is_done = true,
                 doc = jsonb_set(doc, '{metadata,updatedDate}', to_jsonb($1::text))
             WHERE NOT is_done AND NOT EXISTS (SELECT 1 FROM patron_batch_line line
                 WHERE line.batch_id = patron_batch.id AND line.status = 'Pending')",
            vec![time::format(now).into()],
        )
        .await?;
    Ok(())
}

/// Deletes the line of an anonymized request, and its batch with the last line: a batch contains its requester.
pub fn forget_request<'a>(
    changes: &'a mut Changes<'_>,
    anonymized: &'a mut RequestAnonymized,
) -> Outcome<'a> {
    changes.pipeline.add(
        "WITH gone AS (DELETE FROM patron_batch_line WHERE request_id = $1 RETURNING batch_id)
         DELETE FROM patron_batch USING gone WHERE patron_batch.id = gone.batch_id AND NOT EXISTS (
             SELECT 1 FROM patron_batch_line line WHERE line.batch_id = gone.batch_id AND line.request_id <> $1)",
        vec![anonymized.request.into()],
    );
    Box::pin(std::future::ready(Ok(())))
}

/// Rows of one batch are adjacent.
fn gathered(rows: &[Row]) -> Vec<BatchStatus> {
    let mut all: Vec<BatchStatus> = Vec::new();
    for row in rows {
        let id: Uuid = row.get(0);
        if all.last().is_none_or(|last| last.id != id) {
            all.push(BatchStatus {
                id,
                requester: row.get(1),
                document: row.get::<_, Json>(2).parse(),
                is_done: row.get(3),
                lines: Vec::new(),
            });
        }
        let Some(place) = row.get::<_, Option<i32>>(4) else { continue };
        if let Some(batch) = all.last_mut() {
            batch.lines.push(Line {
                place,
                item: row.get(5),
                pickup: row.get(6),
                status: LineStatus::named(row.get(7)),
                request: row.get(8),
                error: row.get(9),
            });
        }
    }
    all
}
