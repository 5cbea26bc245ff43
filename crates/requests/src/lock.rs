//! Locks a request for a change: locks its queue and its items, then reads everything that the change depends on, in
//! one round trip.

use super::candidate::{CANDIDATES, Candidate, candidate};
use carrel_circulation::desk::item::{TITLE, Title};
use carrel_circulation::desk::{ItemAtDesk, Patron, queue};
use carrel_circulation::records::loans::OPEN;
use carrel_circulation::request_snapshot::Related;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{self, RequestLevel, RequestStatus, RequestType};
use carrel_loan_rules::request_queue::QueueEntry;
use carrel_platform::{Bind, Json, Pipeline, Tenant, Tx};
use carrel_records::{Failure, Refusal, RefusalCode};
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio_postgres::Row;
use uuid::Uuid;

/// The request to lock, and the records that its new version refers to.
#[derive(Debug, Clone, Default)]
pub struct LockQuery {
    pub request: Uuid,
    /// An item in addition to that of the stored request.
    pub item: Option<Uuid>,
    /// Instance, requester and proxy of a new version; `None` uses those of the stored request.
    pub named: Option<NewReferences>,
}

/// The records that a new version refers to.
#[derive(Debug, Clone, Default)]
pub struct NewReferences {
    pub instance: Option<Uuid>,
    pub requester: Option<Uuid>,
    pub proxy: Option<Uuid>,
}

/// A locked request with everything that a change of it depends on.
pub struct LockedRequest {
    pub stored: Map<String, Value>,
    pub title: Option<Title>,
    pub requester: Option<Patron>,
    pub proxy: Option<Patron>,
    pub proxy_relations: Vec<Value>,
    /// The items of the stored request and of the new version, with their loans.
    pub items: Vec<Candidate>,
    /// The queue of the request, and with item-level queues that of the other item.
    pub queue: Vec<QueueEntry>,
    pub other_queue: Vec<QueueEntry>,
}

impl LockedRequest {
    /// The item with this id, if the stored request or the new version refers to it.
    pub fn item(&self, id: Option<Uuid>) -> Option<&Candidate> {
        self.items.iter().find(|candidate| Some(candidate.item.id) == id)
    }
    /// The queue of the stored request.
    pub fn queue_id(&self, settings: &CirculationSettings) -> Option<Uuid> {
        queue::id_of(
            settings.title_level_requests.enabled(),
            request::id(&self.stored, "instanceId"),
            self.stored_item(),
        )
    }
    /// The item of the stored request.
    pub fn stored_item(&self) -> Option<Uuid> {
        request::id(&self.stored, "itemId")
    }
    /// The related records that a new version has snapshots of.
    pub fn related<'a>(&'a self, item: Option<&'a ItemAtDesk>) -> Related<'a> {
        Related {
            item,
            title: self.title.as_ref(),
            requester: self.requester.as_ref(),
            proxy: self.proxy.as_ref(),
        }
    }
    /// A closed request cannot be reopened.
    pub fn refuse_if_closed(&self, id: Uuid) -> Result<(), Refusal> {
        if !request::status(&self.stored).is_some_and(RequestStatus::is_closed) {
            return Ok(());
        }
        Err(Refusal::new("The Request has already been closed")
            .with("id", id.to_string())
            .code(RefusalCode::RequestAlreadyClosed))
    }
}

/// Locks the request; `None` if there is none.
pub async fn lock_request(
    tenant: &Arc<Tenant>,
    wanted: &LockQuery,
) -> Result<Option<(Tx, LockedRequest, Arc<CirculationSettings>)>, Failure> {
    let mut cached = CirculationSettings::cached(tenant).await?;
    loop {
        let title_level = cached.settings.title_level_requests.enabled();
        let mut tx = tenant.begin().await?;
        let (pipeline, steps) = lock_and_read(wanted, title_level);
        let results = tx.send(pipeline).await?;
        let Some(row) = results.first(steps.facts) else { return Ok(None) };
        cached.refresh(tenant, &mut tx, row).await?;
        if cached.settings.title_level_requests.enabled() != title_level {
            continue;
        }
        let read = read(row, results.rows(steps.queue), results.rows(steps.items), title_level)?;
        let queue = queue::id_of(title_level, request::id(&read.stored, "instanceId"), read.stored_item());
        // Another transaction moved the request to another queue while this one waited for the lock.
        if queue
            .is_some_and(|queue| !results.rows(steps.queues).iter().any(|row| row.get::<_, Uuid>(0) == queue))
        {
            continue;
        }
        return Ok(Some((tx, read, cached.settings)));
    }
}

/// The statements of [`lock_request`] whose rows are read.
struct Steps {
    /// The queues that are locked.
    queues: usize,
    facts: usize,
    queue: usize,
    items: usize,
}

/// The statements that lock the request with its queue, items and loan, and read them.
fn lock_and_read(wanted: &LockQuery, title_level: bool) -> (Pipeline, Steps) {
    let mut pipeline = Pipeline::new();
    let (request, item): (Bind, Bind) = (wanted.request.into(), wanted.item.into());
    let which = if title_level {
        "SELECT instance_id FROM request WHERE id = $1"
    } else {
        "SELECT item_id FROM request WHERE id = $1 UNION SELECT $2::uuid"
    };
    let queues = |more: Vec<Bind>| if title_level { vec![request.clone()] } else { more };
    let queues_held = queue::lock_selected(&mut pipeline, which, queues(vec![request.clone(), item.clone()]));
    pipeline.add(
        "SELECT 1 FROM item_state WHERE item_id IN (SELECT item_id FROM request WHERE id = $1 UNION SELECT $2::uuid)
         ORDER BY item_id FOR NO KEY UPDATE",
        vec![request.clone(), item.clone()],
    );
    if wanted.item.is_some() {
        // Moving a recall shortens the loan of its new item.
        pipeline.add(
            format!("SELECT 1 FROM loan WHERE item_id = $1 AND {OPEN} FOR NO KEY UPDATE"),
            vec![item.clone()],
        );
    }
    let named = wanted.named.clone().unwrap_or_default();
    let facts = pipeline.add(
        format!(
            "SELECT (SELECT value FROM settings_version WHERE id = 1), r.doc, {TITLE}, requester.doc, proxy.doc,
                (SELECT jsonb_agg(p.doc) FROM proxyfor p
                  WHERE p.user_id = requester.id AND p.proxy_user_id = proxy.id)
             FROM request r
             LEFT JOIN instance ON instance.id = CASE WHEN $2 THEN $3 ELSE r.instance_id END
             LEFT JOIN users requester ON requester.id = CASE WHEN $2 THEN $4 ELSE r.requester_id END
             LEFT JOIN users proxy ON proxy.id = CASE WHEN $2 THEN $5 ELSE (r.doc->>'proxyUserId')::uuid END
             WHERE r.id = $1"
        ),
        vec![
            request.clone(),
            wanted.named.is_some().into(),
            named.instance.into(),
            named.requester.into(),
            named.proxy.into(),
        ],
    );
    let queue_entry = pipeline.add(
        if title_level {
            format!(
                "{QUEUE_ENTRIES} r.instance_id = (SELECT instance_id FROM request WHERE id = $1) ORDER BY r.position"
            )
        } else {
            format!(
                "{QUEUE_ENTRIES} coalesce(r.doc->>'requestLevel', 'Item') = 'Item' AND
                 r.item_id IN (SELECT item_id FROM request WHERE id = $1 UNION SELECT $2::uuid)
                 ORDER BY r.position"
            )
        },
        queues(vec![request.clone(), item.clone()]),
    );
    let items = pipeline.add(
        format!(
            "{} WHERE item.id IN (SELECT item_id FROM request WHERE id = $1 UNION SELECT $2::uuid)",
            CANDIDATES.as_str()
        ),
        vec![request, item],
    );
    (pipeline, Steps { queues: queues_held, facts, queue: queue_entry, items })
}

/// Selects queue entries; the caller appends the condition.
pub const QUEUE_ENTRIES: &str = "SELECT r.id, r.position, r.item_id, r.requester_id, r.doc->>'requestType', \
     r.doc->>'status', r.doc->>'requestLevel' FROM request r WHERE r.is_open AND";

/// Reads a row of [`QUEUE_ENTRIES`].
pub fn queue_entry(row: &Row) -> QueueEntry {
    let text = |place: usize| row.get::<_, Option<String>>(place).unwrap_or_default();
    QueueEntry {
        id: row.get(0),
        position: row.get::<_, Option<i32>>(1).map(Into::into),
        item_id: row.get(2),
        requester_id: row.get(3),
        kind: RequestType::parse_ignoring_case(&text(4)),
        status: RequestStatus::parse(&text(5)),
        is_title_level: RequestLevel::parse(&text(6)) == Some(RequestLevel::Title),
    }
}

fn read(row: &Row, queue: &[Row], items: &[Row], title_level: bool) -> Result<LockedRequest, Failure> {
    let Value::Object(stored) = row.get::<_, Json>(1).parse() else {
        return Err(Failure::internal("a stored request is an object"));
    };
    let title = Title::at(row, 2)?;
    let own_item = request::id(&stored, "itemId");
    let (queue, other_queue) = queue
        .iter()
        .map(queue_entry)
        .partition(|request| title_level || request.item_id.is_some() && request.item_id == own_item);
    Ok(LockedRequest {
        requester: Patron::at(row, 3)?,
        proxy: Patron::at(row, 4)?,
        proxy_relations: Json::elements(row.get(5)),
        items: items
            .iter()
            .filter_map(|row| candidate(row, title.as_ref()).transpose())
            .collect::<Result<_, Failure>>()?,
        queue,
        other_queue,
        title,
        stored,
    })
}
