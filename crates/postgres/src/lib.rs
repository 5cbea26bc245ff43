//! PostgreSQL through small pools: values bound to statements, pipelines of statements, transactions.

mod bind;
mod joining;
mod members;
pub mod meter;
mod pipeline;
mod pool;
pub mod replicas;
mod script;
mod server;
mod share;
mod tls;

pub use bind::{Bind, Json};
pub use joining::RowChange;
pub use members::{Chosen, History, Members};
pub use pipeline::{Cause, DatabaseError, Pipeline, Results, Tx};
pub use pool::{Address, Connection, NoAnswer, OpenPool, Pools, WatchedTables, Work, in_background};
pub use script::{run_script, statements};
pub use server::Server;
pub use share::{ANNOUNCED_AS, ConnectionLimit, LARGEST_BUDGET, node_share};
pub use tls::{Tls, certificates_in, key_in, verifying_client};

use carrel_records::Failure;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The failure for an error of the driver; `doing` describes the failed operation for the log.
pub fn failure(error: tokio_postgres::Error, doing: &str) -> Failure {
    if is_outage(&error) {
        log_outage(&error, doing);
        return database_unreachable();
    }
    // A NUL character, which PostgreSQL cannot store in a text.
    if error.code().is_some_and(|code| code.code() == "22021") {
        return Failure::Invalid("A text holds a character that cannot be stored".into());
    }
    // `statement_timeout`.
    if error.code().is_some_and(|code| code.code() == "57014") {
        return query_timed_out();
    }
    Failure::Internal { context: doing.to_owned(), cause: Some(error.into()) }
}

/// The longest time until a client's query has its first row. FOLIO's modules have the same limit.
pub const QUERY_TIMEOUT: Duration = Duration::from_secs(60);

pub fn query_timed_out() -> Failure {
    Failure::TooLarge("The query took too long. Ask for less, or by indexed fields.".into())
}

/// The server or the role has reached its limit of connections.
pub(crate) fn is_shortage(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| code.code() == "53300")
}

pub fn database_unreachable() -> Failure {
    Failure::Unavailable("The database cannot be reached at the moment. Try again.".into())
}

/// Logs at most one line in five seconds, since every call fails during an outage.
fn log_outage(error: &dyn std::error::Error, doing: &str) {
    static LAST_REPORT: Mutex<Option<Instant>> = Mutex::new(None);
    let mut last = LAST_REPORT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if last.is_none_or(|last| last.elapsed() > Duration::from_secs(5)) {
        *last = Some(Instant::now());
        let cause = error.source().map(ToString::to_string).unwrap_or_default();
        tracing::warn!(error = %error, cause, "the database cannot be reached while {doing}");
    }
}

/// Whether the error comes from the state of the server or the network, not from the statement.
fn is_outage(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(code) => is_outage_state(code.code()),
        // No SQLSTATE: the connection broke or was never opened. The driver reveals the kind of such an error only by
        // its source.
        None => {
            error.is_closed()
                || std::error::Error::source(error)
                    .is_some_and(|source| source.downcast_ref::<std::io::Error>().is_some())
                || error.to_string().starts_with("timeout")
        }
    }
}

/// Connection lost (08), disk full or too many connections (53), shutting down, starting up, ended by an operator or an
/// idle time-out (57P, 25P03), a primary that has become a replica (25006).
fn is_outage_state(state: &str) -> bool {
    state.starts_with("08")
        || state.starts_with("53")
        || state.starts_with("57P")
        || matches!(state, "25P03" | "25006")
}

#[cfg(test)]
mod tests {
    use super::is_outage_state;

    #[test]
    fn outages_are_distinguished_from_errors_in_statements() {
        for state in ["08006", "53300", "53100", "57P01", "57P02", "57P03", "25P03", "25006"] {
            assert!(is_outage_state(state), "{state}");
        }
        for state in ["23505", "42601", "57014", "25P02", "22021"] {
            assert!(!is_outage_state(state), "{state}");
        }
    }
}
