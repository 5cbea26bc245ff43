//! Reorders a queue.
//!
//! Routes: `POST /circulation/requests/queue/{item|instance}/{id}/reorder`. Which of the two is allowed depends on the
//! setting for title-level requests: queues belong to instances or to items.

use super::lock::{QUEUE_ENTRIES, queue_entry};
use super::{log, read};
use carrel_audit::circulation_log;
use carrel_circulation::desk::queue;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request;
use carrel_loan_rules::request_queue::{QueueEntry, QueueKind, reordered};
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, Refusal};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ReorderBody {
    reordered_queue: Vec<ReorderRequest>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReorderRequest {
    id: Uuid,
    new_position: i64,
}

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/requests/queue/item/{id}/reorder", |call| reorder(call, QueueKind::Item));
    router.on("POST", "/circulation/requests/queue/instance/{id}/reorder", |call| {
        reorder(call, QueueKind::Instance)
    });
}

async fn reorder(call: Call, of: QueueKind) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let body: ReorderBody = call.read_json()?;
    let positions: Vec<(Uuid, i64)> =
        body.reordered_queue.into_iter().map(|command| (command.id, command.new_position)).collect();
    let id = call.id(0)?;
    let (which, record, key) = match of {
        QueueKind::Item => {
            ("r.item_id = $1 AND coalesce(r.doc->>'requestLevel', 'Item') = 'Item'", "Item", "itemId")
        }
        QueueKind::Instance => ("r.instance_id = $1", "Instance", "instanceId"),
    };
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    let settings_version = pipeline.add("SELECT value FROM settings_version WHERE id = 1", vec![]);
    queue::lock(&mut pipeline, id);
    let rows = pipeline.add(format!("{QUEUE_ENTRIES} {which} ORDER BY r.position"), vec![id.into()]);
    let stored = pipeline.add(
        format!(
            "SELECT doc || jsonb_build_object('position', position) FROM request r WHERE is_open AND {which}"
        ),
        vec![id.into()],
    );
    let results = tx.send(pipeline).await?;
    let settings_version: i64 = results.first(settings_version).map_or(0, |row| row.get(0));
    let settings = CirculationSettings::at_least_within(tenant, &mut tx, settings_version).await?;
    let titles = settings.title_level_requests.enabled();
    if titles != (of == QueueKind::Instance) {
        let status = if titles { "ENABLED" } else { "DISABLED" };
        return Err(Refusal::new(format!(
            "Refuse to reorder request queue, TLR feature status is {status}."
        ))
        .with(key, id.to_string())
        .into());
    }
    let queue: Vec<QueueEntry> = results.rows(rows).iter().map(queue_entry).collect();
    if queue.is_empty() {
        return Err(Failure::NotFound(format!("{record} record with ID \"{id}\" cannot be found")));
    }
    let moves = reordered(&queue, &positions, of)?;
    let mut pipeline = Pipeline::new();
    queue::renumber(&mut pipeline, Some(id), &moves);
    for stored in results.documents(stored) {
        let Value::Object(stored) = stored.parse() else { continue };
        let moved = moves.iter().find(|(moved, _)| Some(*moved) == request::id(&stored, "id"));
        if let Some((_, position)) = moved {
            let entry = log::reordered(&stored, *position, call.caller.user_id);
            circulation_log::write(&mut pipeline, &entry, call.now);
        }
    }
    tx.send_and_commit(pipeline).await?;
    // The answer has the related records, which the reordering itself does not need.
    read::queue(tenant, tenant.writer().await?, of, id).await
}
