//! The rows of the job table: added, taken, kept, ended. The node that took a row owns it until its lease ends; its
//! final changes apply only while it still owns the row.

use carrel_platform::{Bind, Connection, Pipeline, Tenant};
use carrel_records::Failure;
use jiff::Timestamp;
use std::time::{Duration, Instant};
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
    /// The result that is written, or that an export reads.
    pub result_id: Uuid,
    pub attempts: i32,
    /// Until then it is shown as running.
    pub visible_until: Instant,
}

fn taken(row: &Row) -> Taken {
    let visible_for = Duration::from_secs_f64(row.get::<_, f64>(9).clamp(0.0, 60.0));
    Taken {
        id: row.get(0),
        kind: Kind::of(row.get(1)),
        list_id: row.get(2),
        entity_type_id: row.get(3),
        fql_query: row.get(4),
        fields: row.get(5),
        max_size: row.get(6),
        result_id: row.get::<_, Option<Uuid>>(7).unwrap_or_default(),
        attempts: row.get(8),
        visible_until: Instant::now() + visible_for,
    }
}

/// Takes the next job, and all waiting jobs with the same query; of the users of a tenant the one with the fewest
/// running jobs comes first. Jobs whose lease has ended are taken over; one that is given up takes no other along.
pub async fn take(tenant: &Tenant, owner: Uuid) -> Result<Vec<Taken>, Failure> {
    let rows = tenant
        .writer()
        .await?
        .query(
            "WITH first AS (
                 SELECT j.id, j.share, j.attempts < $4 AS may_share FROM list_job j
                 WHERE j.state IN ('queued', 'running')
                   AND (j.state = 'queued' OR j.lease_ends < clock_timestamp())
                 ORDER BY (SELECT count(*) FROM list_job r WHERE r.state = 'running' AND r.owner IS NOT NULL
                           AND r.user_id = j.user_id AND r.lease_ends >= clock_timestamp()), j.created
                 LIMIT 1 FOR UPDATE SKIP LOCKED),
             others AS (
                 SELECT j.id FROM list_job j, first
                 WHERE j.state = 'queued' AND j.share = first.share AND first.may_share AND j.id <> first.id
                 FOR UPDATE OF j SKIP LOCKED)
             UPDATE list_job SET state = 'running', owner = $1, attempts = attempts + 1,
                 result_id = CASE WHEN kind = 'export' THEN result_id ELSE $2 END,
                 started = coalesce(started, clock_timestamp()),
                 lease_ends = clock_timestamp() + make_interval(secs => $3)
             WHERE id IN (SELECT id FROM first UNION ALL SELECT id FROM others)
             RETURNING id, kind, list_id, entity_type_id, fql_query, fields, max_size, result_id, attempts,
                 extract(epoch FROM visible_until - clock_timestamp())::float8",
            vec![owner.into(), Uuid::now_v7().into(), LEASE.as_secs_f64().into(), MAX_ATTEMPTS.into()],
        )
        .await?;
    Ok(rows.iter().map(taken).collect())
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

/// The outcome of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Done(Stored),
    TooLarge,
    Failed { code: &'static str, message: String },
}

/// What a job has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Records of the result or file.
    pub records: i64,
    /// Rows that hold them: chunks of a result, parts of a file.
    pub rows: i64,
}

/// The answer of the database to the end of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Yes,
    /// This node does not own the job any more.
    TakenAway,
    /// The database lacks rows that it has acknowledged: the primary has moved to a server that had not received them.
    Incomplete,
}

/// Ends a job and updates its list in one statement, if this node owns the job and everything it has written is there.
pub async fn end(tenant: &Tenant, owner: Uuid, job: &Taken, end: &End) -> Result<Ended, Failure> {
    let (state, records, code, message) = match end {
        End::Done(stored) => ("done", stored.records, None, None),
        End::TooLarge if job.kind == Kind::Refresh => {
            let message = format!("The query finds more than {} records", job.max_size);
            ("failed", 0, Some("refresh-max.list.size.exceeded"), Some(message))
        }
        End::TooLarge => ("too_large", 0, None, None),
        End::Failed { code, message } => ("failed", 0, Some(*code), Some(message.clone())),
    };
    let is_whole = match (end, job.kind) {
        (End::Done(_), Kind::Export) => {
            "$7::uuid IS NOT NULL AND (SELECT count(*) FROM list_export_part p WHERE p.job_id = $1) = $8"
        }
        (End::Done(_), _) => "(SELECT count(*) FROM list_result_chunk c WHERE c.result_id = $7) = $8",
        // Nothing is published.
        _ => "$7::uuid IS NOT NULL AND $8::bigint = 0",
    };
    let of_list = match (end, job.kind) {
        (End::Done(_), Kind::Refresh) => {
            "UPDATE list_details l SET result_id = $7, success_job_id = $1, failed_job_id = NULL,
                 content_version = content_version + 1
             FROM mine WHERE l.id = mine.list_id AND l.is_active AND NOT l.is_deleted RETURNING l.content_version"
        }
        (_, Kind::Refresh) => {
            "UPDATE list_details l SET failed_job_id = $1 FROM mine WHERE l.id = mine.list_id RETURNING 1"
        }
        _ => "SELECT 1",
    };
    let version = match (end, job.kind) {
        (End::Done(_), Kind::Refresh) => {
            "coalesce((SELECT content_version FROM shown),
                 (SELECT l.content_version FROM list_details l WHERE l.id = j.list_id))"
        }
        _ => "j.content_version",
    };
    let stored = if let End::Done(stored) = end { stored.rows } else { 0 };
    let rows = tenant
        .writer()
        .await?
        .query(
            format!(
                "WITH owned AS MATERIALIZED (
                     SELECT id, list_id FROM list_job WHERE id = $1 AND owner = $2 AND state = 'running' FOR UPDATE),
                 mine AS MATERIALIZED (SELECT id, list_id FROM owned WHERE {is_whole}),
                 shown AS ({of_list}),
                 ended AS (
                     UPDATE list_job j SET state = $3, records = $4, code = $5, message = $6, ended = clock_timestamp(),
                         owner = NULL, lease_ends = NULL, content_version = {version}
                     FROM mine WHERE j.id = mine.id RETURNING 1)
                 SELECT EXISTS (SELECT 1 FROM owned) AS is_owned, EXISTS (SELECT 1 FROM ended) AS is_ended"
            ),
            vec![
                job.id.into(),
                owner.into(),
                state.into(),
                records.into(),
                code.map(str::to_owned).into(),
                message.into(),
                job.result_id.into(),
                stored.into(),
            ],
        )
        .await?;
    let is = |name: &str| rows.first().is_some_and(|row| row.get(name));
    Ok(match (is("is_owned"), is("is_ended")) {
        (_, true) => Ended::Yes,
        (true, false) => Ended::Incomplete,
        (false, false) => Ended::TakenAway,
    })
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

/// Releases the jobs of a node, or one of them, for another attempt; for a node that stops, the attempt does not count.
pub async fn give_back(connection: &Connection, owner: Uuid, job: Option<Uuid>) -> Result<(), Failure> {
    connection
        .query(
            "UPDATE list_job SET state = 'queued', owner = NULL, lease_ends = NULL,
                 attempts = attempts - CASE WHEN $2::uuid IS NULL THEN 1 ELSE 0 END
             WHERE owner = $1 AND state = 'running' AND ($2 IS NULL OR id = $2)",
            vec![owner.into(), job.into()],
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
