//! What is done regularly for the lists of a tenant: results that nobody shows any more are removed, old queries and
//! exports are forgotten, lists that refresh themselves are refreshed, and jobs of dead nodes find a new one.

use super::jobs::{Kind, NewJob};
use carrel_platform::jobs::{Job, Run};
use carrel_platform::{Connection, Pipeline, Tenant};
use carrel_records::Failure;
use std::time::Duration;
use uuid::Uuid;

/// Readers of a result that was replaced have so long to end.
const GRACE_SECONDS: i64 = 60;
/// A finished query is kept for so long.
pub const QUERY_KEPT: Duration = Duration::from_secs(3 * 60 * 60);
/// The file of an export is kept for so long.
const EXPORT_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

pub static MAINTENANCE: Job = Job {
    name: "lists",
    every: Duration::from_secs(60),
    deadline: Duration::from_secs(600),
    run: |run| Box::pin(maintain(run)),
};

async fn maintain(run: Run) -> Result<String, Failure> {
    let tenant = run.tenant;
    // A tenant that no node has worked for since it started has no open jobs that a node here could know of.
    let node = super::node_of(&tenant);
    let options = node.as_ref().map(|node| super::of(node).options()).unwrap_or_default();
    let refreshed = refresh_due(&tenant, options.max_size).await?;
    if let Some(node) = node {
        super::submit(&node, &tenant.id);
    }
    let connection = tenant.background().await?;
    let queries = purge_queries(&connection).await?.len();
    let exports = purge_exports(&connection).await?;
    let results = purge_results(&connection).await?;
    Ok(format!("{refreshed} refreshed, removed: {queries} queries, {exports} exports, {results} results"))
}

/// Lists that refresh themselves and are due.
async fn refresh_due(tenant: &Tenant, max_size: i64) -> Result<usize, Failure> {
    let connection = tenant.background().await?;
    let rows = connection
        .query(
            "SELECT l.id, l.entity_type_id, l.fql_query, l.fields, l.version, coalesce(l.updated_by, l.created_by)
             FROM list_details l
             WHERE l.refresh_every IS NOT NULL AND l.is_active AND NOT l.is_deleted AND l.fql_query IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM list_job j WHERE j.list_id = l.id AND j.kind = 'refresh'
                   AND (j.state IN ('queued', 'running')
                        OR j.created > clock_timestamp() - make_interval(secs => l.refresh_every)))",
            vec![],
        )
        .await?;
    for row in &rows {
        let job = NewJob {
            id: Uuid::now_v7(),
            kind: Kind::Refresh,
            list_id: Some(row.get(0)),
            user_id: row.get(5),
            entity_type_id: row.get(1),
            fql_query: row.get(2),
            fields: row.get(3),
            max_size,
            list_version: Some(row.get(4)),
            result_id: None,
            visible_for: Duration::ZERO,
        };
        let mut pipeline = Pipeline::new();
        job.add_to(&mut pipeline);
        match connection.send(pipeline).await {
            // Somebody was faster.
            Err(error) if error.is_unique_violation() => {}
            other => {
                other?;
            }
        }
    }
    Ok(rows.len())
}

/// Forgets queries that ended long ago; their ids.
pub async fn purge_queries(connection: &Connection) -> Result<Vec<Uuid>, Failure> {
    let rows = connection
        .query(
            "DELETE FROM list_job WHERE kind = 'query'
               AND ended < clock_timestamp() - make_interval(secs => $1) RETURNING id",
            vec![QUERY_KEPT.as_secs_f64().into()],
        )
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

async fn purge_exports(connection: &Connection) -> Result<usize, Failure> {
    let rows = connection
        .query(
            "DELETE FROM list_job WHERE kind = 'export'
               AND ended < clock_timestamp() - make_interval(secs => $1) RETURNING id",
            vec![EXPORT_KEPT.as_secs_f64().into()],
        )
        .await?;
    Ok(rows.len())
}

/// Removes results that no list shows, no query keeps, and nothing is writing or reading.
async fn purge_results(connection: &Connection) -> Result<usize, Failure> {
    let rows = connection
        .query(
            "DELETE FROM list_result r
             WHERE r.created < clock_timestamp() - make_interval(secs => $1)
               AND NOT EXISTS (SELECT 1 FROM list_details l WHERE l.result_id = r.id)
               AND NOT EXISTS (SELECT 1 FROM list_job j WHERE j.result_id = r.id
                   AND (j.state IN ('queued', 'running') OR j.kind = 'query'
                        OR j.ended > clock_timestamp() - make_interval(secs => $1)))
             RETURNING r.id",
            vec![(GRACE_SECONDS as f64).into()],
        )
        .await?;
    Ok(rows.len())
}
