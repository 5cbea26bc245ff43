//! The patron API, for patrons without staff.

mod account;
mod batches;
mod holds;
mod pickup;
mod registration;
mod renewal;

use carrel_platform::ServerOptions;
use carrel_testkit::{LendingServer, TestServer};

/// A server whose answers contain the number of round trips.
async fn counting_server() -> LendingServer {
    let options = ServerOptions { counts_round_trips: true, ..ServerOptions::default() };
    LendingServer::on(TestServer::start_in(options).await).await
}
