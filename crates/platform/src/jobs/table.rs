//! Reads and writes the rows of the job table.

use super::timers::TimerSetting;
use super::timing::Next;
use crate::database::{Bind, Connection, Json};
use carrel_records::Failure;
use jiff::Timestamp;
use std::time::Duration;
use tokio_postgres::Row;
use uuid::Uuid;

/// A row whose lease this node holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    pub tenant: String,
    pub name: String,
    pub setting: TimerSetting,
}

/// The state of a tenant's job.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub tenant: String,
    pub name: String,
    /// `None` while the timer is switched off.
    pub due: Option<Timestamp>,
    /// The node that runs the job.
    pub owner: Option<Uuid>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    pub runs: i64,
    pub failures: i64,
    /// The message of the last run.
    pub outcome: Option<String>,
    pub failed: bool,
    pub setting: TimerSetting,
}

/// Inserts the row of a tenant's job unless it exists. It is due at a random time within one interval from now, so that
/// the jobs of many tenants are not due at once.
pub async fn enter(
    connection: &Connection,
    tenant: &str,
    name: &str,
    every: Duration,
    setting: Option<&TimerSetting>,
) -> Result<(), Failure> {
    connection
        .query(
            "INSERT INTO platform.job (tenant, name, due, timer)
             VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3), $4)
             ON CONFLICT (tenant, name) DO NOTHING",
            vec![
                tenant.into(),
                name.into(),
                (every.as_secs_f64() * rand::random::<f64>()).into(),
                setting.map_or(Bind::Null, stored),
            ],
        )
        .await?;
    Ok(())
}

fn stored(setting: &TimerSetting) -> Bind {
    // A setting has only text and JSON fields, so that serialization cannot fail.
    Bind::Json(serde_json::to_string(setting).unwrap_or_else(|_| "{}".into()))
}

/// The setting of a row; empty if this release cannot parse it.
fn setting(row: &Row) -> TimerSetting {
    let stored: Option<Json> = row.get("timer");
    stored.and_then(|stored| serde_json::from_value(stored.parse()).ok()).unwrap_or_default()
}

/// Removes the routes that a tenant's timers no longer have to call: a row with the name of a declared job keeps its
/// other settings, and rows whose names are not in `calling` are deleted.
pub async fn drop_superseded_calls(
    connection: &Connection,
    tenant: &str,
    declared: &[&str],
    calling: Vec<String>,
) -> Result<(), Failure> {
    let declared: Vec<String> = declared.iter().map(|&name| name.to_owned()).collect();
    let superseded = "tenant = $1 AND timer->'call' IS NOT NULL AND timer #> '{call,userTimer}' IS NULL";
    connection
        .query(
            format!("UPDATE platform.job SET timer = timer - 'call' WHERE {superseded} AND name = ANY($2)"),
            vec![tenant.into(), declared.into()],
        )
        .await?;
    connection
        .query(
            format!("DELETE FROM platform.job WHERE {superseded} AND name <> ALL($2)"),
            vec![tenant.into(), calling.into()],
        )
        .await?;
    Ok(())
}

/// Stores the setting of a job and its next due time. A running run continues.
pub async fn set(
    connection: &Connection,
    tenant: &str,
    name: &str,
    setting: &TimerSetting,
    next: Next,
) -> Result<(), Failure> {
    connection
        .query(
            "INSERT INTO platform.job (tenant, name, due, timer)
             VALUES ($1, $2, coalesce(clock_timestamp() + make_interval(secs => $3::float8), 'infinity'), $4)
             ON CONFLICT (tenant, name) DO UPDATE SET due = excluded.due, timer = excluded.timer",
            vec![tenant.into(), name.into(), seconds(next), stored(setting)],
        )
        .await?;
    Ok(())
}

/// Deletes a timer created by a user; a running run ends with its lease.
pub async fn delete(connection: &Connection, tenant: &str, name: &str) -> Result<(), Failure> {
    connection
        .query("DELETE FROM platform.job WHERE tenant = $1 AND name = $2", vec![tenant.into(), name.into()])
        .await?;
    Ok(())
}

fn seconds(next: Next) -> Bind {
    match next {
        Next::Every(time) | Next::In(time) => time.as_secs_f64().into(),
        Next::Never => Bind::Null,
    }
}

/// Leases rows with these names that are due, or whose lease has expired, and optionally rows that call a route. Skips
/// rows that other nodes are leasing.
pub async fn take(
    connection: &Connection,
    owner: Uuid,
    names: &[&str],
    calls: bool,
    lease: Duration,
    at_most: usize,
) -> Result<Vec<Taken>, Failure> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let rows = connection
        .query(
            "UPDATE platform.job SET owner = $1, started = clock_timestamp(), cancelled = false,
                 lease_ends = clock_timestamp() + make_interval(secs => $3)
             WHERE (tenant, name) IN (
                 SELECT tenant, name FROM platform.job
                 WHERE due <= clock_timestamp() AND (name = ANY($2) OR $5 AND timer->'call' IS NOT NULL)
                   AND (owner IS NULL OR lease_ends < clock_timestamp())
                 ORDER BY due LIMIT $4 FOR UPDATE SKIP LOCKED)
             RETURNING tenant, name, timer",
            vec![
                owner.into(),
                names.into(),
                lease.as_secs_f64().into(),
                (at_most as i64).into(),
                calls.into(),
            ],
        )
        .await?;
    let taken = |row: &Row| Taken { tenant: row.get("tenant"), name: row.get("name"), setting: setting(row) };
    Ok(rows.iter().map(taken).collect())
}

/// Time until the next row is due; `None` without such a row.
pub async fn next_due(
    connection: &Connection,
    names: &[&str],
    calls: bool,
) -> Result<Option<Duration>, Failure> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let rows = connection
        .query(
            "SELECT extract(epoch FROM greatest(due, coalesce(lease_ends, due)) - clock_timestamp())::float8
             FROM platform.job WHERE due < 'infinity' AND (name = ANY($1) OR $2 AND timer->'call' IS NOT NULL)
             ORDER BY greatest(due, coalesce(lease_ends, due)) LIMIT 1",
            vec![names.into(), calls.into()],
        )
        .await?;
    Ok(rows.first().map(|row| Duration::from_secs_f64(row.get::<_, f64>(0).clamp(0.0, 86_400.0))))
}

/// The result of a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    Ours,
    /// The run was cancelled, or another node took it over after the lease had expired.
    Stop,
}

/// Renews the lease.
pub async fn beat(
    connection: &Connection,
    owner: Uuid,
    taken: &Taken,
    lease: Duration,
) -> Result<Beat, Failure> {
    let rows = connection
        .query(
            "UPDATE platform.job SET lease_ends = clock_timestamp() + make_interval(secs => $4)
             WHERE tenant = $1 AND name = $2 AND owner = $3 AND NOT cancelled RETURNING 1",
            vec![
                taken.tenant.as_str().into(),
                taken.name.as_str().into(),
                owner.into(),
                lease.as_secs_f64().into(),
            ],
        )
        .await?;
    Ok(if rows.is_empty() { Beat::Stop } else { Beat::Ours })
}

/// Stores the end of a run; no effect if this node no longer holds the lease. A row that was requested to run during
/// the run stays due, and a row whose setting was changed is due by the new setting.
pub async fn end(
    connection: &Connection,
    owner: Uuid,
    taken: &Taken,
    next: Next,
    outcome: &Result<String, String>,
) -> Result<(), Failure> {
    let (words, failed) = match outcome {
        Ok(words) => (words, false),
        Err(words) => (words, true),
    };
    connection
        .query(
            "UPDATE platform.job SET owner = NULL, lease_ends = NULL, cancelled = false, ended = clock_timestamp(),
                 due = CASE WHEN due > started THEN due WHEN $4::float8 IS NULL THEN 'infinity'
                     WHEN $7 THEN greatest(started + make_interval(secs => $4), clock_timestamp())
                     ELSE clock_timestamp() + make_interval(secs => $4) END,
                 runs = runs + 1, failures = failures + $5::bigint, outcome = $6, failed = $5::bigint = 1
             WHERE tenant = $1 AND name = $2 AND owner = $3",
            vec![
                taken.tenant.as_str().into(),
                taken.name.as_str().into(),
                owner.into(),
                seconds(next),
                i64::from(failed).into(),
                words.as_str().into(),
                matches!(next, Next::Every(_)).into(),
            ],
        )
        .await?;
    Ok(())
}

/// Releases all rows of this node; they are due immediately, for another node.
pub async fn give_back(connection: &Connection, owner: Uuid) -> Result<(), Failure> {
    connection
        .query("UPDATE platform.job SET owner = NULL, lease_ends = NULL WHERE owner = $1", vec![owner.into()])
        .await?;
    Ok(())
}

/// Deletes the jobs of a tenant.
pub async fn forget(connection: &Connection, tenant: &str) -> Result<(), Failure> {
    connection.query("DELETE FROM platform.job WHERE tenant = $1", vec![tenant.into()]).await?;
    Ok(())
}

/// Makes a job due now, unless its timer is switched off.
pub async fn wake(connection: &Connection, tenant: &str, name: &str) -> Result<(), Failure> {
    connection
        .query(
            "UPDATE platform.job
             SET due = CASE WHEN owner IS NULL THEN least(due, clock_timestamp()) ELSE clock_timestamp() END
             WHERE tenant = $1 AND name = $2 AND due < 'infinity'",
            vec![tenant.into(), name.into()],
        )
        .await?;
    Ok(())
}

/// Makes a job due now, even if its timer is switched off; if it is running, it runs once more.
pub async fn soon(connection: &Connection, tenant: &str, name: &str) -> Result<(), Failure> {
    connection
        .query(
            "INSERT INTO platform.job (tenant, name, due) VALUES ($1, $2, clock_timestamp())
             ON CONFLICT (tenant, name) DO UPDATE SET
                 due = CASE WHEN job.owner IS NULL THEN least(job.due, excluded.due) ELSE excluded.due END",
            vec![tenant.into(), name.into()],
        )
        .await?;
    Ok(())
}

/// Cancels the current run; false if there is none. Its node notices at its next heartbeat.
pub async fn cancel(connection: &Connection, tenant: &str, name: &str) -> Result<bool, Failure> {
    let rows = connection
        .query(
            "UPDATE platform.job SET cancelled = true
             WHERE tenant = $1 AND name = $2 AND owner IS NOT NULL RETURNING 1",
            vec![tenant.into(), name.into()],
        )
        .await?;
    Ok(!rows.is_empty())
}

const COLUMNS: &str =
    "tenant, name, nullif(due, 'infinity') AS due, owner, started, ended, runs, failures, outcome,
    failed, timer";

/// The jobs of a tenant, sorted by name.
pub async fn of_tenant(connection: &Connection, tenant: &str) -> Result<Vec<State>, Failure> {
    let rows = connection
        .query(
            format!("SELECT {COLUMNS} FROM platform.job WHERE tenant = $1 ORDER BY name"),
            vec![tenant.into()],
        )
        .await?;
    Ok(rows.iter().map(state).collect())
}

/// The jobs of all tenants.
pub async fn all(connection: &Connection) -> Result<Vec<State>, Failure> {
    let rows =
        connection.query(format!("SELECT {COLUMNS} FROM platform.job ORDER BY tenant, name"), vec![]).await?;
    Ok(rows.iter().map(state).collect())
}

fn state(row: &Row) -> State {
    State {
        tenant: row.get("tenant"),
        name: row.get("name"),
        due: row.get("due"),
        owner: row.get("owner"),
        started: row.get("started"),
        ended: row.get("ended"),
        runs: row.get("runs"),
        failures: row.get("failures"),
        outcome: row.get("outcome"),
        failed: row.get("failed"),
        setting: setting(row),
    }
}
