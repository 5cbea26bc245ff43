//! Expires requests: a request past its expiration date is closed unfilled, one past its hold shelf expiration date as
//! pickup expired. The following requests move up; the item stays unchanged until staff scan it, and the hold shelf
//! clearance report lists it.
//!
//! Routes: `POST /scheduled-request-expiration`; the job `request-expiration` does the same every two minutes. Changes
//! requests, a queue at a time; announces `circulation.request`.

use super::change::note_end_of_pickup;
use super::lock::{QUEUE_ENTRIES, queue_entry};
use super::log;
use carrel_audit::circulation_log;
use carrel_circulation::desk::queue;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{self, RequestStatus};
use carrel_loan_rules::request_queue::{QueueEntry, renumbered};
use carrel_platform::jobs::Job;
use carrel_platform::{Answer, Bind, Event, Json, Pipeline, Router, Tenant, outbox};
use carrel_records::{Failure, metadata};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Expires requests.
pub static EXPIRY: Job = Job {
    name: "request-expiration",
    every: Duration::from_secs(120),
    deadline: Duration::from_secs(600),
    run: |run| {
        Box::pin(async move {
            let closed = expire(&run.tenant, Timestamp::now()).await?;
            Ok(format!("{closed} requests closed"))
        })
    },
};

pub fn connect(router: &mut Router) {
    router.on("POST", "/scheduled-request-expiration", |call| async move {
        expire(call.tenant()?, call.now).await?;
        Ok(Answer::no_content())
    });
}

/// When an open request expires: on the hold shelf by its hold shelf expiration date, otherwise by its request
/// expiration date. An index in `tables.sql` has the same expression.
const ENDS: &str = "carrel.instant(CASE WHEN doc->>'status' = 'Open - Awaiting pickup' \
     THEN doc->>'holdShelfExpirationDate' ELSE doc->>'requestExpirationDate' END)";

/// At most this many requests are read at once.
const PAGE: i64 = 500;

/// Closes expired requests; returns their number.
pub async fn expire(tenant: &Arc<Tenant>, now: Timestamp) -> Result<usize, Failure> {
    let mut closed = 0;
    let mut seen = HashSet::new();
    loop {
        let settings = CirculationSettings::of(tenant).await?;
        let titles = settings.title_level_requests.enabled();
        let rows = tenant
            .writer()
            .await?
            .query(
                format!(
                    "SELECT id, instance_id, item_id FROM request WHERE is_open AND {ENDS} < $1
                     ORDER BY {ENDS} LIMIT $2"
                ),
                vec![now.into(), PAGE.into()],
            )
            .await?;
        let mut places = Vec::new();
        for row in &rows {
            let (id, instance, item): (Uuid, Option<Uuid>, Option<Uuid>) =
                (row.get(0), row.get(1), row.get(2));
            let place = match queue::id_of(titles, instance, item) {
                Some(queue) => QueueScope::Queue(queue),
                None => QueueScope::Alone(id),
            };
            // A request that could not be closed is left for the next run.
            if seen.insert(place) {
                places.push(place);
            }
        }
        if places.is_empty() {
            return Ok(closed);
        }
        for place in places {
            closed += expire_in(tenant, place, titles, now).await?;
        }
    }
}

/// The queue of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum QueueScope {
    Queue(Uuid),
    /// In no queue: a title-level request although title-level requests are disabled.
    Alone(Uuid),
}

/// Closes the expired requests of one queue in a separate transaction, so that locks are short.
async fn expire_in(
    tenant: &Arc<Tenant>,
    place: QueueScope,
    titles: bool,
    now: Timestamp,
) -> Result<usize, Failure> {
    let (which, key) = match place {
        QueueScope::Queue(queue) if titles => ("r.instance_id = $1", queue),
        QueueScope::Queue(queue) => {
            ("r.item_id = $1 AND coalesce(r.doc->>'requestLevel', 'Item') = 'Item'", queue)
        }
        QueueScope::Alone(request) => ("r.id = $1", request),
    };
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    if let QueueScope::Queue(queue) = place {
        queue::lock(&mut pipeline, queue);
    }
    let rows = pipeline.add(format!("{QUEUE_ENTRIES} {which} ORDER BY r.position"), vec![key.into()]);
    let gone = pipeline.add(
        format!("SELECT doc FROM request r WHERE is_open AND {which} AND {ENDS} < $2 ORDER BY r.position FOR NO KEY UPDATE"),
        vec![key.into(), now.into()],
    );
    let results = tx.send(pipeline).await?;
    let queue: Vec<QueueEntry> = results.rows(rows).iter().map(queue_entry).collect();
    let closings: Vec<Closing> =
        results.documents(gone).iter().filter_map(|stored| closing(stored, now)).collect();
    if closings.is_empty() {
        return Ok(0);
    }
    let stays = queue.iter().filter(|request| closings.iter().all(|closing| closing.id != request.id));
    let moves = renumbered(stays);

    let mut pipeline = Pipeline::new();
    let ids: Vec<Uuid> = closings.iter().map(|closing| closing.id).collect();
    let texts: Vec<String> = closings.iter().map(|closing| closing.after.to_string()).collect();
    pipeline.add(
        "UPDATE request SET doc = closed.doc::jsonb FROM unnest($1::uuid[], $2::text[]) AS closed (id, doc)
         WHERE request.id = closed.id",
        vec![ids.into(), Bind::Jsons(texts.clone())],
    );
    for (closing, text) in closings.iter().zip(&texts) {
        let event = Event::updated(&tenant.id, &closing.before.0, text).because("expiration");
        let (id, event) = (closing.id.to_string(), event.to_string());
        outbox::announce(&mut pipeline, "circulation.request", id, event, now);
        if let (Value::Object(before), Value::Object(after)) = (closing.before.parse(), &closing.after) {
            circulation_log::write(&mut pipeline, &log::expired(&before, after), now);
        }
    }
    if let QueueScope::Queue(queue) = place {
        queue::renumber(&mut pipeline, Some(queue), &moves);
    }
    tx.send_and_commit(pipeline).await?;
    Ok(closings.len())
}

/// A request before and after it expires.
struct Closing {
    id: Uuid,
    before: Json,
    after: Value,
}

fn closing(stored: &Json, now: Timestamp) -> Option<Closing> {
    let Value::Object(before) = stored.parse() else { return None };
    let id = request::id(&before, "id")?;
    Some(Closing { id, before: stored.clone(), after: Value::Object(closed(&before, now)) })
}

/// The expired request.
fn closed(stored: &Map<String, Value>, now: Timestamp) -> Map<String, Value> {
    let mut after = stored.clone();
    let status = match request::status(stored) {
        Some(RequestStatus::AwaitingPickup) => RequestStatus::PickupExpired,
        _ => RequestStatus::Unfilled,
    };
    after.insert("status".into(), status.into());
    after.remove("position");
    note_end_of_pickup(stored, &mut after, now);
    if let Some(metadata) = after.get_mut("metadata") {
        metadata::change(metadata, None, now);
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn after(status: &str) -> Map<String, Value> {
        let stored = json!({"status": status, "position": 2, "metadata": {"createdDate": "2026-01-01"}});
        closed(stored.as_object().expect("an object"), Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn what_waits_on_the_hold_shelf_too_long_is_pickup_expired() {
        let after = after("Open - Awaiting pickup");
        assert_eq!(after["status"], "Closed - Pickup expired");
        assert_eq!(after["awaitingPickupRequestClosedDate"], "1970-01-01T00:00:00.000+00:00");
    }

    #[test]
    fn every_other_request_ends_unfilled() {
        for status in ["Open - Not yet filled", "Open - In transit", "Open - Awaiting delivery"] {
            let after = after(status);
            assert_eq!(after["status"], "Closed - Unfilled", "{status}");
            assert!(!after.contains_key("awaitingPickupRequestClosedDate"));
        }
    }

    #[test]
    fn a_request_that_ends_leaves_its_queue() {
        assert!(!after("Open - Not yet filled").contains_key("position"));
    }
}
