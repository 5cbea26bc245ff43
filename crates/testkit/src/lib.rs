//! Test support: a private PostgreSQL per test program, a database and a server per test, and helpers named after the
//! actions of a desk.
//!
//! ```no_run
//! # async fn example() {
//! let server = carrel_testkit::TestServer::start().await;
//! let user = server.get("/users?limit=1").await.expect(200);
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
mod subscriber;

pub use client::{Client, Reply};
pub use cluster::Cluster;
pub use desk::{Desk, LendingServer, TestItem, TestPatron, alter};
pub use executed_plans::{ExecutedPlan, ExecutedPlans};
pub use mail_server::{Mail, MailServer};
pub use postgres::OwnPostgres;
pub use program::{Program, free_port};
pub use scratch::Scratch;
pub use server::{ADMIN, OTHER_TENANT, PASSWORD, TENANT, TestServer};
pub use subscriber::{Callback, Subscriber};
