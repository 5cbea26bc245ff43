//! How far a program outside has been given the events of a tenant. One node at a time reads for it: it holds a lease that
//! it renews with each position it stores, and another node takes over when the lease of a node that died ends. What was
//! sent since the last stored position is sent again.

use crate::tenant::Tenant;
use carrel_records::Failure;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

/// A node that does not renew its lease for this long loses it.
pub const LEASE: SignedDuration = SignedDuration::from_secs(45);

/// The time until the next attempt after so many failed ones: one second, doubled each time, at most `longest` seconds.
pub fn pause(attempts: i32, longest: i64) -> SignedDuration {
    let doublings = attempts.saturating_sub(1).clamp(0, 20);
    SignedDuration::from_secs((1_i64 << doublings).min(longest))
}

/// What this node goes on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The number of the last event that is sent.
    pub position: i64,
    /// Failed attempts since the last success.
    pub attempts: i32,
}

/// A failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Failed attempts since the last success, with this one.
    pub number: i32,
    pub error: String,
    /// No node tries again before.
    pub next: Timestamp,
}

/// Takes the reader's lease where events up to `settled` are still to be sent, an attempt is due and no other node holds it.
pub async fn take(
    tenant: &Tenant,
    reader: &str,
    node: Uuid,
    settled: i64,
    now: Timestamp,
) -> Result<Option<Taken>, Failure> {
    let rows = tenant
        .writer()
        .await?
        .query(
            "INSERT INTO outbox_reader AS reader (name, lease, leased_until) VALUES ($1, $2, $3)
             ON CONFLICT (name) DO UPDATE SET lease = $2, leased_until = $3
             WHERE reader.position < $4 AND reader.next_attempt <= $5
                 AND (reader.leased_until IS NULL OR reader.leased_until < $5)
             RETURNING position, attempts",
            vec![reader.into(), node.into(), (now + LEASE).into(), settled.into(), now.into()],
        )
        .await?;
    Ok(rows.first().map(|row| Taken { position: row.get("position"), attempts: row.get("attempts") }))
}

/// Stores the position and renews the lease; false where another node has taken it meanwhile.
pub async fn renew(
    tenant: &Tenant,
    reader: &str,
    node: Uuid,
    position: i64,
    now: Timestamp,
) -> Result<bool, Failure> {
    store(tenant, reader, node, position, None, Some(now + LEASE)).await
}

/// Stores the position and gives the lease back, after a failed attempt or without one.
pub async fn release(
    tenant: &Tenant,
    reader: &str,
    node: Uuid,
    position: i64,
    failed: Option<&Attempt>,
) -> Result<bool, Failure> {
    store(tenant, reader, node, position, failed, None).await
}

/// Readers that had not been given all events when the oldest ones were deleted, with their positions.
pub async fn late(tenant: &Tenant) -> Result<Vec<(String, i64)>, Failure> {
    let rows = tenant
        .writer()
        .await?
        .query(
            "SELECT name, position FROM outbox_reader
             WHERE position < (SELECT id FROM outbox ORDER BY id LIMIT 1) - 1 ORDER BY name",
            vec![],
        )
        .await?;
    Ok(rows.iter().map(|row| (row.get("name"), row.get("position"))).collect())
}

async fn store(
    tenant: &Tenant,
    reader: &str,
    node: Uuid,
    position: i64,
    failed: Option<&Attempt>,
    leased_until: Option<Timestamp>,
) -> Result<bool, Failure> {
    let rows = tenant
        .writer()
        .await?
        .query(
            "UPDATE outbox_reader SET position = $3, attempts = $4,
                 next_attempt = coalesce($5::timestamptz, '-infinity'), last_error = $6, leased_until = $7
             WHERE name = $1 AND lease = $2 AND leased_until IS NOT NULL RETURNING name",
            vec![
                reader.into(),
                node.into(),
                position.into(),
                i64::from(failed.map_or(0, |attempt| attempt.number)).into(),
                failed.map(|attempt| attempt.next).into(),
                failed.map(|attempt| attempt.error.clone()).into(),
                leased_until.into(),
            ],
        )
        .await?;
    Ok(!rows.is_empty())
}
