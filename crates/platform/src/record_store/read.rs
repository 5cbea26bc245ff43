//! Reads records: one by id, many by CQL, as the bytes that PostgreSQL sends.

use crate::database::{Bind, Connection, Json, Pipeline, Results};
use crate::http::Query as UrlQuery;
use crate::record_store::Records;
use carrel_cql::{Argument, Query, Statement, Where};
use carrel_records::{Failure, RecordType};
use tokio_postgres::Row;
use uuid::Uuid;

/// Up to this number, matches are counted exactly; above, the planner's estimate is reported.
pub const COUNTED_EXACTLY: i64 = 100_000;

/// The parameters of a request for a page of a collection.
#[derive(Debug, Clone)]
pub struct PageRequest {
    pub query: Option<Query>,
    pub limit: i64,
    pub offset: i64,
    pub count: Count,
}

/// Whether to count the matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    Wanted,
    Unwanted,
}

/// A page of documents and the number of all matches.
pub struct Page {
    pub documents: Vec<Json>,
    pub total: i64,
}

impl PageRequest {
    /// Reads `query`, `limit`, `offset`, `totalRecords`.
    pub fn read(url: &UrlQuery) -> Result<PageRequest, Failure> {
        let text = url.get("query").map(str::trim).filter(|text| !text.is_empty());
        Ok(PageRequest {
            query: text.map(parse).transpose()?,
            limit: url.number("limit", 10, 0, i64::from(i32::MAX))?,
            offset: url.number("offset", 0, 0, i64::from(i32::MAX))?,
            count: match url.get("totalRecords") {
                Some("none") => Count::Unwanted,
                _ => Count::Wanted,
            },
        })
    }

    /// All matches of a query in the program.
    pub fn all(query: &str) -> PageRequest {
        let query = Query::parse(query).expect("our own queries are CQL");
        PageRequest { query: Some(query), limit: i64::from(i32::MAX), offset: 0, count: Count::Unwanted }
    }
}

/// Parses CQL; an error becomes a 400 with its position.
pub fn parse(text: &str) -> Result<Query, Failure> {
    Query::parse(text).map_err(|bad| Failure::Invalid(bad.to_string()))
}

/// The SQL expression of a record's whole document.
pub fn document_sql(record: &RecordType) -> String {
    match &record.composed {
        Some(composed) => composed.document.to_owned(),
        None => format!("{}.doc", record.table),
    }
}

/// The `FROM` text of a record.
pub fn from_sql(record: &RecordType) -> &'static str {
    match &record.composed {
        Some(composed) => composed.from,
        None => record.table,
    }
}

/// The condition of a query over a record type; `all` has the types that the query's fields refer to.
pub fn unreported_condition(
    query: Option<&Query>,
    record: &RecordType,
    all: &[&'static RecordType],
) -> Result<Where, Failure> {
    Statement::build(query, record, all).map_err(|bad| Failure::Invalid(bad.to_string()))
}

/// The condition of a client's query over a record type, with fields lacking an index reported.
pub fn condition(query: Option<&Query>, record: &RecordType, all: &Records) -> Result<Where, Failure> {
    let condition = unreported_condition(query, record, all)?;
    // A second condition after a narrowing one needs no index.
    if condition.scans || condition.unindexed.iter().any(|missing| missing.relation == "sortBy") {
        for missing in &condition.unindexed {
            all.missing_indexes.saw(missing.record, &missing.field, missing.relation);
        }
    }
    Ok(condition)
}

/// Converts the arguments of CQL to those of statements.
pub fn binds(arguments: &[Argument]) -> Vec<Bind> {
    arguments
        .iter()
        .map(|argument| match argument {
            Argument::Text(text) => Bind::Text(text.clone()),
            Argument::TextArray(texts) => Bind::Texts(texts.clone()),
            Argument::Uuid(id) => Bind::Uuid(*id),
            Argument::UuidArray(ids) => Bind::Uuids(ids.clone()),
            Argument::Timestamp(instant) => Bind::Instant(*instant),
        })
        .collect()
}

/// The record with the id, as it is read.
pub async fn find(connection: &Connection, record: &RecordType, id: Uuid) -> Result<Option<Json>, Failure> {
    let sql =
        format!("SELECT {} FROM {} WHERE {}.id = $1", document_sql(record), from_sql(record), record.table);
    let rows = connection.query(sql, vec![id.into()]).await?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// The record of a type with one record per tenant.
pub async fn single(connection: &Connection, record: &RecordType) -> Result<Option<Json>, Failure> {
    let sql = format!(
        "SELECT {} FROM {} ORDER BY {}.id LIMIT 1",
        document_sql(record),
        from_sql(record),
        record.table
    );
    let rows = connection.query(sql, vec![]).await?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// A page of matches and their number, in one round trip.
pub async fn list(
    connection: &Connection,
    record: &RecordType,
    all: &Records,
    requested: &PageRequest,
) -> Result<Page, Failure> {
    let condition = condition(requested.query.as_ref(), record, all)?;
    let found = found(connection, &condition, requested, documents(record, &condition, requested)).await?;
    Ok(Page { documents: found.rows().iter().map(|row| row.get(0)).collect(), total: found.total })
}

/// A statement with its values.
pub type Bound = (String, Vec<Bind>);

/// The statement that reads the documents of a page.
pub(super) fn documents(record: &RecordType, condition: &Where, requested: &PageRequest) -> Bound {
    let (page, binds) = page_of(condition, requested.limit, requested.offset);
    (format!("SELECT {} {page}", document_sql(record)), binds)
}

/// The text after the columns of a statement that reads one page of the matches, beginning with `FROM`.
pub fn page_of(condition: &Where, limit: i64, offset: i64) -> Bound {
    let Where { from, conditions, order_by, arguments, .. } = condition;
    let mut binds = binds(arguments);
    binds.extend([limit.into(), offset.into()]);
    let (limit, offset) = (binds.len() - 1, binds.len());
    let page = format!(
        "FROM {from} WHERE {conditions} ORDER BY {order_by} LIMIT ${limit}::bigint OFFSET ${offset}::bigint"
    );
    (page, binds)
}

/// The rows of a page as a table with their index in the column `place`, since a join does not keep their order.
pub fn numbered(columns: &str, page: &str) -> String {
    format!("(SELECT found.*, row_number() OVER () AS place FROM (SELECT {columns} {page}) found)")
}

/// The rows of a page, and the number of all matches.
pub(super) struct FoundPage {
    results: Results,
    page: Option<usize>,
    pub total: i64,
}

impl FoundPage {
    pub(super) fn rows(&self) -> &[Row] {
        self.page.map_or(&[], |step| self.results.rows(step))
    }
}

/// Runs a statement over the requested page and counts all matches, in one round trip.
pub(super) async fn found(
    connection: &Connection,
    condition: &Where,
    requested: &PageRequest,
    (sql, values): Bound,
) -> Result<FoundPage, Failure> {
    let mut pipeline = Pipeline::new();
    let page = (requested.limit > 0).then(|| pipeline.add(sql, values));
    let counted = (requested.count == Count::Wanted).then(|| {
        let (sql, values) = count_of(condition);
        pipeline.add(sql, values)
    });
    let results = connection.send(pipeline).await?;
    let seen = requested.offset + page.map_or(0, |step| results.rows(step).len()) as i64;
    let total = match counted {
        None => seen,
        Some(step) => total(connection, condition, results.first(step), seen).await?,
    };
    Ok(FoundPage { results, page, total })
}

/// The number of all matches, of which at least `seen` exist.
pub(super) async fn count(connection: &Connection, condition: &Where, seen: i64) -> Result<i64, Failure> {
    let (sql, values) = count_of(condition);
    let rows = connection.query(sql, values).await?;
    total(connection, condition, rows.first(), seen).await
}

fn count_of(Where { from, conditions, arguments, .. }: &Where) -> Bound {
    let sql = format!(
        "SELECT count(*) FROM (SELECT 1 FROM {from} WHERE {conditions} LIMIT {}) few",
        COUNTED_EXACTLY + 1
    );
    (sql, binds(arguments))
}

async fn total(
    connection: &Connection,
    condition: &Where,
    counted: Option<&Row>,
    seen: i64,
) -> Result<i64, Failure> {
    let count: i64 = counted.map_or(0, |row| row.get(0));
    if count > COUNTED_EXACTLY {
        return Ok(estimate(connection, condition).await?.max(count).max(seen));
    }
    Ok(count)
}

/// The planner's estimate of the number of matches.
async fn estimate(connection: &Connection, condition: &Where) -> Result<i64, Failure> {
    let Where { from, conditions, arguments, .. } = condition;
    let sql = format!("EXPLAIN (FORMAT JSON) SELECT 1 FROM {from} WHERE {conditions}");
    let rows = connection.query(sql, binds(arguments)).await?;
    let plan: Option<Json> = rows.first().map(|row| row.get(0));
    let rows = plan.and_then(|plan| plan.parse().pointer("/0/Plan/Plan Rows").and_then(|rows| rows.as_f64()));
    Ok(rows.unwrap_or(0.0) as i64)
}

impl Page {
    /// FOLIO's collection: the array first, then the number.
    pub fn to_bytes(self, record: &RecordType) -> Vec<u8> {
        let size: usize = self.documents.iter().map(|document| document.0.len() + 1).sum();
        let mut body = Vec::with_capacity(size + 160);
        body.extend_from_slice(Page::opening(record).as_bytes());
        for (place, document) in self.documents.into_iter().enumerate() {
            if place > 0 {
                body.push(b',');
            }
            body.extend_from_slice(&document.into_compact());
        }
        body.extend_from_slice(Page::closing(record, self.total).as_bytes());
        body
    }

    /// The text before the first document.
    pub fn opening(record: &RecordType) -> String {
        format!("{{\"{}\":[", record.collection)
    }

    /// The text after the last document.
    pub fn closing(record: &RecordType, total: i64) -> String {
        let info = match record.result_info {
            true => format!(",\"resultInfo\":{{\"totalRecords\":{total},\"facets\":[],\"diagnostics\":[]}}"),
            false => String::new(),
        };
        format!("],\"totalRecords\":{total}{info}}}")
    }
}
