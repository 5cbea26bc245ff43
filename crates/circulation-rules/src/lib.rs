//! FOLIO's circulation rules: which policies apply to an item and a patron.
//!
//! A library writes its rules as one text: criteria on the left, five policies after a colon, indentation for
//! exceptions, and a header that determines which of several matching rules wins. This crate parses the text
//! ([`Rules::parse`]), refuses it like FOLIO ([`Rules::check`]), and answers lookups ([`Rules::matching`],
//! [`Rules::all_matching`]). It does no I/O.
//!
//! A text passes `token` (tokens), `cursor` and `parse` (structure), `statement` (syntax tree), `weight` (order of the
//! rules), `rules` (validation and compilation), and `matching` (lookups).

mod cursor;
mod error;
mod matching;
mod parse;
mod policy;
mod rules;
mod statement;
mod token;
mod weight;

pub use error::{BlankRules, SyntaxError};
pub use matching::{AppliedConditions, Facts, Match};
pub use policy::{PolicyKind, PolicyUse};
pub use rules::Rules;
