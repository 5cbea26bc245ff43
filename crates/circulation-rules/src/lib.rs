//! FOLIO's circulation rules: which policies apply to this item and this patron.
//!
//! A library writes its rules as one text: criteria on the left, five policies after a colon,
//! indentation for exceptions, a header that says which of several matching rules wins. This
//! crate reads that text ([`Rules::parse`]), refuses it as FOLIO would ([`Rules::check`]), and
//! answers lookups ([`Rules::matching`], [`Rules::all_matching`]). It does no I/O.
//!
//! The way of a text: `token` cuts it, `cursor` and `parse` find its structure, `statement`
//! names the parts, `weight` ranks them, `rules` checks and compiles, `matching` answers.

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
