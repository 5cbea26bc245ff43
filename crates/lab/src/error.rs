//! Errors of the lab: a sentence for the terminal, with its causes. No caller distinguishes kinds of errors, so there are
//! none.

use std::fmt;

/// A failure of a lab command, as a sentence.
#[derive(Debug)]
pub struct LabError(String);

/// The outcome of a lab command.
pub type Result<T> = std::result::Result<T, LabError>;

impl LabError {
    /// A failure described by `message`.
    pub fn new(message: impl Into<String>) -> LabError {
        LabError(message.into())
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LabError {}

/// Adds context to a failure.
pub trait Context<T> {
    /// Prefixes the failure and its causes with `what`.
    fn context(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: std::error::Error> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| LabError(format!("{what}: {}", with_causes(&error))))
    }
}

/// The failure's text and that of each cause; drivers often say only "db error" themselves.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let reason = inner.to_string();
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = inner.source();
    }
    text
}
