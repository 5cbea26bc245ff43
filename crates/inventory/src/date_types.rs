//! Types of instance dates. A tenant can rename them and nothing else.
//!
//! Routes: PATCH of `/instance-date-types/{id}`; the list is plain. Announces `inventory.instance-date-type`.

use crate::records::instance_reference::INSTANCE_DATE_TYPE;
use carrel_platform::record_store::write;
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, Refusal};
use serde_json::Value;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("PATCH", "/instance-date-types/{id}", rename);
}

async fn rename(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let patch = call.object()?;
    if let Some(name) = patch.keys().find(|name| *name != "name") {
        return Err(Refusal::new(format!("Unrecognized field \"{name}\""))
            .with(name, "is not allowed")
            .into());
    }
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(stored) = write::lock(&mut tx, &INSTANCE_DATE_TYPE, id).await? else {
        return Err(Failure::NotFound("Not found".into()));
    };
    let stored = stored.parse();
    let Value::Object(mut document) = stored.clone() else {
        return Err(Failure::internal("a stored type of dates is an object"));
    };
    crate::fields::set(&mut document, "name", patch.get("name").cloned().filter(|name| !name.is_null()));
    let ready =
        write::prepare_replacement(&INSTANCE_DATE_TYPE, id, document, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &INSTANCE_DATE_TYPE, &ready, &stored, call.now);
    tx.send_and_commit(pipeline)
        .await
        .map_err(|error| write::constraint_failure(&INSTANCE_DATE_TYPE, error, &ready.document))?;
    Ok(Answer::no_content())
}
