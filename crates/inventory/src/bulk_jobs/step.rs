//! One step of a bulk job, in one transaction.

use super::{announcing, migration};
use crate::records::settings::{ASYNC_MIGRATION_JOB, ITERATION_JOB, REINDEX_JOB};
use carrel_platform::database::Json;
use carrel_platform::{Bind, Pipeline, Tenant, Tx};
use carrel_records::{Failure, RecordType};
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

/// Records that are visited in one step.
const AT_ONCE: i64 = 1_000;

/// The kinds of bulk jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Reindex,
    Iteration,
    Migration,
}

/// FOLIO's status names of a kind.
pub struct Words {
    pub done: &'static str,
    pub to_cancel: &'static str,
    pub cancelled: &'static str,
    pub failed: &'static str,
}

/// The first status of every bulk job.
pub const IN_PROGRESS: &str = "In progress";

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Reindex, Kind::Iteration, Kind::Migration];

    pub fn record(self) -> &'static RecordType {
        match self {
            Kind::Reindex => &REINDEX_JOB,
            Kind::Iteration => &ITERATION_JOB,
            Kind::Migration => &ASYNC_MIGRATION_JOB,
        }
    }

    pub fn words(self) -> Words {
        match self {
            Kind::Reindex => Words {
                done: "Ids published",
                to_cancel: "Pending cancel",
                cancelled: "Id publishing cancelled",
                failed: "Id publishing failed",
            },
            Kind::Iteration => Words {
                done: "Completed",
                to_cancel: "Cancellation pending",
                cancelled: "Cancelled",
                failed: "Failed",
            },
            Kind::Migration => Words {
                done: "Completed",
                to_cancel: "Pending cancel",
                cancelled: "Cancelled",
                failed: "Id publishing failed",
            },
        }
    }
}

/// Whether a step was taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    Taken,
    NothingLeft,
}

/// A bulk job in progress.
pub struct BulkJob {
    pub id: Uuid,
    pub document: Value,
    /// The last processed record; nil at the beginning.
    pub reached: Uuid,
}

impl BulkJob {
    /// The ids of the next records: those after `$1`, at most `$2`.
    pub async fn next(&self, tx: &mut Tx, sql: &'static str) -> Result<Vec<Uuid>, Failure> {
        let rows = tx.query(sql, vec![self.reached.into(), AT_ONCE.into()]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

/// The records of a step and the statements for them.
pub struct Visited {
    pub ids: Vec<Uuid>,
    pub changes: Pipeline,
    /// The updated record of the bulk job.
    pub document: Value,
}

/// Takes the next step of the oldest bulk job of a kind.
pub async fn take(tenant: &Tenant, kind: Kind) -> Result<Step, Failure> {
    let mut tx = tenant.begin().await?;
    let Some(bulk_job) = oldest(&mut tx, kind).await? else { return Ok(Step::NothingLeft) };
    let (id, mut document) = (bulk_job.id, bulk_job.document.clone());
    let words = kind.words();
    if document["jobStatus"] == words.to_cancel {
        document["jobStatus"] = words.cancelled.into();
        end(tx, kind, id, &document).await?;
        return Ok(Step::Taken);
    }
    let visited = match kind {
        Kind::Reindex | Kind::Iteration => announcing::visit(&mut tx, &tenant.id, kind, &bulk_job).await,
        Kind::Migration => migration::visit(&mut tx, &bulk_job).await,
    };
    let failure = match visited {
        Ok(visited) => match finish(tx, kind, id, visited).await {
            Ok(()) => return Ok(Step::Taken),
            Err(failure) => failure,
        },
        Err(failure) => {
            // Releases the lock that ending the bulk job needs.
            drop(tx);
            failure
        }
    };
    // Transient failures are retried in the next run.
    if !matches!(failure, Failure::Unavailable(_)) {
        document["jobStatus"] = words.failed.into();
        end(tenant.begin().await?, kind, id, &document).await?;
    }
    Err(failure)
}

/// Reads and locks the oldest unfinished bulk job of a kind.
async fn oldest(tx: &mut Tx, kind: Kind) -> Result<Option<BulkJob>, Failure> {
    let table = kind.record().table;
    let sql = format!(
        "SELECT job.id, job.doc,
             (SELECT progress.reached FROM bulk_job_progress progress WHERE progress.job_id = job.id) AS reached
         FROM {table} job WHERE job.doc->>'jobStatus' IN ($1, $2)
         ORDER BY job.doc->>'submittedDate', job.id LIMIT 1 FOR NO KEY UPDATE"
    );
    let rows = tx.query(sql, vec![IN_PROGRESS.into(), kind.words().to_cancel.into()]).await?;
    Ok(rows.first().map(|row| BulkJob {
        id: row.get("id"),
        document: row.get::<_, Json>("doc").parse(),
        reached: row.get::<_, Option<Uuid>>("reached").unwrap_or_default(),
    }))
}

async fn finish(tx: Tx, kind: Kind, id: Uuid, visited: Visited) -> Result<(), Failure> {
    let Visited { ids, mut changes, mut document } = visited;
    let is_full = ids.len() as i64 >= AT_ONCE;
    if let Some(last) = ids.last().filter(|_| is_full) {
        changes.add(
            "INSERT INTO bulk_job_progress (job_id, reached) VALUES ($1, $2) ON CONFLICT (job_id) DO UPDATE SET reached = $2",
            vec![id.into(), (*last).into()],
        );
    } else {
        document["jobStatus"] = kind.words().done.into();
        if kind == Kind::Migration {
            document["finishedDate"] = carrel_records::time::format(Timestamp::now()).into();
        }
        changes.add("DELETE FROM bulk_job_progress WHERE job_id = $1", vec![id.into()]);
    }
    write(&mut changes, kind, id, &document);
    tx.send_and_commit(changes).await?;
    Ok(())
}

/// Ends a bulk job that failed or was canceled.
async fn end(tx: Tx, kind: Kind, id: Uuid, document: &Value) -> Result<(), Failure> {
    let mut pipeline = Pipeline::new();
    pipeline.add("DELETE FROM bulk_job_progress WHERE job_id = $1", vec![id.into()]);
    write(&mut pipeline, kind, id, document);
    tx.send_and_commit(pipeline).await?;
    Ok(())
}

/// Adds the statement that replaces a bulk job's record.
pub fn write(pipeline: &mut Pipeline, kind: Kind, id: Uuid, document: &Value) {
    pipeline.add(
        format!("UPDATE {} SET doc = $2 WHERE id = $1", kind.record().table),
        vec![id.into(), Bind::from(document)],
    );
}
