//! Expired users are deactivated.
//!
//! Routes: `/users/expire/timer`. Changes users, revokes their tokens, publishes `users.users`.

use crate::login::tokens;
use crate::records::people::USER;
use carrel_platform::http::Caller;
use carrel_platform::record_store::{Records, read, write};
use carrel_platform::{Answer, Call, Json, Pipeline, Router, Tenant, TenantProfile};
use carrel_records::{Failure, time};
use jiff::Timestamp;
use uuid::Uuid;

/// Users deactivated in one transaction, at most.
const BATCH_SIZE: usize = 200;

pub fn connect(router: &mut Router) {
    router.on("POST", "/users/expire/timer", |call: Call| async move {
        deactivate_expired(call.tenant()?, &call.node.records, &call.caller, call.now).await?;
        Ok(Answer::no_content())
    });
}

/// Deactivates users whose expiration date has passed, and gives their number.
pub async fn deactivate_expired(
    tenant: &Tenant,
    records: &Records,
    caller: &Caller,
    now: Timestamp,
) -> Result<usize, Failure> {
    let query = format!("active==true and expirationDate<\"{}\"", time::format(now));
    let condition = read::condition(Some(&read::parse(&query)?), &USER, records)?;
    let sql = format!(
        "SELECT users.id, users.doc FROM users WHERE {} ORDER BY users.id LIMIT {BATCH_SIZE}
         FOR NO KEY UPDATE SKIP LOCKED",
        condition.conditions
    );
    let mut deactivated = 0;
    loop {
        let mut tx = tenant.begin().await?;
        let rows = tx.query(sql.clone(), read::binds(&condition.arguments)).await?;
        if rows.is_empty() {
            return Ok(deactivated);
        }
        let mut pipeline = Pipeline::new();
        let mut ids = Vec::with_capacity(rows.len());
        for row in &rows {
            let (id, stored): (Uuid, Json) = (row.get("id"), row.get("doc"));
            let stored = stored.parse();
            let Some(mut document) = stored.as_object().cloned() else { continue };
            document.insert("active".into(), false.into());
            document.insert("updatedDate".into(), time::format(now).into());
            // The stored record may be older than a stricter shape, and only `active` changes.
            let profile = TenantProfile { unchecked_records: true, ..caller.profile };
            let caller = Caller { profile, ..caller.clone() };
            let ready = write::prepare_replacement(&USER, id, document, &stored, &caller, now)?;
            write::update(&mut pipeline, tenant, &USER, &ready, &stored, now);
            ids.push(id);
        }
        tokens::revoke_all(&mut pipeline, ids, now);
        tx.send_and_commit(pipeline).await?;
        deactivated += rows.len();
    }
}
