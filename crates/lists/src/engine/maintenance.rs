//! Regular maintenance of a tenant's lists: removes unused results, old queries and old exports, refreshes lists at
//! their intervals, and restarts jobs of dead nodes.

use super::jobs::{Kind, NewJob};
use carrel_platform::jobs::{Job, Run};
use carrel_platform::{Connection, Pipeline, Tenant};
use carrel_records::Failure;
use std::time::Duration;
use uuid::Uuid;

/// The time for which readers of a replaced result may continue.
const GRACE_SECONDS: i64 = 60;
/// The time for which a finished query is kept.
pub const QUERY_KEPT: Duration = Duration::from_secs(3 * 60 * 60);
/// The time for which the file of an export is kept.
const EXPORT_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

pub static MAINTENANCE: Job = Job {
    name: "lists",
    every: Duration::from_secs(60),
    deadline: Duration::from_secs(600),
    run: |run| Box::pin(maintain(run)),
};

async fn maintain(run: Run) -> Result<String, Failure> {
    let tenant = run.tenant;
    // A tenant for which no node has worked since this node started has no open jobs.
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

/// Starts the due refreshes of lists with an interval.
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
            // A refresh has been started in the meantime.
            Err(error) if error.is_unique_violation() => {}
            other => {
                other?;
            }
        }
    }
    Ok(rows.len())
}

/// Deletes queries that ended long ago; returns their ids.
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

/// Removes results that no list shows, no query refers to, and no job writes or reads.
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
