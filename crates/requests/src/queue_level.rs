//! Renumbers all queues when title-level requests are enabled or disabled: queues belong to instances if they are
//! enabled, otherwise to items.
//!
//! Routes: `POST /tlr-feature-toggle-job/start`; the job `tlr-feature-toggle` does the same every five minutes. It
//! processes the records of `/tlr-feature-toggle-job-storage/tlr-feature-toggle-jobs`, which the staff client creates
//! when the setting changes.

use super::lock::{QUEUE_ENTRIES, queue_entry};
use crate::records::TLR_FEATURE_TOGGLE_JOB;
use carrel_circulation::desk::queue;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request_queue::{QueueEntry, renumbered};
use carrel_platform::jobs::Job;
use carrel_platform::{Answer, Bind, Pipeline, Router, Tenant};
use carrel_records::{Failure, time};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Renumbers queues if a record requests it.
pub static QUEUE_LEVEL: Job = Job {
    name: "tlr-feature-toggle",
    every: Duration::from_secs(300),
    deadline: Duration::from_secs(1800),
    run: |run| {
        Box::pin(async move {
            let renumbered = toggle(&run.tenant, Timestamp::now()).await?;
            Ok(renumbered
                .map_or_else(|| "nothing asked for".to_owned(), |n| format!("{n} requests numbered")))
        })
    },
};

pub fn connect(router: &mut Router) {
    router.on("POST", "/tlr-feature-toggle-job/start", |call| async move {
        toggle(call.tenant()?, call.now).await?;
        Ok(Answer::text(StatusCode::ACCEPTED, ""))
    });
}

/// Takes the newest open record, renumbers all queues and stores the result in the record; returns the number of open
/// requests.
async fn toggle(tenant: &Arc<Tenant>, now: Timestamp) -> Result<Option<usize>, Failure> {
    let Some(id) = begin(tenant, now).await? else { return Ok(None) };
    let done = renumber_all(tenant).await;
    let outcome = match &done {
        Ok(renumbered) => json!({"status": "done", "numberOfUpdatedRequests": renumbered}),
        Err(failure) => json!({"status": "failed", "errors": [failure.to_string()]}),
    };
    note(tenant, id, outcome, now).await?;
    done.map(Some)
}

/// Marks a record as in progress, so that no other node takes it. A record that a stopped node left in progress is
/// taken again after a while; renumbering twice changes nothing.
async fn begin(tenant: &Tenant, now: Timestamp) -> Result<Option<Uuid>, Failure> {
    let table = TLR_FEATURE_TOGGLE_JOB.table;
    let abandoned = now.checked_sub(QUEUE_LEVEL.deadline).unwrap_or(now);
    let rows = tenant
        .writer()
        .await?
        .query(
            format!(
                "UPDATE {table} SET doc = jsonb_set(doc || '{{\"status\": \"in-progress\"}}'::jsonb,
                     '{{metadata,updatedDate}}', to_jsonb($1::text))
                 WHERE id = (
                     SELECT id FROM {table}
                     WHERE doc->>'status' = 'open' OR (doc->>'status' = 'in-progress'
                         AND coalesce(carrel.instant(doc->'metadata'->>'updatedDate') < $2, true))
                     ORDER BY doc->'metadata'->>'createdDate' DESC LIMIT 1 FOR UPDATE SKIP LOCKED)
                   AND NOT EXISTS (SELECT 1 FROM {table} WHERE doc->>'status' = 'in-progress'
                         AND carrel.instant(doc->'metadata'->>'updatedDate') >= $2)
                 RETURNING id"
            ),
            vec![time::format(now).into(), abandoned.into()],
        )
        .await?;
    Ok(rows.first().map(|row| row.get(0)))
}

async fn note(tenant: &Tenant, id: Uuid, outcome: Value, now: Timestamp) -> Result<(), Failure> {
    tenant
        .writer()
        .await?
        .query(
            format!(
                "UPDATE {} SET doc = jsonb_set(doc || $2, '{{metadata,updatedDate}}', to_jsonb($3::text)) WHERE id = $1",
                TLR_FEATURE_TOGGLE_JOB.table
            ),
            vec![id.into(), Bind::from(&outcome), time::format(now).into()],
        )
        .await?;
    Ok(())
}

/// At most this many queues are locked at once.
const AT_ONCE: usize = 100;

/// Numbers every queue 1..n in its current order; returns the number of open requests.
async fn renumber_all(tenant: &Arc<Tenant>) -> Result<usize, Failure> {
    let settings = CirculationSettings::of(tenant).await?;
    let titles = settings.title_level_requests.enabled();
    let column = if titles { "instance_id" } else { "item_id" };
    let rows = tenant
        .writer()
        .await?
        .query(
            format!(
                "SELECT DISTINCT {column} FROM request WHERE is_open AND {column} IS NOT NULL ORDER BY 1"
            ),
            vec![],
        )
        .await?;
    let queues: Vec<Uuid> = rows.iter().map(|row| row.get(0)).collect();
    let mut total = 0;
    for some in queues.chunks(AT_ONCE) {
        total += renumber_some(tenant, some, titles).await?;
    }
    Ok(total)
}

/// Numbers some queues, locked together in the order of their ids.
async fn renumber_some(tenant: &Arc<Tenant>, queues: &[Uuid], titles: bool) -> Result<usize, Failure> {
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    queue::lock_selected(&mut pipeline, "SELECT unnest($1::uuid[])", vec![queues.to_vec().into()]);
    let which = if titles { "r.instance_id" } else { "r.item_id" };
    let rows = pipeline.add(
        format!(
            "{QUEUE_ENTRIES} {which} = ANY($1) ORDER BY r.position, carrel.instant(r.doc->>'requestDate'), r.id"
        ),
        vec![queues.to_vec().into()],
    );
    let instances = pipeline.add(
        format!("SELECT r.id, {which} FROM request r WHERE r.is_open AND {which} = ANY($1)"),
        vec![queues.to_vec().into()],
    );
    let results = tx.send(pipeline).await?;
    let queue_of: HashMap<Uuid, Uuid> =
        results.rows(instances).iter().map(|row| (row.get(0), row.get(1))).collect();
    let mut by_queue: BTreeMap<Uuid, Vec<QueueEntry>> = BTreeMap::new();
    let mut total = 0;
    for row in results.rows(rows) {
        let request = queue_entry(row);
        if let Some(queue) = queue_of.get(&request.id) {
            total += 1;
            by_queue.entry(*queue).or_default().push(request);
        }
    }
    let mut pipeline = Pipeline::new();
    for (queue, requests) in by_queue {
        let moves = renumbered(&requests);
        queue::renumber(&mut pipeline, Some(queue), &moves);
        // Requests that keep their position get the id of their queue, too.
        let ids: Vec<Uuid> = requests.iter().map(|request| request.id).collect();
        pipeline.add(
            "UPDATE request SET queue_id = $2 WHERE id = ANY($1) AND queue_id IS DISTINCT FROM $2",
            vec![ids.into(), queue.into()],
        );
    }
    tx.send_and_commit(pipeline).await?;
    Ok(total)
}
