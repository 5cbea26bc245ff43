//! Results of queries: identifiers, a thousand records in a row.

use crate::query::select::Statement;
use carrel_platform::database::failure;
use carrel_platform::{Bind, Connection, Pipeline};
use carrel_records::Failure;
use uuid::Uuid;

/// Records in a row.
pub const CHUNK: usize = 1_000;
/// Rows that are sent at once: a megabyte of identifiers of one UUID each.
const BATCH: usize = 64;

/// A result that is being written.
pub struct Writer {
    pub id: Uuid,
    width: usize,
    chunk: Vec<Uuid>,
    full: Vec<(i64, Vec<Uuid>)>,
    next: i64,
}

impl Writer {
    /// Begins a result; it is not visible until something refers to it.
    pub async fn begin(connection: &Connection, id: Uuid, width: usize) -> Result<Writer, Failure> {
        connection
            .query(
                "INSERT INTO list_result (id, width) VALUES ($1, $2)",
                vec![id.into(), (width as i64).into()],
            )
            .await?;
        Ok(Writer { id, width, chunk: Vec::with_capacity(CHUNK * width), full: Vec::new(), next: 0 })
    }

    /// Adds a record; true if [`Self::flush`] should be called.
    pub fn push(&mut self, record: impl Iterator<Item = Uuid>) -> bool {
        self.chunk.extend(record);
        if self.chunk.len() == CHUNK * self.width {
            self.cut();
        }
        self.full.len() >= BATCH
    }

    /// UUIDs that identify one record.
    pub fn width(&self) -> usize {
        self.width
    }

    fn cut(&mut self) {
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK * self.width));
        self.full.push((self.next, chunk));
        self.next += 1;
    }

    /// Writes the full rows, in one round trip.
    pub async fn flush(&mut self, connection: &Connection) -> Result<(), Failure> {
        if self.full.is_empty() {
            return Ok(());
        }
        let mut pipeline = Pipeline::new();
        for (n, ids) in self.full.drain(..) {
            pipeline.add(
                "INSERT INTO list_result_chunk (result_id, n, ids) VALUES ($1, $2, $3)",
                vec![self.id.into(), n.into(), Bind::Uuids(ids)],
            );
        }
        connection.send(pipeline).await?;
        Ok(())
    }

    /// Writes the remaining rows; returns the number of all.
    pub async fn end(mut self, connection: &Connection) -> Result<i64, Failure> {
        if !self.chunk.is_empty() {
            self.cut();
        }
        self.flush(connection).await?;
        Ok(self.next)
    }
}

/// A statement that stores the records that another one finds as a new result, and gives the number of UUIDs and of rows
/// stored. Its values are those of the other one and, behind them, the result's id.
pub fn storing(found: &Statement, width: usize) -> String {
    let names: Vec<String> = (1..=width).map(|part| format!("id{part}")).collect();
    let ids = names.join(", ");
    let parts: Vec<String> = names.iter().enumerate().map(|(part, id)| format!("({part}, {id})")).collect();
    // A part that a record lacks is stored as zeros.
    let (id, order, parts) = match width {
        1 => ("id1", "n", String::new()),
        _ => (
            "part.id",
            "n, part.place",
            format!(" CROSS JOIN LATERAL (VALUES {}) AS part (place, id)", parts.join(", ")),
        ),
    };
    format!(
        "WITH begun AS (INSERT INTO list_result (id, width) VALUES (${result}::uuid, {width})),
         stored AS (INSERT INTO list_result_chunk (result_id, n, ids)
             SELECT ${result}::uuid, (n / {CHUNK})::integer, array_agg(coalesce({id}, '{nil}'::uuid) ORDER BY {order})
             FROM (SELECT {ids}, row_number() OVER (ORDER BY {ids}) - 1 AS n FROM ({sql}) AS found ({ids})) AS numbered{parts}
             GROUP BY n / {CHUNK} RETURNING cardinality(ids) AS uuids)
         SELECT coalesce(sum(uuids), 0)::bigint AS uuids, count(*) AS rows FROM stored",
        result = found.binds.len() + 1,
        nil = Uuid::nil(),
        sql = found.sql,
    )
}

/// A part of a result of a known size, which is there as a whole or not at all: a server that has not received it yet, as
/// after the loss of the primary, cannot answer.
pub async fn page_of(
    connection: &Connection,
    result: Uuid,
    (width, records): (usize, i64),
    offset: i64,
    limit: i64,
) -> Result<Vec<Uuid>, Failure> {
    let ids = page(connection, result, width, offset, limit).await?;
    let expected = records.saturating_sub(offset).clamp(0, limit);
    if usize::try_from(expected).is_ok_and(|expected| expected * width != ids.len()) {
        let words = "The database does not have the whole result now; please repeat the call";
        return Err(Failure::Unavailable(words.into()));
    }
    Ok(ids)
}

/// The identifiers of some records of a result, in its order.
pub async fn page(
    connection: &Connection,
    result: Uuid,
    width: usize,
    offset: i64,
    limit: i64,
) -> Result<Vec<Uuid>, Failure> {
    let (offset, limit) = (usize::try_from(offset).unwrap_or(0), usize::try_from(limit).unwrap_or(0));
    if limit == 0 {
        return Ok(Vec::new());
    }
    let first = offset / CHUNK;
    let last = (offset + limit - 1) / CHUNK;
    let rows = connection
        .query(
            "SELECT ids FROM list_result_chunk WHERE result_id = $1 AND n BETWEEN $2 AND $3 ORDER BY n",
            vec![result.into(), number(first).into(), number(last).into()],
        )
        .await?;
    let mut ids = Vec::new();
    for row in rows {
        let chunk: Vec<Uuid> =
            row.try_get(0).map_err(|error| failure(error, "reading the contents of a list"))?;
        ids.extend(chunk);
    }
    let start = ((offset - first * CHUNK) * width).min(ids.len());
    let end = (start + limit * width).min(ids.len());
    Ok(ids[start..end].to_vec())
}

/// A row's number, which no result exceeds.
fn number(n: usize) -> i64 {
    i64::from(i32::try_from(n).unwrap_or(i32::MAX))
}

/// Deletes an abandoned result.
pub async fn drop(connection: &Connection, result: Uuid) -> Result<(), Failure> {
    connection.query("DELETE FROM list_result WHERE id = $1", vec![result.into()]).await?;
    Ok(())
}
