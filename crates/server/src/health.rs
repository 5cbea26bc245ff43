//! The health of this server: `GET /admin/health`, for load balancers.
//!
//! Always answers within two seconds, 200 with `"status": "UP"` or 503 with `"DOWN"` and a reason: the database does
//! does not answer, refuses writes, or its disk is full; or the server is stopping. Asks the database at most once a second, however many
//! requests arrive. Changes `platform.health` only.

use carrel_platform::{Answer, Call, Connection, Node, Router};
use carrel_records::Failure;
use http::StatusCode;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio_postgres::Client;

/// The time-out of the database check, so that the answer comes within two seconds.
const DATABASE_TIMEOUT: Duration = Duration::from_millis(1_500);
/// The time for which a result is valid.
const RESULT_VALID_FOR: Duration = Duration::from_secs(1);
/// The interval of checks that a file can grow.
const DISK_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Bytes by which the file grows.
const DISK_CHECK_BYTES: usize = 256 * 1024;

/// The newest result, shared by all requests.
#[derive(Default)]
struct Health(Mutex<Checked>);

#[derive(Default)]
struct Checked {
    at: Option<Instant>,
    disk_at: Option<Instant>,
    /// Why the server cannot work.
    problem: Option<&'static str>,
}

pub fn connect(router: &mut Router) {
    let health = Arc::new(Health::default());
    for path in ["/admin/health", "/_/health"] {
        let health = Arc::clone(&health);
        router.on("GET", path, move |call| report(Arc::clone(&health), call));
    }
}

async fn report(health: Arc<Health>, call: Call) -> Result<Answer, Failure> {
    let problem = match call.node.is_stopping() {
        true => Some("The server is stopping"),
        false => tokio::time::timeout(DATABASE_TIMEOUT, health.problem(&call.node))
            .await
            .unwrap_or(Some("The database does not answer in time")),
    };
    let mut report = json!({
        "status": if problem.is_none() { "UP" } else { "DOWN" },
        "version": env!("CARGO_PKG_VERSION"),
        "uptimeSeconds": call.node.uptime().as_secs(),
        "tenants": call.node.tenants().len(),
    });
    let Some(problem) = problem else { return Ok(Answer::json(&report)) };
    report["reason"] = problem.into();
    Ok(Answer::json(&report).status(StatusCode::SERVICE_UNAVAILABLE))
}

impl Health {
    async fn problem(&self, node: &Node) -> Option<&'static str> {
        let mut checked = self.0.lock().await;
        if checked.at.is_some_and(|at| at.elapsed() < RESULT_VALID_FOR) {
            return checked.problem;
        }
        let checks_disk =
            checked.problem.is_some() || checked.disk_at.is_none_or(|at| at.elapsed() >= DISK_CHECK_INTERVAL);
        checked.problem = check(node, checks_disk).await.err();
        checked.at = Some(Instant::now());
        if checks_disk {
            checked.disk_at = checked.at;
        }
        checked.problem
    }
}

async fn check(node: &Node, checks_disk: bool) -> Result<(), &'static str> {
    let connection = node.platform().await.map_err(|_| UNREACHABLE)?;
    // An aborted check would return a connection with an open transaction to the pool.
    let mut connection = DiscardUnlessDone(Some(connection));
    let Some(client) = connection.0.as_ref().map(Connection::client) else { return Err(UNREACHABLE) };
    client
        .batch_execute(
            "INSERT INTO platform.health (id, checked) VALUES (1, clock_timestamp())
             ON CONFLICT (id) DO UPDATE SET checked = EXCLUDED.checked",
        )
        .await
        .map_err(|error| reason(&error))?;
    if checks_disk {
        check_disk(client).await.map_err(|error| reason(&error))?;
    }
    drop(connection.0.take());
    Ok(())
}

/// Makes a new file grow and rolls that back: writes to existing pages do not detect a full disk.
async fn check_disk(client: &Client) -> Result<(), tokio_postgres::Error> {
    client.batch_execute("BEGIN").await?;
    // Another node may be checking.
    if client.query_one("SELECT pg_try_advisory_xact_lock(7217317)", &[]).await?.get(0) {
        let grow = format!(
            "TRUNCATE platform.disk_check;
             INSERT INTO platform.disk_check (filling) VALUES (repeat('x', {DISK_CHECK_BYTES}))"
        );
        client.batch_execute(&grow).await?;
    }
    client.batch_execute("ROLLBACK").await
}

/// A connection that is closed unless it is taken out.
struct DiscardUnlessDone(Option<Connection>);

impl Drop for DiscardUnlessDone {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            connection.discard();
        }
    }
}

const UNREACHABLE: &str = "The database cannot be reached";

/// The reason for clients, without details of the database's error.
fn reason(error: &tokio_postgres::Error) -> &'static str {
    match error.code().map(|code| code.code()) {
        Some("53100") => "The database's disk is full",
        Some("25006") => "The database does not accept writes",
        Some(_) => "The database refuses a write",
        None => UNREACHABLE,
    }
}
