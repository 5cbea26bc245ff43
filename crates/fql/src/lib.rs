//! FQL, the query language of FOLIO's lists: JSON text → typed tree → PostgreSQL text with bound arguments.
//!
//! [`Query::parse`] parses the text, [`Condition::text`] prints it, and [`select::build`] translates the conditions
//! into SQL over the fields that a caller declares ([`Fields`]). This crate does no I/O and reads no clock, its SQL
//! text never contains input of a client, and an error names the field that it concerns.

pub mod field;
mod parse;
pub mod path;
pub mod select;
mod tree;

pub use field::{Field, Fields, Fold, Kind, Source};
pub use parse::MAX_CONDITIONS;
pub use tree::{Condition, Operand, Operator, Query, QueryError, Scalar};
