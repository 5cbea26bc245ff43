//! The test bench: a private PostgreSQL for the test program, a library of its own for every test, and a client
//! that speaks the language of the desk.
//!
//! ```no_run
//! # async fn story() {
//! let library = carrel_testkit::TestLibrary::start().await;
//! let user = library.get("/users?limit=1").await.expect(200);
//! # }
//! ```

mod client;
mod cluster;
mod desk;
mod executed_plans;
mod fitting;
mod mail_server;
mod postgres;
mod program;
pub mod queues;
mod requests;
pub mod sample;
mod scratch;
mod server;

pub use client::{Client, Reply};
pub use cluster::Cluster;
pub use desk::{Desk, LendingServer, TestItem, TestPatron, alter};
pub use executed_plans::{ExecutedPlan, ExecutedPlans};
pub use mail_server::{Mail, MailServer};
pub use postgres::OwnPostgres;
pub use program::{Program, free_port};
pub use scratch::Scratch;
pub use server::{ADMIN, OTHER_TENANT, PASSWORD, TENANT, TestServer};
