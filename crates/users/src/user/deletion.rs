//! Deleting users with their credentials, permissions and whatever other modules store about them alone.
//!
//! Routes: `DELETE /users/{id}`, `DELETE /users`. Announces `users.users`. Loans and requests keep the bare id.

use crate::extensions::Extensions;
use crate::login;
use crate::records::people::USER;
use carrel_platform::record_store::{read, write};
use carrel_platform::{Answer, Call, Json, Pipeline, Router, Tx};
use carrel_records::Failure;
use uuid::Uuid;

pub fn connect(router: &mut Router, extensions: &'static Extensions) {
    router.on("DELETE", "/users/{id}", move |call| delete(call, extensions));
    router.on("DELETE", "/users", move |call| delete_matching(call, extensions));
}

async fn delete(call: Call, extensions: &'static Extensions) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let tx = call.tenant()?.begin().await?;
    match delete_in(tx, &call, extensions, "id = $1", vec![id.into()]).await? {
        0 => Err(Failure::NotFound(id.to_string())),
        _ => Ok(Answer::no_content()),
    }
}

async fn delete_matching(call: Call, extensions: &'static Extensions) -> Result<Answer, Failure> {
    let text = call.query.get("query").map(str::trim).filter(|text| !text.is_empty());
    let Some(text) = text else {
        return Err(Failure::Invalid("Expected CQL but query parameter is empty".into()));
    };
    let condition = read::condition(Some(&read::parse(text)?), &USER, &call.node.records)?;
    let matching =
        format!("id IN (SELECT users.id FROM {} WHERE {})", read::from_sql(&USER), condition.conditions);
    let tx = call.tenant()?.begin().await?;
    delete_in(tx, &call, extensions, &matching, read::binds(&condition.arguments)).await?;
    Ok(Answer::no_content())
}

/// Deletes the users that the condition finds, in one transaction, and gives their number.
pub(crate) async fn delete_in(
    mut tx: Tx,
    call: &Call,
    extensions: &Extensions,
    condition: &str,
    binds: Vec<carrel_platform::Bind>,
) -> Result<usize, Failure> {
    let tenant = call.tenant()?;
    let rows = tx
        .query(format!("DELETE FROM users deleted WHERE deleted.{condition} RETURNING id, doc"), binds)
        .await?;
    if rows.is_empty() {
        return Ok(0);
    }
    let ids: Vec<Uuid> = rows.iter().map(|row| row.get("id")).collect();
    let mut pipeline = Pipeline::new();
    for row in &rows {
        let (id, document): (Uuid, Json) = (row.get("id"), row.get("doc"));
        write::announce_delete(&mut pipeline, tenant, &USER, id, &document, call.now);
    }
    for dependents in extensions.dependents {
        (dependents.delete)(&mut pipeline, &ids);
    }
    pipeline.add("DELETE FROM permissions_users WHERE user_id = ANY($1)", vec![ids.clone().into()]);
    login::delete_credentials(&mut pipeline, ids, call.now);
    tx.send_and_commit(pipeline).await?;
    Ok(rows.len())
}
