//! Why an operation had no effect, independent of HTTP; the platform turns it into an answer.

use crate::refusal::Refusal;
use std::fmt;

pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The ways in which an operation ends without its effect.
#[derive(Debug)]
pub enum Failure {
    /// A rule refuses the operation; with all reasons found.
    Refused(Vec<Refusal>),
    /// The record does not exist; the text names it.
    NotFound(String),
    /// The request is malformed; the text says where and how.
    Invalid(String),
    /// Another user has changed the record since it was read.
    StaleVersion(String),
    /// Another record prevents the operation (in use, duplicate); plain text.
    Conflict(String),
    /// The token is missing or invalid.
    Unauthenticated(String),
    /// The caller lacks a permission.
    Forbidden(String),
    /// A bound was exceeded: body, query, time.
    TooLarge(String),
    TooMany(String),
    /// The database or a lock is not available now; a retry may succeed.
    Unavailable(String),
    /// The route is known but not built.
    NotBuilt(String),
    /// The tenant's settings or data allow no decision; the text names what to correct.
    Misconfigured(String),
    /// Internal error: the cause is logged and never sent to the client.
    Internal {
        context: String,
        cause: Option<Cause>,
    },
}

impl Failure {
    pub fn refused(refusal: Refusal) -> Self {
        Failure::Refused(vec![refusal])
    }
    /// Several refusals in their order, without duplicates.
    pub fn refused_once_each(refusals: Vec<Refusal>) -> Self {
        let mut once: Vec<Refusal> = Vec::with_capacity(refusals.len());
        for refusal in refusals {
            if !once.contains(&refusal) {
                once.push(refusal);
            }
        }
        Failure::Refused(once)
    }
    pub fn internal(context: impl Into<String>) -> Self {
        Failure::Internal { context: context.into(), cause: None }
    }
    /// Adds the operation that failed; only internal failures contain it.
    pub fn while_doing(self, doing: &str) -> Self {
        match self {
            Failure::Internal { context, cause } => {
                Failure::Internal { context: format!("{doing}: {context}"), cause }
            }
            other => other,
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Failure::refused(refusal)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(refusals) => {
                let texts: Vec<&str> = refusals.iter().map(|r| r.message.as_str()).collect();
                write!(f, "refused: {}", texts.join("; "))
            }
            Failure::NotFound(text)
            | Failure::Invalid(text)
            | Failure::StaleVersion(text)
            | Failure::Conflict(text)
            | Failure::Unauthenticated(text)
            | Failure::Forbidden(text)
            | Failure::TooLarge(text)
            | Failure::TooMany(text)
            | Failure::Unavailable(text)
            | Failure::NotBuilt(text)
            | Failure::Misconfigured(text) => f.write_str(text),
            Failure::Internal { context, cause: Some(cause) } => write!(f, "{context}: {cause}"),
            Failure::Internal { context, cause: None } => f.write_str(context),
        }
    }
}

impl std::error::Error for Failure {}
