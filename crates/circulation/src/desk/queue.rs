//! The request queue of a scanned item: which request the item can fulfill, and how to lock a queue.
//!
//! Every transaction that changes open requests locks their queue by its row in `request_queue`, so that positions stay
//! 1..n under concurrent changes. Locks are taken in one order: patron, queue, items (by id), loans. Whether an item
//! has a queue is known only once it has been read: a scan locks the item first, and starts again with the queue locked
//! if there is one.

use crate::desk::{ItemAtDesk, Patron};
use crate::settings::CirculationSettings;
use carrel_circulation_rules::PolicyKind;
use carrel_loan_rules::request::{self, FulfillmentPreference, RequestLevel, RequestStatus, RequestType};
use carrel_loan_rules::request_queue::{self, PositionChanges, QueueEntry};
use carrel_platform::{Bind, Json, Pipeline, Tx};
use carrel_records::{Failure, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// SQL of the queue of an item in order of position, as a JSON array of `{request, requester, queue}`.
///
/// If title-level requests are enabled, the queue is that of the instance, otherwise that of the item.
pub fn sql(title_level: bool) -> &'static str {
    if title_level {
        "(SELECT jsonb_agg(jsonb_build_object('request', r.doc, 'requester', u.doc, 'queue', r.instance_id)
              ORDER BY r.position)
          FROM request r LEFT JOIN users u ON u.id = r.requester_id
          WHERE r.instance_id = holdings_record.instance_id AND r.is_open)"
    } else {
        "(SELECT jsonb_agg(jsonb_build_object('request', r.doc, 'requester', u.doc, 'queue', r.item_id)
              ORDER BY r.position)
          FROM request r LEFT JOIN users u ON u.id = r.requester_id
          WHERE r.item_id = item.id AND r.is_open AND coalesce(r.doc->>'requestLevel', 'Item') = 'Item')"
    }
}

/// SQL condition that there is such a queue, for the many items without one.
///
/// A scalar subquery with a limit is always evaluated for its row. PostgreSQL may evaluate `EXISTS` as a hashed subplan
/// instead, which reads every open request of the library if the statement has several rows.
pub fn exists_sql(title_level: bool) -> &'static str {
    if title_level {
        "(SELECT true FROM request r WHERE r.instance_id = holdings_record.instance_id AND r.is_open LIMIT 1)
             IS NOT NULL"
    } else {
        "(SELECT true FROM request r WHERE r.item_id = item.id AND r.is_open
             AND coalesce(r.doc->>'requestLevel', 'Item') = 'Item' LIMIT 1) IS NOT NULL"
    }
}

/// An open request.
#[derive(Debug, Clone)]
pub struct QueuedRequest {
    pub id: Uuid,
    /// The stored record, whole.
    pub document: Map<String, Value>,
    pub requester: Option<Patron>,
    /// The queue in which it was read.
    pub queue: Option<Uuid>,
}

/// Requests with new positions in their queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moves {
    pub queue: Option<Uuid>,
    pub positions: Vec<(Uuid, i64)>,
}

impl QueuedRequest {
    /// Text of a field; empty if absent.
    pub fn text(&self, key: &str) -> &str {
        self.document.get(key).and_then(Value::as_str).unwrap_or("")
    }
    pub fn id_at(&self, key: &str) -> Option<Uuid> {
        Uuid::parse_str(self.text(key)).ok()
    }
    pub fn status(&self) -> Option<RequestStatus> {
        request::status(&self.document)
    }
    pub fn kind(&self) -> Option<RequestType> {
        request::kind(&self.document)
    }
    pub fn is_hold(&self) -> bool {
        self.kind() == Some(RequestType::Hold)
    }
    pub fn is_recall(&self) -> bool {
        self.kind() == Some(RequestType::Recall)
    }
    pub fn is_not_yet_filled(&self) -> bool {
        self.status() == Some(RequestStatus::NotYetFilled)
    }
    pub fn is_title_level(&self) -> bool {
        request::level(&self.document) == Some(RequestLevel::Title)
    }
    pub fn item_id(&self) -> Option<Uuid> {
        self.id_at("itemId")
    }
    pub fn requester_id(&self) -> Option<Uuid> {
        self.id_at("requesterId")
    }
    pub fn requester_group(&self) -> Option<Uuid> {
        self.requester.as_ref().and_then(|requester| requester.patron_group)
    }
    pub fn pickup_service_point(&self) -> Option<Uuid> {
        self.id_at("pickupServicePointId")
    }
    pub fn fulfillment_preference(&self) -> Option<FulfillmentPreference> {
        FulfillmentPreference::parse_ignoring_case(self.text("fulfillmentPreference"))
    }
    pub fn wants_delivery(&self) -> bool {
        self.fulfillment_preference() == Some(FulfillmentPreference::Delivery)
    }
    /// Position in the queue from 1 on; 0 if it has none.
    pub fn position(&self) -> i64 {
        self.document.get("position").and_then(Value::as_i64).unwrap_or(0)
    }
}

/// Reads the value of [`sql`].
pub fn read(json: Option<Json>) -> Result<Vec<QueuedRequest>, Failure> {
    let Some(json) = json else { return Ok(Vec::new()) };
    let Value::Array(entries) = json.parse() else { return Ok(Vec::new()) };
    entries
        .into_iter()
        .map(|mut entry| {
            let requester = match entry["requester"].take() {
                Value::Null => None,
                user => Some(serde_json::from_value(user).map_err(|error| Failure::Internal {
                    context: "reading a requester".into(),
                    cause: Some(error.into()),
                })?),
            };
            let Value::Object(document) = entry["request"].take() else {
                return Err(Failure::internal("a stored request is an object"));
            };
            let id = document.get("id").and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok());
            let id = id.ok_or_else(|| Failure::internal("a stored request has an id"))?;
            let queue = entry["queue"].as_str().and_then(|id| Uuid::parse_str(id).ok());
            Ok(QueuedRequest { id, document, requester, queue })
        })
        .collect()
}

/// The first request that this item can fulfill at a check-in.
pub fn first_fulfillable<'a>(
    queue: &'a [QueuedRequest],
    item: &ItemAtDesk,
    settings: &CirculationSettings,
) -> Option<&'a QueuedRequest> {
    queue.iter().find(|request| {
        can_fulfill(request, item, || {
            let recall_waits = request.is_recall() && request.is_not_yet_filled();
            (recall_waits || is_free_for(request, item)) && is_eligible(request, item, settings)
        })
    })
}

/// The first request that this item can fulfill at a check-out: a recall only by the item that it recalls.
pub fn first_fulfillable_by_lending<'a>(
    queue: &'a [QueuedRequest],
    item: &ItemAtDesk,
    settings: &CirculationSettings,
) -> Option<&'a QueuedRequest> {
    queue.iter().find(|request| {
        can_fulfill(request, item, || match request.is_recall() {
            true => request.item_id() == Some(item.id),
            false => is_free_for(request, item) && is_eligible(request, item, settings),
        })
    })
}

/// An item-level request is fulfilled only by its item; a title-level one if `of_title` allows it.
fn can_fulfill(request: &QueuedRequest, item: &ItemAtDesk, of_title: impl FnOnce() -> bool) -> bool {
    request.fulfillment_preference().is_some()
        && if request.is_title_level() { of_title() } else { request.item_id() == Some(item.id) }
}

fn is_free_for(request: &QueuedRequest, item: &ItemAtDesk) -> bool {
    request.item_id().is_none_or(|wanted| wanted == item.id)
}

fn is_eligible(request: &QueuedRequest, item: &ItemAtDesk, settings: &CirculationSettings) -> bool {
    is_requestable(request, item, settings) && is_loanable(request, item, settings)
}

/// The requester's request policy allows requests of this type for the item.
fn is_requestable(request: &QueuedRequest, item: &ItemAtDesk, settings: &CirculationSettings) -> bool {
    let what = item.rule_inputs(request.requester_group());
    settings
        .matching(&what, PolicyKind::Request)
        .ok()
        .and_then(|matched| settings.request_policies.get(&matched.id).cloned())
        .and_then(|policy| policy.get("requestTypes").and_then(Value::as_array).cloned())
        .is_some_and(|kinds| kinds.iter().any(|kind| kind.as_str() == Some(request.text("requestType"))))
}

fn is_loanable(request: &QueuedRequest, item: &ItemAtDesk, settings: &CirculationSettings) -> bool {
    let what = item.rule_inputs(request.requester_group());
    settings
        .matching(&what, PolicyKind::Loan)
        .ok()
        .and_then(|matched| settings.loan_policies.get(&matched.id))
        .is_some_and(|policy| policy.is_loanable())
}

/// The queue of a request: that of the instance if title-level requests are enabled, otherwise that of the item.
pub fn id_of(title_level: bool, instance: Option<Uuid>, item: Option<Uuid>) -> Option<Uuid> {
    if title_level { instance } else { item }
}

/// The queue that a scan of the item changes. Requests for an item of another library may be in the queue of another
/// instance than the item's.
pub fn of_item(title_level: bool, item: &ItemAtDesk, queue: &[QueuedRequest]) -> Option<Uuid> {
    let promised = queue.first().filter(|_| item.is_of_another_library());
    let instance = promised.and_then(|request| request.id_at("instanceId")).or(item.instance_id);
    id_of(title_level, instance, Some(item.id))
}

/// Adds the requests for an item of another library under other instances to its queue.
pub async fn add_promised(
    tx: &mut Tx,
    item: &ItemAtDesk,
    queue: &mut Vec<QueuedRequest>,
) -> Result<(), Failure> {
    let rows = tx
        .query(
            "SELECT jsonb_agg(jsonb_build_object('request', r.doc, 'requester', u.doc, 'queue', r.instance_id)
                 ORDER BY r.position)
             FROM request r LEFT JOIN users u ON u.id = r.requester_id
             WHERE r.item_id = $1 AND r.is_open AND r.instance_id IS DISTINCT FROM $2",
            vec![item.id.into(), item.instance_id.into()],
        )
        .await?;
    let mut promised = read(rows.first().and_then(|row| row.get(0)))?;
    promised.append(queue);
    *queue = promised;
    Ok(())
}

/// Adds the statement that locks a queue until the end of the transaction.
pub fn lock(pipeline: &mut Pipeline, queue: Uuid) {
    lock_selected(pipeline, "SELECT $1::uuid", vec![queue.into()]);
}

/// SQL that locks the queues of the rows `wanted`, which are ids in ascending order. It inserts a queue's row, or locks
/// the existing one: PostgreSQL locks it even if the condition of the update is false.
pub const LOCK_WANTED: &str = "INSERT INTO request_queue (id) SELECT id FROM wanted
     ON CONFLICT (id) DO UPDATE SET id = excluded.id WHERE false";

/// Adds the statement that locks the queues whose ids a SELECT returns, in the order of their ids, as every transaction
/// with several queues does; its rows are the ids as selected before any waiting for locks.
pub fn lock_selected(pipeline: &mut Pipeline, which: &str, binds: Vec<Bind>) -> usize {
    pipeline.add(
        format!(
            "WITH wanted AS MATERIALIZED (
                 SELECT DISTINCT q.id FROM ({which}) q (id) WHERE q.id IS NOT NULL ORDER BY q.id),
             held AS ({LOCK_WANTED})
             SELECT id FROM wanted"
        ),
        binds,
    )
}

/// Adds the statements that close a request, which leaves its queue, and announce it.
pub fn close(pipeline: &mut Pipeline, tenant: &str, request: Uuid, status: RequestStatus, now: Timestamp) {
    const CLOSED: &str = "jsonb_set(jsonb_set(doc - 'position', '{status}', to_jsonb($2::text)),
             '{metadata,updatedDate}', to_jsonb($3::text))";
    let when = time::format(now);
    // Read before it is changed: the event contains the old record.
    pipeline.add(
        format!(
            "INSERT INTO outbox (topic, key, payload, created)
             SELECT 'circulation.request', id::text,
                 json_build_object('type', 'UPDATE', 'tenant', $4::text, 'old', doc, 'new', {CLOSED}), $5
             FROM request WHERE id = $1"
        ),
        vec![request.into(), status.as_str().into(), when.as_str().into(), tenant.into(), now.into()],
    );
    pipeline.add(
        format!("UPDATE request SET doc = {CLOSED} WHERE id = $1"),
        vec![request.into(), status.as_str().into(), when.into()],
    );
}

/// The new positions, from 1 on, when a request moves ahead of all unfilled requests.
pub fn ahead_of_those_waiting(queue: &[QueuedRequest], request: Uuid) -> Moves {
    moves(queue, request_queue::ahead_of_unfilled(&entries(queue), request))
}

/// The new positions, from 1 on, when a request leaves the queue.
pub fn without(queue: &[QueuedRequest], request: Uuid) -> Moves {
    moves(queue, request_queue::without(&entries(queue), request))
}

/// The queue as input of the rules for positions.
fn entries(queue: &[QueuedRequest]) -> Vec<QueueEntry> {
    let entry = |request: &QueuedRequest| QueueEntry {
        id: request.id,
        position: request.document.get("position").and_then(Value::as_i64),
        item_id: request.item_id(),
        requester_id: request.requester_id(),
        kind: request.kind(),
        status: request.status(),
        is_title_level: request.is_title_level(),
    };
    queue.iter().map(entry).collect()
}

fn moves(queue: &[QueuedRequest], positions: PositionChanges) -> Moves {
    let first = positions.iter().find(|(_, position)| *position == 1).map(|(id, _)| *id);
    let first = queue.iter().find(|request| first.is_none_or(|first| request.id == first));
    Moves { queue: first.and_then(|request| request.queue), positions }
}

/// Adds the statement that sets new positions of requests of a queue, all at once.
///
/// It also sets the queue, since a request placed in an item's queue belongs to that of its instance once title-level
/// requests are enabled.
pub fn renumber(pipeline: &mut Pipeline, queue: Option<Uuid>, positions: &[(Uuid, i64)]) {
    if positions.is_empty() {
        return;
    }
    let ids: Vec<Uuid> = positions.iter().map(|(id, _)| *id).collect();
    let numbers: Vec<String> = positions.iter().map(|(_, position)| position.to_string()).collect();
    pipeline.add(
        "UPDATE request SET doc = jsonb_set(doc, '{position}', moved.position::jsonb),
             queue_id = coalesce($3, queue_id)
         FROM unnest($1::uuid[], $2::text[]) AS moved (id, position)
         WHERE request.id = moved.id AND request.id = ANY ($1::uuid[])",
        vec![ids.into(), numbers.into(), queue.into()],
    );
}

/// [`renumber`] for moves in the queue of a scanned item.
pub fn write(pipeline: &mut Pipeline, moves: &Moves) {
    renumber(pipeline, moves.queue, &moves.positions);
}
