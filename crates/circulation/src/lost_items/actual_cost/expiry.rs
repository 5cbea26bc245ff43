//! Expiry: an actual cost that was not billed within the policy's time can no longer be billed.

use crate::loans::find::{LOCK_ITEM_OF_LOAN, LOCK_LOAN};
use crate::lost_items::closing::{Settled, close_if_settled};
use crate::records::loans::ACTUAL_COST_RECORD;
use carrel_platform::http::Caller;
use carrel_platform::jobs::Job;
use carrel_platform::record_store::write;
use carrel_platform::{Answer, Json, Pipeline, Router, Tenant};
use carrel_records::{Failure, time};
use jiff::Timestamp;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Expires actual cost records.
pub static EXPIRY: Job = Job {
    name: "actual-cost-expiration",
    every: Duration::from_secs(20 * 60),
    deadline: Duration::from_secs(15 * 60),
    run: |run| {
        Box::pin(async move {
            let expired = expire(&run.tenant, Timestamp::now()).await?;
            Ok(format!("{expired} actual cost records expired"))
        })
    },
};

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/actual-cost-expiration-by-timeout", |call| async move {
        expire(call.tenant()?, call.now).await?;
        Ok::<_, Failure>(Answer::no_content())
    });
}

/// At most this many records are read at once.
const PAGE: i64 = 500;

/// Open records whose time is over, those that expired first come first; an index in `tables.sql` has the same
/// condition.
const EXPIRED: &str = "SELECT id, loan_id FROM actual_cost_record
     WHERE doc->>'status' = 'Open' AND carrel.instant(doc->>'expirationDate') < $1
     ORDER BY carrel.instant(doc->>'expirationDate'), id LIMIT $2";

/// Expires records, each in a separate transaction; returns their number.
pub async fn expire(tenant: &Arc<Tenant>, now: Timestamp) -> Result<usize, Failure> {
    let mut expired = 0;
    loop {
        let rows = tenant.writer().await?.query(EXPIRED, vec![now.into(), PAGE.into()]).await?;
        let mut done = 0;
        for row in &rows {
            done += usize::from(expire_record(tenant, row.get("id"), row.get("loan_id"), now).await?);
        }
        expired += done;
        // Records that could not be expired are left for the next run.
        if done == 0 || rows.len() < PAGE as usize {
            return Ok(expired);
        }
    }
}

async fn expire_record(
    tenant: &Arc<Tenant>,
    id: Uuid,
    loan: Option<Uuid>,
    now: Timestamp,
) -> Result<bool, Failure> {
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    pipeline.add(LOCK_ITEM_OF_LOAN, vec![loan.into()]);
    pipeline.add(LOCK_LOAN, vec![loan.into()]);
    let record =
        pipeline.add("SELECT doc FROM actual_cost_record WHERE id = $1 FOR NO KEY UPDATE", vec![id.into()]);
    let results = tx.send(pipeline).await?;
    let stored = results.document(record).map(|record: Json| record.parse());
    let Some(Value::Object(document)) = stored.filter(|record| is_expired(record, now)) else {
        return Ok(false);
    };
    let stored = Value::Object(document.clone());
    let mut changed = document;
    changed.insert("status".into(), "Expired".into());
    let mut pipeline = Pipeline::new();
    let caller = Caller::default();
    let ready = write::complete_replacement(&ACTUAL_COST_RECORD, id, changed, &stored, &caller, now)?;
    write::update(&mut pipeline, tenant, &ACTUAL_COST_RECORD, &ready, &stored, now);
    if let Some(loan) = loan {
        let settled = Settled { loan, accounts: &[], record: Some((id, "Expired")) };
        close_if_settled(&mut tx, &mut pipeline, tenant, &settled, None, now).await?;
    }
    tx.send_and_commit(pipeline).await?;
    Ok(true)
}

fn is_expired(record: &Value, now: Timestamp) -> bool {
    let end = record["expirationDate"].as_str().and_then(time::parse);
    record["status"] == "Open" && end.is_some_and(|end| end < now)
}
