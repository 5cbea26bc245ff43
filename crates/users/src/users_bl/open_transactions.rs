//! What keeps a user from being deleted: loans, requests, money owed, proxies, blocks.
//!
//! Routes: `/bl-users/by-id/{id}/open-transactions`, `/bl-users/by-username/{name}/open-transactions`,
//! `DELETE /bl-users/by-id/{id}`. Reads loans, requests, accounts, manual blocks and proxies of the user; deletes
//! the user with credentials, permissions and preferences.

use crate::login::tokens;
use crate::records::people::USER;
use crate::users_bl::id_of_username;
use carrel_platform::record_store::write;
use carrel_platform::{Answer, Call, Json, Pipeline, Router, Tx};
use carrel_records::{Failure, time};
use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/bl-users/by-id/{id}/open-transactions", |call| async move {
        let id = call.id(0)?;
        tell(&call, id).await
    });
    router.on("GET", "/bl-users/by-username/{name}/open-transactions", |call| async move {
        let id = id_of_username(&call, call.parameter(0)).await?;
        tell(&call, id).await
    });
    router.on("DELETE", "/bl-users/by-id/{id}", delete);
}

async fn tell(call: &Call, user: Uuid) -> Result<Answer, Failure> {
    let mut tx = call.tenant()?.begin().await?;
    let open = count(&mut tx, user, call).await?;
    Ok(Answer::json(&open))
}

async fn count(tx: &mut Tx, user: Uuid, call: &Call) -> Result<Value, Failure> {
    let now = time::format(call.now);
    let rows = tx
        .query(
            "SELECT u.doc->>'barcode',
                (SELECT count(*) FROM loan l WHERE l.user_id = u.id AND l.is_open),
                (SELECT count(*) FROM request r WHERE r.requester_id = u.id AND r.doc->>'status' LIKE 'Open%'),
                (SELECT count(*) FROM accounts a WHERE a.user_id = u.id AND a.doc->'status'->>'name' = 'Open'),
                (SELECT count(*) FROM proxyfor p WHERE p.user_id = u.id OR p.proxy_user_id = u.id),
                (SELECT count(*) FROM manualblocks b WHERE b.user_id = u.id AND b.doc->>'expirationDate' >= $2)
             FROM users u WHERE u.id = $1 FOR NO KEY UPDATE OF u",
            vec![user.into(), now.into()],
        )
        .await?;
    let row = rows.first().ok_or_else(|| Failure::NotFound(format!("User with id '{user}' not found")))?;
    let counts: Vec<i64> = (1..6).map(|place| row.get(place)).collect();
    let mut open = json!({
        "userId": user, "hasOpenTransactions": counts.iter().any(|count| *count > 0), "loans": counts[0],
        "requests": counts[1], "feesFines": counts[2], "proxies": counts[3], "blocks": counts[4]
    });
    if let Some(barcode) = row.get::<_, Option<String>>(0) {
        open["userBarcode"] = barcode.into();
    }
    Ok(open)
}

/// The user with all that is only his; 409 with the counts while anything is open.
async fn delete(call: Call) -> Result<Answer, Failure> {
    let user = call.id(0)?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let open = count(&mut tx, user, &call).await?;
    if open["hasOpenTransactions"] == true {
        return Ok(Answer::json(&open).status(StatusCode::CONFLICT));
    }
    let mut pipeline = Pipeline::new();
    let gone = pipeline.add("DELETE FROM users WHERE id = $1 RETURNING doc", vec![user.into()]);
    for sql in [
        "DELETE FROM manualblocks WHERE user_id = $1",
        "DELETE FROM user_request_preference WHERE user_id = $1",
        "DELETE FROM auth_credentials WHERE user_id = $1",
        "DELETE FROM auth_credentials_history WHERE user_id = $1",
        "DELETE FROM auth_attempts WHERE user_id = $1",
        "DELETE FROM permissions_users WHERE lower(carrel.f_unaccent(doc->>'userId')) = $1::uuid::text",
    ] {
        pipeline.add(sql, vec![user.into()]);
    }
    tokens::end_all(&mut pipeline, vec![user], call.now);
    let results = tx.send(pipeline).await?;
    let stored = results.document(gone).unwrap_or_else(|| Json("{}".into()));
    let mut pipeline = Pipeline::new();
    write::announce_delete(&mut pipeline, &tenant.id, &USER, user, &stored, call.now);
    tx.send_and_commit(pipeline).await?;
    tenant.settings_version_is_stale();
    Ok(Answer::no_content())
}
