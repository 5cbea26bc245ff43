//! What patrons see and do without staff.

mod account;
mod batches;
mod holds;
mod pickup;
mod registration;
mod renewal;

use carrel_platform::tenant::Manner;
use carrel_testkit::{LendingLibrary, TestLibrary};

/// A library whose answers tell how many flights they took.
async fn counting_library() -> LendingLibrary {
    let manner = Manner { counts_flights: true, ..Manner::default() };
    LendingLibrary::on(TestLibrary::start_in(manner).await).await
}
