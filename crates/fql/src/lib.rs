//! FQL, the query language of FOLIO's lists: JSON text → typed tree → PostgreSQL text with bound arguments.
//!
//! [`Query::parse`] reads the text, [`Condition::text`] writes it again, and [`select::build`] turns the conditions
//! into SQL over the fields that a caller declares ([`Fields`]). No I/O and no clock here; SQL text never contains
//! what a client wrote, and an error names the field that it concerns.

pub mod field;
mod parse;
pub mod path;
pub mod select;
mod tree;

pub use field::{Field, Fields, Fold, Kind, Source};
pub use parse::MAX_CONDITIONS;
pub use tree::{Condition, Operand, Operator, Query, QueryError, Scalar};
