//! Errors of a rules text, with FOLIO's texts and FOLIO's positions.

use std::fmt;

/// The first error of a rules text, as `PUT /circulation/rules` reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// FOLIO's message.
    pub message: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column as FOLIO counts it: from 1 in most messages, from 0 in those about the set of
    /// policies of a rule, and one too far for a tabulator.
    pub column: usize,
}

impl SyntaxError {
    pub(crate) fn new(message: impl Into<String>, line: usize, column: usize) -> Self {
        Self { message: message.into(), line, column }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// A lookup in blank rules is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlankRules;

impl fmt::Display for BlankRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cannot apply blank circulation rules")
    }
}

impl std::error::Error for BlankRules {}
