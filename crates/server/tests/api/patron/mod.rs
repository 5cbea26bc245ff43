//! What patrons see and do without staff.

mod account;
mod batches;
mod holds;
mod pickup;
mod registration;
mod renewal;

use carrel_platform::ServerOptions;
use carrel_testkit::{LendingServer, TestServer};

/// A library whose answers tell how many pipelines they took.
async fn counting_server() -> LendingServer {
    let options = ServerOptions { counts_round_trips: true, ..ServerOptions::default() };
    LendingServer::on(TestServer::start_in(options).await).await
}
