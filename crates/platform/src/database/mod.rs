//! PostgreSQL through small pools: values bound to statements, flights of pipelined statements, transactions.

mod bind;
mod flight;
mod pool;

pub use bind::{Bind, Json};
pub use flight::{DatabaseError, Flight, Landed, Tx};
pub use pool::{Address, Connection, OpenPool, Pools, Work};

use carrel_records::Failure;

/// Turns an error of the driver into a failure; a database that cannot be reached is told as unavailable.
pub fn failure(error: tokio_postgres::Error, doing: &str) -> Failure {
    if error.is_closed() || error.as_db_error().is_none() && error.to_string().contains("connect") {
        tracing::warn!(error = %error, "the database cannot be reached while {doing}");
        return Failure::Unavailable("The database cannot be reached at the moment. Try again.".into());
    }
    if let Some(code) = error.code() {
        // Shutting down, starting up, too many connections: passing states of the server.
        if ["57P01", "57P02", "57P03", "53300"].contains(&code.code()) {
            return Failure::Unavailable("The database cannot be reached at the moment. Try again.".into());
        }
    }
    // A NUL character, which no text of the database can hold.
    if error.code().is_some_and(|code| code.code() == "22021") {
        return Failure::Invalid("A text holds a character that cannot be stored".into());
    }
    Failure::Internal { context: doing.to_owned(), cause: Some(error.into()) }
}
