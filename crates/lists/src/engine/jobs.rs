//! The rows of the job table: added, taken, kept, ended. The node that took a row owns it until its lease ends; its
//! final changes apply only while it still owns the row.

use carrel_platform::{Bind, Connection, Pipeline, Tenant};
use carrel_records::Failure;
use jiff::Timestamp;
use std::time::Duration;
use tokio_postgres::Row;
use uuid::Uuid;

/// A node that does not renew its lease for this time has lost its jobs.
pub const LEASE: Duration = Duration::from_secs(10);
/// Attempts of a job, at most.
pub const MAX_ATTEMPTS: i32 = 3;

/// The kinds of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Refresh,
    Query,
    Export,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Refresh => "refresh",
            Kind::Query => "query",
            Kind::Export => "export",
        }
    }

    fn of(name: &str) -> Kind {
        match name {
            "refresh" => Kind::Refresh,
            "export" => Kind::Export,
            _ => Kind::Query,
        }
    }
}

/// A job to be added.
#[derive(Debug, Clone)]
pub struct NewJob {
    pub id: Uuid,
    pub kind: Kind,
    pub list_id: Option<Uuid>,
    pub user_id: Option<Uuid>,
    pub entity_type_id: Uuid,
    pub fql_query: String,
    pub fields: Vec<String>,
    pub max_size: i64,
    pub list_version: Option<i32>,
    /// The result that is exported.
    pub result_id: Option<Uuid>,
    /// Shown as running for at least this time.
    pub visible_for: Duration,
}

impl NewJob {
    /// Adds the statement that stores it; a second open refresh of a list, or export of a list and user, violates a
    /// unique index.
    pub fn add_to(self, pipeline: &mut Pipeline) -> usize {
        let share = match self.kind {
            Kind::Export => self.id.to_string(),
            _ => format!("{} {} {}", self.entity_type_id, self.max_size, self.fql_query),
        };
        pipeline.add(
            "INSERT INTO list_job (id, kind, state, list_id, user_id, entity_type_id, fql_query, fields, max_size, share,
                 list_version, result_id, created, visible_until, attempts, records)
             VALUES ($1, $2, 'queued', $3, $4, $5, $6, $7, $8, md5($9), $10, $11, clock_timestamp(),
                 clock_timestamp() + make_interval(secs => $12), 0, 0)",
            vec![
                self.id.into(),
                self.kind.name().into(),
                self.list_id.into(),
                self.user_id.into(),
                self.entity_type_id.into(),
                self.fql_query.into(),
                self.fields.into(),
                self.max_size.into(),
                share.into(),
                self.list_version.map_or(Bind::Null, Bind::from),
                self.result_id.into(),
                self.visible_for.as_secs_f64().into(),
            ],
        )
    }
}

/// A job that this node has taken.
#[derive(Debug, Clone)]
pub struct Taken {
    pub id: Uuid,
    pub kind: Kind,
    pub list_id: Option<Uuid>,
    pub entity_type_id: Uuid,
    pub fql_query: String,
    pub fields: Vec<String>,
    pub max_size: i64,
    pub result_id: Option<Uuid>,
    pub attempts: i32,
    pub share: String,
}

const TAKEN: &str =
    "id, kind, list_id, entity_type_id, fql_query, fields, max_size, result_id, attempts, share";

fn taken(row: &Row) -> Taken {
    Taken {
        id: row.get(0),
        kind: Kind::of(row.get(1)),
        list_id: row.get(2),
        entity_type_id: row.get(3),
        fql_query: row.get(4),
        fields: row.get(5),
        max_size: row.get(6),
        result_id: row.get(7),
        attempts: row.get(8),
        share: row.get(9),
    }
}

/// Takes the next job, and all waiting jobs with the same query; of the users of a tenant the one with the fewest
/// running jobs comes first. Jobs whose lease has ended are taken over.
pub async fn take(tenant: &Tenant, owner: Uuid) -> Result<Vec<Taken>, Failure> {
    let connection = tenant.writer().await?;
    let rows = connection
        .query(
            format!(
                "UPDATE list_job SET state = 'running', owner = $1, attempts = attempts + 1,
                     started = coalesce(started, clock_timestamp()),
                     lease_ends = clock_timestamp() + make_interval(secs => $2)
                 WHERE id = (
                     SELECT j.id FROM list_job j
                     WHERE j.state IN ('queued', 'running')
                       AND (j.state = 'queued' OR j.lease_ends < clock_timestamp())
                     ORDER BY (SELECT count(*) FROM list_job r WHERE r.state = 'running' AND r.owner IS NOT NULL
                               AND r.user_id = j.user_id AND r.lease_ends >= clock_timestamp()), j.created
                     LIMIT 1 FOR UPDATE SKIP LOCKED)
                 RETURNING {TAKEN}"
            ),
            vec![owner.into(), LEASE.as_secs_f64().into()],
        )
        .await?;
    let Some(first) = rows.first().map(taken) else { return Ok(Vec::new()) };
    let mut all = vec![first];
    if all[0].kind != Kind::Export {
        let rows = connection
            .query(
                format!(
                    "UPDATE list_job SET state = 'running', owner = $1, attempts = attempts + 1,
                         started = coalesce(started, clock_timestamp()),
                         lease_ends = clock_timestamp() + make_interval(secs => $2)
                     WHERE id IN (SELECT j.id FROM list_job j WHERE j.state = 'queued' AND j.share = $3
                                  FOR UPDATE SKIP LOCKED)
                     RETURNING {TAKEN}"
                ),
                vec![owner.into(), LEASE.as_secs_f64().into(), all[0].share.as_str().into()],
            )
            .await?;
        all.extend(rows.iter().map(taken));
    }
    Ok(all)
}

/// Renews the leases of those jobs that this node still owns, and returns them.
pub async fn renew(
    connection: &Connection,
    owner: Uuid,
    jobs: &[Uuid],
    records: i64,
) -> Result<Vec<Uuid>, Failure> {
    let rows = connection
        .query(
            "UPDATE list_job SET lease_ends = clock_timestamp() + make_interval(secs => $3), records = $4
             WHERE id = ANY ($2) AND owner = $1 AND state = 'running' RETURNING id",
            vec![owner.into(), jobs.to_vec().into(), LEASE.as_secs_f64().into(), records.into()],
        )
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Stores the result that the jobs will have, so that a query can be read while it runs.
pub async fn begin_result(connection: &Connection, jobs: &[Uuid], result: Uuid) -> Result<(), Failure> {
    connection
        .query(
            "UPDATE list_job SET result_id = $2 WHERE id = ANY ($1) AND state = 'running'",
            vec![jobs.to_vec().into(), result.into()],
        )
        .await?;
    Ok(())
}

/// Time for which a job must still be shown as running.
pub async fn visible_for(connection: &Connection, job: Uuid) -> Result<Duration, Failure> {
    let rows = connection
        .query(
            "SELECT extract(epoch FROM visible_until - clock_timestamp())::float8 FROM list_job WHERE id = $1",
            vec![job.into()],
        )
        .await?;
    let seconds: f64 = rows.first().map_or(0.0, |row| row.get(0));
    Ok(Duration::from_secs_f64(seconds.clamp(0.0, 60.0)))
}

/// The outcome of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Done { records: i64 },
    TooLarge,
    Failed { code: &'static str, message: String },
}

/// Ends a job and updates its list in one transaction; false if this node does not own the job any more.
pub async fn end(
    tenant: &Tenant,
    owner: Uuid,
    job: &Taken,
    result: Uuid,
    end: &End,
) -> Result<bool, Failure> {
    let (state, records, code, message) = match end {
        End::Done { records } => ("done", *records, None, None),
        End::TooLarge if job.kind == Kind::Refresh => {
            let message = format!("The query finds more than {} records", job.max_size);
            ("failed", 0, Some("refresh-max.list.size.exceeded"), Some(message))
        }
        End::TooLarge => ("too_large", 0, None, None),
        End::Failed { code, message } => ("failed", 0, Some(*code), Some(message.clone())),
    };
    let mut tx = tenant.begin().await?;
    let rows = tx
        .query(
            "UPDATE list_job SET state = $3, records = $4, code = $5, message = $6, ended = clock_timestamp(),
                 owner = NULL, lease_ends = NULL
             WHERE id = $1 AND owner = $2 AND state = 'running' RETURNING list_id",
            vec![
                job.id.into(),
                owner.into(),
                state.into(),
                records.into(),
                code.map(str::to_owned).into(),
                message.into(),
            ],
        )
        .await?;
    if rows.is_empty() {
        return Ok(false);
    }
    let mut pipeline = Pipeline::new();
    if let (Kind::Refresh, Some(list)) = (job.kind, job.list_id) {
        match end {
            End::Done { .. } => {
                pipeline.add(
                    "UPDATE list_details SET result_id = $2, success_job_id = $3, failed_job_id = NULL,
                         content_version = content_version + 1
                     WHERE id = $1 AND is_active AND NOT is_deleted",
                    vec![list.into(), result.into(), job.id.into()],
                );
                pipeline.add(
                    "UPDATE list_job SET content_version = (SELECT content_version FROM list_details WHERE id = $2)
                     WHERE id = $1",
                    vec![job.id.into(), list.into()],
                );
            }
            _ => {
                pipeline.add(
                    "UPDATE list_details SET failed_job_id = $2 WHERE id = $1",
                    vec![list.into(), job.id.into()],
                );
            }
        }
    }
    tx.send_and_commit(pipeline).await?;
    Ok(true)
}

/// Cancels the open job of a kind of a list; its owner notices with its next heartbeat.
pub async fn cancel_of_list(
    connection: &Connection,
    list: Uuid,
    kind: Kind,
    job: Option<Uuid>,
) -> Result<Option<Uuid>, Failure> {
    let rows = connection
        .query(
            "UPDATE list_job SET state = 'cancelled', ended = clock_timestamp(), owner = NULL, lease_ends = NULL
             WHERE list_id = $1 AND kind = $2 AND state IN ('queued', 'running') AND ($3::uuid IS NULL OR id = $3)
             RETURNING id",
            vec![list.into(), kind.name().into(), job.into()],
        )
        .await?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// Cancels a query that has not ended; false if it has.
pub async fn cancel_query(connection: &Connection, query: Uuid) -> Result<bool, Failure> {
    let rows = connection
        .query(
            "UPDATE list_job SET state = 'cancelled', ended = clock_timestamp(), owner = NULL, lease_ends = NULL
             WHERE id = $1 AND kind = 'query' AND state IN ('queued', 'running') RETURNING id",
            vec![query.into()],
        )
        .await?;
    Ok(!rows.is_empty())
}

/// Releases the jobs of a node; the attempt does not count.
pub async fn give_back(connection: &Connection, owner: Uuid) -> Result<(), Failure> {
    connection
        .query(
            "UPDATE list_job SET state = 'queued', owner = NULL, lease_ends = NULL, attempts = attempts - 1
             WHERE owner = $1 AND state = 'running'",
            vec![owner.into()],
        )
        .await?;
    Ok(())
}

/// A job in the form of the API.
#[derive(Debug, Clone)]
pub struct Job {
    pub id: Uuid,
    pub state: String,
    pub list_id: Option<Uuid>,
    pub user_id: Option<Uuid>,
    pub user_name: Option<String>,
    pub entity_type_id: Uuid,
    pub fql_query: String,
    pub fields: Vec<String>,
    pub list_version: Option<i32>,
    pub content_version: Option<i32>,
    pub created: Timestamp,
    pub ended: Option<Timestamp>,
    pub records: i64,
    pub result_id: Option<Uuid>,
    pub code: Option<String>,
    pub message: Option<String>,
}

/// Columns for [`Job::of`], of a job with the alias `j`; users are shown by last and first name.
pub const COLUMNS: &str = "j.id, j.state, j.list_id, j.user_id, (SELECT nullif(concat_ws(', ', \
    nullif(u.doc->'personal'->>'lastName', ''), nullif(u.doc->'personal'->>'firstName', '')), '') FROM users u \
    WHERE u.id = j.user_id), j.entity_type_id, j.fql_query, j.fields, j.list_version, j.content_version, j.created, \
    j.ended, j.records, j.result_id, j.code, j.message";

impl Job {
    pub fn of(row: &Row) -> Job {
        Job {
            id: row.get(0),
            state: row.get(1),
            list_id: row.get(2),
            user_id: row.get(3),
            user_name: row.get(4),
            entity_type_id: row.get(5),
            fql_query: row.get(6),
            fields: row.get(7),
            list_version: row.get(8),
            content_version: row.get(9),
            created: row.get(10),
            ended: row.get(11),
            records: row.get(12),
            result_id: row.get(13),
            code: row.get(14),
            message: row.get(15),
        }
    }

    /// FOLIO's name of the state.
    pub fn status(&self) -> &'static str {
        match self.state.as_str() {
            "done" => "SUCCESS",
            "failed" => "FAILED",
            "cancelled" => "CANCELLED",
            "too_large" => "MAX_SIZE_EXCEEDED",
            _ => "IN_PROGRESS",
        }
    }

    pub fn is_open(&self) -> bool {
        matches!(self.state.as_str(), "queued" | "running")
    }
}

/// A job of one kind by its id.
pub async fn find(connection: &Connection, id: Uuid, kind: Kind) -> Result<Option<Job>, Failure> {
    let rows = connection
        .query(
            format!("SELECT {COLUMNS} FROM list_job j WHERE j.id = $1 AND j.kind = $2"),
            vec![id.into(), kind.name().into()],
        )
        .await?;
    Ok(rows.first().map(Job::of))
}
