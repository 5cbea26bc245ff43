//! Departments, with the number of users that belong to each.
//!
//! Routes: `/departments…`. Changes departments.

use crate::records::people::DEPARTMENT;
use carrel_platform::database::DatabaseError;
use carrel_platform::record_store::{routes, write};
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, Refusal};
use serde_json::Value;

pub fn connect(router: &mut Router) {
    router.on("POST", "/departments", create);
    router.on("PUT", "/departments/{id}", replace);
    router.on("DELETE", "/departments/{id}", delete);
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let mut document = call.object()?;
    document.remove("usageNumber");
    let tenant = call.tenant()?;
    let ready = write::prepare_new(&DEPARTMENT, document, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &DEPARTMENT, &ready, call.now);
    tenant
        .begin()
        .await?
        .send_and_commit(pipeline)
        .await
        .map_err(|error| storage_failure(error, &ready.document))?;
    Ok(routes::created(&DEPARTMENT, &ready))
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut document = call.object()?;
    document.remove("usageNumber");
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(stored) = write::lock(&mut tx, &DEPARTMENT, id).await? else {
        return Err(Failure::NotFound("Not found".into()));
    };
    let stored = stored.parse();
    let ready = write::prepare_replacement(&DEPARTMENT, id, document, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &DEPARTMENT, &ready, &stored, call.now);
    tx.send_and_commit(pipeline).await.map_err(|error| storage_failure(error, &ready.document))?;
    Ok(Answer::no_content())
}

/// A department that users belong to cannot be deleted.
async fn delete(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    // Locked, so that no concurrent transaction assigns it to a user.
    let rows = tx
        .query(
            "SELECT EXISTS (SELECT 1 FROM users WHERE users.doc->'departments' ? d.id::text) AS is_used
             FROM departments d WHERE d.id = $1 FOR UPDATE OF d",
            vec![id.into()],
        )
        .await?;
    let is_used: bool =
        rows.first().map(|row| row.get("is_used")).ok_or_else(|| Failure::NotFound("Not found".into()))?;
    if is_used {
        return Err(Failure::Conflict(format!("Key (id)=({id}) is still referenced from table \"users\".")));
    }
    write::delete(tx, tenant, &DEPARTMENT, id, &call.node.records, call.now).await?;
    Ok(Answer::no_content())
}

fn storage_failure(error: DatabaseError, document: &write::Document) -> Failure {
    let constraint = error.constraint.clone().unwrap_or_default();
    let known =
        [("departments_pkey", "id"), ("departments_name_key", "name"), ("departments_code_key", "code")];
    match known.into_iter().find(|(name, _)| constraint.starts_with(name)) {
        Some((_, field)) if error.is_unique_violation() => {
            let value = document.get(field).and_then(Value::as_str).unwrap_or_default();
            Refusal::new(format!("Department with this {field} already exists"))
                .with(field, value)
                .of_storage()
                .into()
        }
        _ => write::constraint_failure(&DEPARTMENT, error, document),
    }
}
