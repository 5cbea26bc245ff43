//! Accounts that have run out are no longer active.
//!
//! Routes: `/users/expire/timer`. Changes users, ends their tokens, announces `users.users`.

use crate::login::tokens;
use crate::records::people::USER;
use carrel_platform::http::Caller;
use carrel_platform::record_store::{read, write};
use carrel_platform::{Answer, Call, Json, Pipeline, Router, Tenant};
use carrel_records::{Failure, RecordType, time};
use jiff::Timestamp;
use uuid::Uuid;

/// So many accounts are ended in one transaction.
const AT_ONCE: usize = 200;

pub fn connect(router: &mut Router) {
    router.on("POST", "/users/expire/timer", |call: Call| async move {
        end_expired(call.tenant()?, &call.node.records, &call.caller, call.now).await?;
        Ok(Answer::no_content())
    });
}

/// Ends the accounts whose expiration date has passed; tells how many.
pub async fn end_expired(
    tenant: &Tenant,
    records: &[&'static RecordType],
    caller: &Caller,
    now: Timestamp,
) -> Result<usize, Failure> {
    let query = format!("active==true and expirationDate<\"{}\"", time::format(now));
    let condition = read::condition(Some(&read::parse(&query)?), &USER, records)?;
    let sql = format!(
        "SELECT users.id, users.doc FROM users WHERE {} ORDER BY users.id LIMIT {AT_ONCE}
         FOR NO KEY UPDATE SKIP LOCKED",
        condition.conditions
    );
    let mut ended = 0;
    loop {
        let mut tx = tenant.begin().await?;
        let rows = tx.query(sql.clone(), read::binds(&condition.arguments)).await?;
        if rows.is_empty() {
            return Ok(ended);
        }
        let mut pipeline = Pipeline::new();
        let mut ids = Vec::with_capacity(rows.len());
        for row in &rows {
            let (id, stored): (Uuid, Json) = (row.get(0), row.get(1));
            let stored = stored.parse();
            let Some(mut document) = stored.as_object().cloned() else { continue };
            document.insert("active".into(), false.into());
            document.insert("updatedDate".into(), time::format(now).into());
            // Stored before its shape may have been made stricter: only what ends is changed.
            let lenient = Caller { lenient: true, ..caller.clone() };
            let ready = write::prepare_replacement(&USER, id, document, &stored, &lenient, now)?;
            write::update(&mut pipeline, &tenant.id, &USER, &ready, &stored, now);
            ids.push(id);
        }
        tokens::revoke_all(&mut pipeline, ids, now);
        tx.send_and_commit(pipeline).await?;
        ended += rows.len();
    }
}
