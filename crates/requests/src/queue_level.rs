//! Queues of titles or of items: when a library begins or ceases to take requests for titles, every queue is
//! numbered anew, by title or by item.
//!
//! Routes: `POST /tlr-feature-toggle-job/start`; the job `tlr-feature-toggle` does the same every five minutes. Does
//! what the records of `/tlr-feature-toggle-job-storage/tlr-feature-toggle-jobs` ask for, which staff's client makes
//! when the setting changes.

use super::hold::{WAITING, waiting};
use crate::records::TLR_FEATURE_TOGGLE_JOB;
use carrel_circulation::desk::queue;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request_queue::{Waiting, numbered};
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

/// Numbers queues anew where that was asked for.
pub static QUEUE_LEVEL: Job = Job {
    name: "tlr-feature-toggle",
    every: Duration::from_secs(300),
    deadline: Duration::from_secs(1800),
    run: |run| {
        Box::pin(async move {
            let numbered = toggle(&run.tenant, Timestamp::now()).await?;
            Ok(numbered.map_or_else(|| "nothing asked for".to_owned(), |n| format!("{n} requests numbered")))
        })
    },
};

pub fn connect(router: &mut Router) {
    router.on("POST", "/tlr-feature-toggle-job/start", |call| async move {
        toggle(call.tenant()?, call.now).await?;
        Ok(Answer::text(StatusCode::ACCEPTED, ""))
    });
}

/// Takes the newest open record, renumbers, and says so in the record; gives the number of open requests.
async fn toggle(tenant: &Arc<Tenant>, now: Timestamp) -> Result<Option<usize>, Failure> {
    let Some(id) = begin(tenant, now).await? else { return Ok(None) };
    let done = renumber_all(tenant).await;
    let outcome = match &done {
        Ok(numbered) => json!({"status": "done", "numberOfUpdatedRequests": numbered}),
        Err(failure) => json!({"status": "failed", "errors": [failure.to_string()]}),
    };
    note(tenant, id, outcome, now).await?;
    done.map(Some)
}

/// Marks a record as in progress, so that no other node takes it. One that a node left so when it died is done
/// again after a while: renumbering what is numbered changes nothing.
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

/// Queues are held this many at a time.
const AT_ONCE: usize = 100;

/// Numbers every queue 1..n in the order in which its requests stand; gives the number of open requests.
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

/// Numbers some queues, which are held together in the order of their ids.
async fn renumber_some(tenant: &Arc<Tenant>, queues: &[Uuid], titles: bool) -> Result<usize, Failure> {
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    queue::hold_those(&mut pipeline, "SELECT unnest($1::uuid[])", vec![queues.to_vec().into()]);
    let which = if titles { "r.instance_id" } else { "r.item_id" };
    let rows = pipeline.add(
        format!(
            "{WAITING} {which} = ANY($1) ORDER BY r.position, carrel.instant(r.doc->>'requestDate'), r.id"
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
    let mut by_queue: BTreeMap<Uuid, Vec<Waiting>> = BTreeMap::new();
    let mut total = 0;
    for row in results.rows(rows) {
        let request = waiting(row);
        if let Some(queue) = queue_of.get(&request.id) {
            total += 1;
            by_queue.entry(*queue).or_default().push(request);
        }
    }
    let mut pipeline = Pipeline::new();
    for (queue, requests) in by_queue {
        let moves = numbered(&requests);
        queue::renumber(&mut pipeline, Some(queue), &moves);
        // Those that keep their place are reported whose queue they stand in now.
        let ids: Vec<Uuid> = requests.iter().map(|request| request.id).collect();
        pipeline.add(
            "UPDATE request SET queue_id = $2 WHERE id = ANY($1) AND queue_id IS DISTINCT FROM $2",
            vec![ids.into(), queue.into()],
        );
    }
    tx.send_and_commit(pipeline).await?;
    Ok(total)
}
