//! The values bound to a statement.

use jiff::Timestamp;
use uuid::Uuid;

/// A value to be bound.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// As `text`.
    Text(String),
    /// As `text[]`.
    TextArray(Vec<String>),
    /// As `uuid`.
    Uuid(Uuid),
    /// As `uuid[]`.
    UuidArray(Vec<Uuid>),
    /// As `timestamptz`.
    Timestamp(Timestamp),
}

/// Collects values and numbers their placeholders.
pub(super) struct Arguments {
    used: usize,
    values: Vec<Argument>,
}

impl Arguments {
    pub fn after(used: usize) -> Arguments {
        Arguments { used, values: Vec::new() }
    }

    /// Adds a value and returns its placeholder, cast to its type.
    pub fn bind(&mut self, value: Argument) -> String {
        let kind = match value {
            Argument::Text(_) => "text",
            Argument::TextArray(_) => "text[]",
            Argument::Uuid(_) => "uuid",
            Argument::UuidArray(_) => "uuid[]",
            Argument::Timestamp(_) => "timestamptz",
        };
        self.values.push(value);
        format!("${}::{kind}", self.used + self.values.len())
    }

    /// The number of values so far, to return to with [`Self::truncate`].
    pub fn mark(&self) -> usize {
        self.values.len()
    }

    /// Removes the values added since: PostgreSQL refuses values that no expression uses.
    pub fn truncate(&mut self, mark: usize) {
        self.values.truncate(mark);
    }

    /// More than the protocol can number with 16 bits.
    pub fn exceed_limit(&self) -> bool {
        self.used + self.values.len() > 60_000
    }

    pub fn into_values(self) -> Vec<Argument> {
        self.values
    }
}
