//! The Contextual Query Language, FOLIO's query language for collections: text → tree → PostgreSQL text with bound
//! arguments.
//!
//! [`Query::parse`] parses the text, [`Statement::build`] translates it into conditions over one record type, and
//! [`sql`] builds the SQL expression of a field, for the query and for its index alike, so that an existing index is
//! used. This crate does no I/O, and its SQL text never contains input of a client.

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
pub use tree::{BooleanWord, Chain, Clause, Link, Modifier, Node, Offset, Query, Relation, SortKey, Verb};

/// The SQL of fields: their expressions, their indexes, and the functions that both use.
pub mod sql {
    pub use crate::expression::{expression, words_expression};
    pub use crate::functions::HELPERS_DDL;
    pub use crate::index::{index_ddl, index_ddl_of, index_name};
}
