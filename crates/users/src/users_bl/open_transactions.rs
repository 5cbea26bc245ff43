//! What prevents the deletion of a user: proxies, and the counts of other modules (loans, requests, accounts, blocks).
//!
//! Routes: `/bl-users/by-id/{id}/open-transactions`, `/bl-users/by-username/{name}/open-transactions`, `DELETE
//! /bl-users/by-id/{id}`. Reads users and proxies; deletes the user and the dependent records.

use crate::extensions::Extensions;
use crate::user::deletion;
use crate::users_bl::id_of_username;
use carrel_platform::{Answer, Call, Pipeline, Router, Tx};
use carrel_records::Failure;
use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router, extensions: &'static Extensions) {
    router.on("GET", "/bl-users/by-id/{id}/open-transactions", move |call| async move {
        let id = call.id(0)?;
        show(&call, id, extensions).await
    });
    router.on("GET", "/bl-users/by-username/{name}/open-transactions", move |call| async move {
        let id = id_of_username(&call, call.parameter(0)).await?;
        show(&call, id, extensions).await
    });
    router.on("DELETE", "/bl-users/by-id/{id}", move |call| delete(call, extensions));
}

async fn show(call: &Call, user: Uuid, extensions: &Extensions) -> Result<Answer, Failure> {
    let mut tx = call.tenant()?.begin().await?;
    let open = count(&mut tx, user, call, extensions).await?;
    tx.commit().await?;
    Ok(Answer::json(&open))
}

/// Locks the user and counts what is open.
async fn count(tx: &mut Tx, user: Uuid, call: &Call, extensions: &Extensions) -> Result<Value, Failure> {
    let mut pipeline = Pipeline::new();
    let locked = pipeline.add(
        "SELECT doc->>'barcode' AS barcode FROM users WHERE id = $1 FOR NO KEY UPDATE",
        vec![user.into()],
    );
    let proxies = pipeline.add(
        "SELECT count(*) AS open FROM proxyfor WHERE user_id = $1 OR proxy_user_id = $1",
        vec![user.into()],
    );
    let counted: Vec<_> = extensions
        .dependents
        .iter()
        .flat_map(|dependents| dependents.open)
        .map(|open| (open.kind.property(), (open.count)(&mut pipeline, user, call.now)))
        .collect();
    let results = tx.send(pipeline).await?;
    let row =
        results.first(locked).ok_or_else(|| Failure::NotFound(format!("User with id '{user}' not found")))?;
    let mut open = json!({"userId": user, "hasOpenTransactions": false, "loans": 0, "requests": 0,
        "feesFines": 0, "proxies": 0, "blocks": 0});
    let mut total = 0;
    for (property, statement) in counted.into_iter().chain([("proxies", proxies)]) {
        let number: i64 = results.first(statement).map_or(0, |row| row.get("open"));
        total += number;
        open[property] = number.into();
    }
    open["hasOpenTransactions"] = (total > 0).into();
    if let Some(barcode) = row.get::<_, Option<String>>("barcode") {
        open["userBarcode"] = barcode.into();
    }
    Ok(open)
}

/// Deletes the user; 409 with the counts while anything is open.
async fn delete(call: Call, extensions: &'static Extensions) -> Result<Answer, Failure> {
    let user = call.id(0)?;
    let mut tx = call.tenant()?.begin().await?;
    let open = count(&mut tx, user, &call, extensions).await?;
    if open["hasOpenTransactions"] == true {
        return Ok(Answer::json(&open).status(StatusCode::CONFLICT));
    }
    deletion::delete_in(tx, &call, extensions, "id = $1", vec![user.into()]).await?;
    Ok(Answer::no_content())
}
