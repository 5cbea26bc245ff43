//! Idempotency keys of scans: a client that got no answer sends its check-out or check-in again with the same
//! `Idempotency-Key`, and the action takes effect once.
//!
//! The transaction of the scan inserts the key with the answer; the primary key refuses a second one, even if two
//! clients send the scan at the same time. The key of a refused scan is not stored. Keys are deleted after
//! [`KEPT_DAYS`] days, and with the anonymization of their loan. Scans without a key read and write nothing here.

use carrel_platform::batch_deletion::delete_in_batches;
use carrel_platform::jobs::Job;
use carrel_platform::{Bind, Call, Json, Pipeline, Tenant};
use carrel_records::{Failure, Refusal, RefusalCode, json_text};
use jiff::{Timestamp, ToSpan};
use serde_json::Value;
use std::time::Duration;
use uuid::Uuid;

/// Days after which a key may be reused.
const KEPT_DAYS: i64 = 14;

/// Deletes old keys.
pub static EXPIRY: Job = Job {
    name: "idempotency-key-expiration",
    every: Duration::from_secs(86_400),
    deadline: Duration::from_secs(600),
    run: |run| {
        Box::pin(async move {
            let before = Timestamp::now() - (KEPT_DAYS * 24).hours();
            let delete = "DELETE FROM idempotency_key WHERE id IN (
                     SELECT id FROM idempotency_key WHERE created < $1 LIMIT $2::bigint)";
            let deleted = delete_in_batches(&run.tenant, delete, vec![before.into()]).await?;
            Ok(format!("{deleted} keys deleted"))
        })
    },
};

/// The key of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub id: Uuid,
    /// The action, to distinguish a repetition from another scan.
    pub action: String,
}

impl IdempotencyKey {
    /// The key of a call, with or without quotation marks; one that is not a UUID is refused.
    pub fn of(call: &Call, action: String) -> Result<Option<IdempotencyKey>, Failure> {
        let Some(text) = call.header("Idempotency-Key") else { return Ok(None) };
        match Uuid::parse_str(text.trim().trim_matches('"')) {
            Ok(id) => Ok(Some(IdempotencyKey { id, action })),
            Err(_) => Err(Failure::Invalid("Idempotency-Key must be a UUID".into())),
        }
    }
}

/// Adds the statement that stores the answer of a scan.
pub fn keep(
    pipeline: &mut Pipeline,
    key: &IdempotencyKey,
    loan: Option<Uuid>,
    answer: &Value,
    now: Timestamp,
) {
    pipeline.add(
        "INSERT INTO idempotency_key (id, action, loan_id, answer, created) VALUES ($1, $2, $3, $4::jsonb, $5)",
        vec![
            key.id.into(),
            key.action.clone().into(),
            loan.into(),
            Bind::Json(json_text(answer)),
            now.into(),
        ],
    );
}

/// Acts once per key, and returns the stored answer to later calls.
pub async fn once<Acting>(
    tenant: &Tenant,
    key: Option<&IdempotencyKey>,
    act: impl FnOnce() -> Acting,
) -> Result<Value, Failure>
where
    Acting: Future<Output = Result<Value, Failure>>,
{
    let Some(key) = key else { return act().await };
    if let Some(answer) = find(tenant, key).await? {
        return Ok(answer);
    }
    match act().await {
        Ok(answer) => Ok(answer),
        // Another call may have committed the same scan since.
        Err(failure) => Ok(find(tenant, key).await.ok().flatten().ok_or(failure)?),
    }
}

async fn find(tenant: &Tenant, key: &IdempotencyKey) -> Result<Option<Value>, Failure> {
    let sql = "SELECT action, answer FROM idempotency_key WHERE id = $1";
    let rows = tenant.writer().await?.query(sql, vec![key.id.into()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    if row.get::<_, String>("action") != key.action {
        let refusal = Refusal::new("The idempotency key was used for another scan")
            .with("idempotencyKey", key.id.to_string())
            .code(RefusalCode::IdempotencyKeyReused);
        return Err(refusal.into());
    }
    Ok(Some(row.get::<_, Json>("answer").parse()))
}
