//! The Contextual Query Language, in which every FOLIO client asks for records: text → tree → PostgreSQL text
//! with bound arguments.
//!
//! [`Query::parse`] reads the text, [`Statement::build`] turns it into conditions over one record type, and
//! [`sql`] makes the SQL expression of a field, for the query and for its index alike, so that an index that
//! stands is also used. No I/O here; SQL text never contains what a client wrote.

mod bad_query;
mod build;
mod expression;
mod functions;
mod index;
mod lexer;
mod parser;
mod print;
mod term;
mod tree;

pub use bad_query::BadQuery;
pub use build::{Argument, Statement, Unindexed, Where};
pub use term::{Part, Term};
pub use tree::{BooleanWord, Chain, Clause, Link, Modifier, Node, Place, Query, Relation, SortKey, Verb};

/// SQL that belongs to fields: their expressions, their indexes, and the functions that both use.
pub mod sql {
    pub use crate::expression::{expression, words_expression};
    pub use crate::functions::HELPERS_DDL;
    pub use crate::index::{index_ddl, index_ddl_of, index_name};
}
