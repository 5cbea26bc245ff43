//! A query that cannot be parsed, reported with its position.

use std::fmt;

/// Why a query is refused, and at which position of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadQuery {
    /// What is wrong, in words for the query's author.
    pub message: String,
    /// Byte offset in the query's text.
    pub place: usize,
    /// What stands at the place; empty at the end of the text.
    pub near: String,
}

impl BadQuery {
    pub(crate) fn new(message: impl Into<String>, place: usize, near: &str) -> Self {
        BadQuery { message: message.into(), place, near: shortened(near) }
    }
    pub(crate) fn at(message: impl Into<String>, text: &str, place: usize) -> Self {
        BadQuery::new(message, place, text.get(place..).unwrap_or(""))
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
            write!(f, "CQL: {}, at position {} before: {}", self.message, self.place, self.near)
        }
    }
}

impl std::error::Error for BadQuery {}
