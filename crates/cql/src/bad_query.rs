//! A query that cannot be parsed, reported with its position.

use std::fmt;

/// Why a query is refused, and at which position of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadQuery {
    /// What is wrong, in words for the query's author.
    pub message: String,
    /// Byte offset in the query's text.
    pub position: usize,
    /// The text at the position, shortened; empty at the end of the query.
    pub near: String,
}

impl BadQuery {
    pub(crate) fn new(message: impl Into<String>, position: usize, near: &str) -> Self {
        BadQuery { message: message.into(), position, near: shortened(near) }
    }
    pub(crate) fn at(message: impl Into<String>, text: &str, position: usize) -> Self {
        BadQuery::new(message, position, text.get(position..).unwrap_or(""))
    }
}

/// Enough of the text to recognize the position.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl fmt::Display for BadQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.near.is_empty() {
            write!(f, "CQL: {}, at the end of the query", self.message)
        } else {
            write!(f, "CQL: {}, at position {} before: {}", self.message, self.position, self.near)
        }
    }
}

impl std::error::Error for BadQuery {}
