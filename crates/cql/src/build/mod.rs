//! From tree to SQL: conditions and order over one record type.
//!
//! [`target`] finds the field of a clause. The other files turn relation and term into a condition with FOLIO's
//! semantics, one file per kind of field. [`chain`] combines conditions by the boolean operators.

mod arguments;
mod array;
mod chain;
mod clause;
mod instant;
mod report;
mod sort;
mod target;
mod text;
mod uuid;
mod words;

pub use arguments::Argument;
pub use report::Unindexed;

use crate::{BadQuery, Query};
use arguments::Arguments;
use carrel_records::RecordType;

/// Builds the SQL of a query.
pub struct Statement;

/// What a caller appends to `SELECT … FROM`.
#[derive(Debug, Clone, PartialEq)]
pub struct Where {
    /// The tables: the record's own by its plain name, or the `FROM` text of a composed record.
    pub from: &'static str,
    /// A boolean expression; `true` without conditions.
    pub conditions: String,
    /// The text after `ORDER BY`; it always ends with the id, so that pages never overlap.
    pub order_by: String,
    /// The values of `$1`, `$2`, …, or of the placeholders after those that the caller uses.
    pub arguments: Vec<Argument>,
    /// Fields in the query that need an index and have none.
    pub unindexed: Vec<Unindexed>,
    /// No index narrows the conditions: the table is read completely. False without conditions.
    pub scans: bool,
}

impl Statement {
    /// The query over records of this type; `all` contains the types whose fields it may refer to.
    pub fn build(
        query: Option<&Query>,
        record: &RecordType,
        all: &[&'static RecordType],
    ) -> Result<Where, BadQuery> {
        Statement::build_after(0, query, record, all)
    }

    /// Like [`Statement::build`] if the caller uses `$1` to `$used`.
    pub fn build_after(
        used: usize,
        query: Option<&Query>,
        record: &RecordType,
        all: &[&'static RecordType],
    ) -> Result<Where, BadQuery> {
        let mut builder = Builder { record, all, arguments: Arguments::after(used), unindexed: Vec::new() };
        let mut conditions = Condition::always();
        let mut order_by = format!("{}.id", record.table);
        if let Some(query) = query {
            conditions = builder.node(&query.node, Position::Narrowing)?;
            order_by = builder.order(&query.sort)?;
        }
        Ok(Where {
            from: from_text(record),
            scans: !conditions.indexed && conditions.sql != "true",
            conditions: conditions.sql,
            order_by,
            arguments: builder.arguments.into_values(),
            unindexed: builder.unindexed,
        })
    }
}

/// The tables that a record's fields are read from.
fn from_text(record: &RecordType) -> &'static str {
    match &record.composed {
        Some(composed) => composed.from,
        None => record.table,
    }
}

struct Builder<'r> {
    record: &'r RecordType,
    all: &'r [&'static RecordType],
    arguments: Arguments,
    unindexed: Vec<Unindexed>,
}

/// A boolean SQL expression, in brackets where an operator could bind more tightly.
#[derive(Debug, Clone, PartialEq)]
struct Condition {
    sql: String,
    /// An index can find the records.
    indexed: bool,
}

impl Condition {
    fn new(sql: impl Into<String>, indexed: bool) -> Condition {
        Condition { sql: sql.into(), indexed }
    }
    /// Finds every record; no index helps.
    fn always() -> Condition {
        Condition::new("true", false)
    }
    /// Finds no record; nothing is read.
    fn never() -> Condition {
        Condition::new("false", true)
    }
    /// Whether the result does not depend on the record.
    fn is_settled(&self) -> bool {
        self.sql == "true" || self.sql == "false"
    }
}

/// The position of a condition within the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// The result is no larger than what the condition finds.
    Narrowing,
    /// One of several alternatives, or negated.
    Alternative,
}
