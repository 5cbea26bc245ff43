//! Subscriptions in the database: the node that delivers each, and its position.

use crate::history::{self, Message, State};
use carrel_platform::{Pipeline, Tenant};
use carrel_records::Failure;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

/// A node that does not renew its lease for this long has lost the subscription.
pub const LEASE: SignedDuration = SignedDuration::from_secs(45);
/// Subscriptions of a tenant that a node delivers at the same time, at most.
const CONCURRENT: i64 = 16;

/// A subscription that this node delivers.
#[derive(Debug, Clone)]
pub struct Subscription {
    pub id: Uuid,
    pub event_type: String,
    pub module: String,
    pub callback: String,
    pub position: i64,
    pub attempts: i32,
}

/// What is stored of a run: its position, its failures, and messages for the history.
#[derive(Debug, Default)]
pub struct Progress {
    pub messages: Vec<(Message, State, Option<String>)>,
    pub last_error: Option<String>,
    pub next_attempt: Option<Timestamp>,
    /// The run is over; another node may take the subscription.
    pub ends: bool,
}

/// Whether the tenant has subscribers.
pub async fn has_subscribers(tenant: &Tenant) -> Result<bool, Failure> {
    let rows = tenant
        .writer()
        .await?
        .query("SELECT 1 FROM pubsub_module WHERE role = 'SUBSCRIBER' LIMIT 1", vec![])
        .await?;
    Ok(!rows.is_empty())
}

/// Takes the subscriptions that lag behind `settled`, are due, and are not delivered by another node.
pub async fn take(
    tenant: &Tenant,
    node: Uuid,
    settled: i64,
    now: Timestamp,
) -> Result<Vec<Subscription>, Failure> {
    let mut pipeline = Pipeline::new();
    let taken = pipeline.add(
        "UPDATE pubsub_module SET lease = $1, leased_until = $3 WHERE id IN (
             SELECT id FROM pubsub_module WHERE role = 'SUBSCRIBER' AND position < $2 AND next_attempt <= $4
                 AND (leased_until IS NULL OR leased_until < $4)
             ORDER BY next_attempt, id LIMIT $5::bigint FOR UPDATE SKIP LOCKED)
         RETURNING id, event_type, module_id, callback, position, attempts",
        vec![node.into(), settled.into(), (now + LEASE).into(), now.into(), CONCURRENT.into()],
    );
    let results = tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(results
        .rows(taken)
        .iter()
        .map(|row| Subscription {
            id: row.get("id"),
            event_type: row.get("event_type"),
            module: row.get("module_id"),
            callback: row.get::<_, Option<String>>("callback").unwrap_or_default(),
            position: row.get("position"),
            attempts: row.get("attempts"),
        })
        .collect())
}

/// Stores the position of the subscription; false if this node has lost it.
pub async fn store(
    tenant: &Tenant,
    node: Uuid,
    subscription: &Subscription,
    progress: &Progress,
    now: Timestamp,
) -> Result<bool, Failure> {
    let mut tx = tenant.begin().await?;
    let until = (!progress.ends).then_some(now + LEASE);
    let rows = tx
        .query(
            "UPDATE pubsub_module SET position = $3, attempts = $4, next_attempt = coalesce($5::timestamptz, '-infinity'),
                 last_error = $6, leased_until = $7
             WHERE id = $1 AND lease = $2 AND leased_until IS NOT NULL RETURNING id",
            vec![
                subscription.id.into(),
                node.into(),
                subscription.position.into(),
                i64::from(subscription.attempts).into(),
                progress.next_attempt.into(),
                progress.last_error.clone().into(),
                until.into(),
            ],
        )
        .await?;
    if rows.is_empty() {
        return Ok(false);
    }
    let mut pipeline = Pipeline::new();
    for (message, state, error) in &progress.messages {
        history::write(&mut pipeline, message, *state, error.as_deref(), now);
    }
    tx.send_and_commit(pipeline).await?;
    Ok(true)
}
