//! One run: jobs with the same query are selected once, and ended separately.

use super::Engine;
use super::jobs::{self, End, Ended, Kind, Stored, Taken};
use super::results::{self, Writer};
use crate::entity_types;
use crate::exports;
use crate::query::{indexed, select};
use carrel_fql::Query;
use carrel_platform::database::failure;
use carrel_platform::{Connection, Node, Tenant};
use carrel_records::Failure;
use futures_util::TryStreamExt;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// Interval of heartbeats.
const BEAT: Duration = Duration::from_secs(2);
/// Memory for sorting the identifiers of one query.
const WORK_MEM: &str = "32MB";

/// Retries of a run after a database failure, and the pause before the first of them.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(300);

pub const UNEXPECTED: &str = "unexpected.error";

/// Runs jobs with the same query, and ends them.
pub async fn run(engine: &Arc<Engine>, node: &Arc<Node>, tenant: &Arc<Tenant>, taken: Vec<Taken>) {
    let ids: Vec<Uuid> = taken.iter().map(|job| job.id).collect();
    let registered = engine.register(&ids);
    let first = &taken[0];
    let result = first.result_id;
    let records = Arc::new(AtomicI64::new(0));
    let started = Instant::now();
    let outcome = if first.attempts > jobs::MAX_ATTEMPTS {
        Some(Err(Failure::internal(format!("given up after {} attempts", jobs::MAX_ATTEMPTS))))
    } else {
        let work = async {
            let mut tries = 0;
            loop {
                let done = match first.kind {
                    Kind::Export => exports::write(tenant, first, tries > 0, &records).await,
                    _ => select(node, tenant, first, tries > 0, &records).await,
                };
                tries += 1;
                // The server was restarted, or a replica is lost: the retry reads from the primary.
                if !matches!(done, Err(Failure::Unavailable(_))) || tries > TRIES {
                    return done;
                }
                tokio::time::sleep(PAUSE * tries).await;
            }
        };
        let deadline = tokio::time::timeout(engine.options().deadline, work);
        // In a separate task: this one may hold a connection, and the heartbeat needs another.
        let mut heartbeat = AbortOnDrop(tokio::spawn(beat(
            Arc::clone(engine),
            Arc::clone(tenant),
            (ids.clone(), Arc::clone(&registered.notify)),
            Arc::clone(&records),
        )));
        tokio::select! {
            done = deadline => Some(done.unwrap_or_else(|_| {
                Err(Failure::TooLarge(format!("took longer than {:?}", engine.options().deadline)))
            })),
            _ = &mut heartbeat.0 => None,
        }
    };
    // All its jobs were canceled or taken over by another node.
    let Some(outcome) = outcome else {
        if first.kind != Kind::Export {
            forget(tenant, result).await;
        }
        return;
    };
    if matches!(&outcome, Err(Failure::Unavailable(_))) {
        // The lease ends, and the job is taken again.
        tracing::warn!(tenant = tenant.id, job.id = %first.id, "a list job is retried when its lease ends");
        let (node, tenant) = (Arc::downgrade(node), tenant.id.clone());
        tokio::spawn(async move {
            tokio::time::sleep(jobs::LEASE + BEAT).await;
            if let Some(node) = node.upgrade() {
                super::submit(&node, &tenant);
            }
        });
        return;
    }
    let end = end_of(&outcome);
    if let (End::Failed { .. }, Err(cause)) = (&end, &outcome) {
        tracing::warn!(tenant = tenant.id, job.id = %first.id, "a list job failed: {cause}");
    }
    tracing::debug!(tenant = tenant.id, job.id = %first.id, "list job: {end:?} in {:?}", started.elapsed());
    if !matches!(end, End::Done(_)) && first.kind != Kind::Export {
        forget(tenant, result).await;
    }
    // The rest is waiting, which needs no worker.
    for job in taken {
        tokio::spawn(publish(Arc::clone(engine), Arc::downgrade(node), Arc::clone(tenant), job, end.clone()));
    }
}

fn end_of(outcome: &Result<Option<Stored>, Failure>) -> End {
    match outcome {
        Ok(None) => End::TooLarge,
        Ok(Some(stored)) => End::Done(*stored),
        // Internal errors are only logged.
        Err(Failure::Internal { .. }) => {
            End::Failed { code: UNEXPECTED, message: "The query failed unexpectedly".into() }
        }
        Err(failure) => End::Failed { code: UNEXPECTED, message: failure.to_string() },
    }
}

/// A task that is aborted with the task that started it.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A connection in the middle of a transaction: it is closed where the run is given up.
struct Streaming(Option<Connection>);

impl Streaming {
    fn connection(&self) -> &Connection {
        self.0.as_ref().expect("the connection is taken at the end of the stream only")
    }

    /// Ends the transaction and returns the connection.
    async fn end(self) {
        if self.connection().client().batch_execute("COMMIT").await.is_ok() {
            self.give_back();
        }
    }

    /// The transaction has ended.
    fn give_back(mut self) {
        self.0.take();
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            connection.discard();
        }
    }
}

/// Finds the records and stores their identifiers; `None` if there are more than allowed.
async fn select(
    node: &Arc<Node>,
    tenant: &Arc<Tenant>,
    job: &Taken,
    is_retry: bool,
    records: &AtomicI64,
) -> Result<Option<Stored>, Failure> {
    let entity_type = entity_types::entity_type(tenant, job.entity_type_id)
        .await?
        .ok_or_else(|| Failure::NotFound(format!("There is no entity type {}", job.entity_type_id)))?;
    let query = Query::parse(&job.fql_query).map_err(|error| Failure::Invalid(error.to_string()))?;
    let statement = select::identifiers(&entity_type, &query, Some(job.max_size.saturating_add(1))).map_err(
        |errors| Failure::Invalid(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    )?;
    indexed::report(node, &entity_type, &query);
    let width = entity_type.id_columns().count();
    if is_retry {
        results::drop(&tenant.background().await?, job.result_id).await?;
    }
    let reader = if is_retry { tenant.primary_reader().await? } else { tenant.reader().await? };
    if !reader.is_of_replica() {
        return store_at_once(Streaming(Some(reader)), statement, job, width, records).await;
    }
    // Results go to the primary.
    let reader = Streaming(Some(reader));
    let mut writer = Writer::begin(&tenant.background().await?, job.result_id, width).await?;
    let is_within =
        stream(tenant, reader.connection(), &statement, &mut writer, records, job.max_size).await?;
    if !is_within {
        // The statement may still be running: its server notices the closed connection.
        return Ok(None);
    }
    reader.end().await;
    let rows = writer.end(&tenant.background().await?).await?;
    Ok(Some(Stored { records: records.load(Relaxed), rows }))
}

/// The time is bounded by the job's deadline; the session's own limit is for calls that somebody waits for.
fn begin(mode: &str) -> String {
    format!(
        "BEGIN {mode}; SET LOCAL statement_timeout = 0; SET LOCAL work_mem = '{WORK_MEM}'; \
         SET LOCAL idle_in_transaction_session_timeout = 0"
    )
}

/// Finds the records and stores them in one statement: the connection is to the primary.
async fn store_at_once(
    writing: Streaming,
    statement: select::Statement,
    job: &Taken,
    width: usize,
    records: &AtomicI64,
) -> Result<Option<Stored>, Failure> {
    let client = writing.connection().client();
    client.batch_execute(&begin("")).await.map_err(query_failure)?;
    let sql = results::storing(&statement, width);
    let mut binds = statement.binds;
    binds.push(job.result_id.into());
    let values: Vec<&(dyn ToSql + Sync)> = binds.iter().map(|bind| bind as _).collect();
    let row = client.query_one(&sql, &values).await.map_err(query_failure)?;
    let stored = Stored { records: row.get::<_, i64>("uuids") / width as i64, rows: row.get("rows") };
    if stored.records > job.max_size {
        // Nothing is committed.
        return Ok(None);
    }
    client.batch_execute("COMMIT").await.map_err(query_failure)?;
    records.store(stored.records, Relaxed);
    writing.give_back();
    Ok(Some(stored))
}

/// False if there are more records than allowed.
async fn stream(
    tenant: &Tenant,
    reader: &Connection,
    statement: &select::Statement,
    writer: &mut Writer,
    records: &AtomicI64,
    max_size: i64,
) -> Result<bool, Failure> {
    reader.client().batch_execute(&begin("READ ONLY")).await.map_err(query_failure)?;
    let prepared = reader.client().prepare(&statement.sql).await.map_err(query_failure)?;
    let rows = reader.client().query_raw(&prepared, &statement.binds).await.map_err(query_failure)?;
    let mut rows = std::pin::pin!(rows);
    let width = writer.width();
    let mut count: i64 = 0;
    while let Some(row) = rows.try_next().await.map_err(query_failure)? {
        count += 1;
        if count > max_size {
            return Ok(false);
        }
        let is_full =
            writer.push((0..width).map(|part| row.get::<_, Option<Uuid>>(part).unwrap_or_default()));
        if is_full {
            records.store(count, Relaxed);
            writer.flush(&tenant.background().await?).await?;
        }
    }
    records.store(count, Relaxed);
    Ok(true)
}

/// A replica that cancels a query because of replay is treated like a lost server.
fn query_failure(error: tokio_postgres::Error) -> Failure {
    match error.code().map(|state| state.code()) {
        Some("40001" | "40P01") => Failure::Unavailable("The replica cancelled the query".into()),
        _ => failure(error, "selecting the records of a list"),
    }
}

/// Renews the lease until all jobs of the run have ended.
async fn beat(
    engine: Arc<Engine>,
    tenant: Arc<Tenant>,
    (jobs, notify): (Vec<Uuid>, Arc<Notify>),
    records: Arc<AtomicI64>,
) {
    let mut renewed = Instant::now();
    loop {
        tokio::select! {
            () = tokio::time::sleep(BEAT) => {}
            () = notify.notified() => {}
        }
        if engine.stopping.load(Relaxed) {
            return;
        }
        let ours = match tenant.writer().await {
            Ok(connection) => jobs::renew(&connection, engine.owner, &jobs, records.load(Relaxed)).await,
            Err(failure) => Err(failure),
        };
        match ours {
            Ok(ours) if ours.is_empty() => return,
            Ok(_) => renewed = Instant::now(),
            // If the database is unreachable for longer than the lease, another node may own the job.
            Err(_) if renewed.elapsed() > jobs::LEASE => return,
            Err(_) => {}
        }
    }
}

/// Ends one job after it was shown as running for long enough; keeps its lease meanwhile.
async fn publish(engine: Arc<Engine>, node: Weak<Node>, tenant: Arc<Tenant>, job: Taken, end: End) {
    for attempt in 0..5_u32 {
        match try_publish(&engine, &tenant, &job, &end).await {
            Ok(Ended::Incomplete) => {
                tracing::warn!(tenant = tenant.id, job.id = %job.id, "a list job is repeated: what it wrote is lost");
                if let (Some(node), Ok(connection)) = (node.upgrade(), tenant.writer().await)
                    && jobs::give_back(&connection, engine.owner, Some(job.id)).await.is_ok()
                {
                    super::submit(&node, &tenant.id);
                }
                return;
            }
            Ok(Ended::Yes | Ended::TakenAway) => return,
            Err(failure) => {
                tracing::info!(tenant = tenant.id, job.id = %job.id, "a list job cannot be ended yet: {failure}");
                tokio::time::sleep(Duration::from_millis(250) * 2_u32.pow(attempt)).await;
            }
        }
    }
    // The lease ends, and the job is taken again.
}

async fn try_publish(engine: &Engine, tenant: &Tenant, job: &Taken, end: &End) -> Result<Ended, Failure> {
    loop {
        let wait = job.visible_until.saturating_duration_since(Instant::now());
        tokio::time::sleep(wait.min(BEAT)).await;
        if wait <= BEAT {
            return jobs::end(tenant, engine.owner, job, end).await;
        }
        let records = if let End::Done(stored) = end { stored.records } else { 0 };
        let connection = tenant.writer().await?;
        if jobs::renew(&connection, engine.owner, &[job.id], records).await?.is_empty() {
            return Ok(Ended::TakenAway);
        }
    }
}

/// Deletes an unused result; if that fails, maintenance deletes it later.
async fn forget(tenant: &Tenant, result: Uuid) {
    if let Ok(connection) = tenant.background().await {
        let _ = results::drop(&connection, result).await;
    }
}
