//! Templates of notices: answers that differ from those of plain records.
//!
//! Routes: POST of `/templates` and `/eventConfig`; GET, PUT and DELETE of `/templates/{templateId}`. Modules above say by
//! [`TemplateDeletion`] whether a template is in use.

use crate::records::{EVENT_CONFIGURATION, TEMPLATE};
use carrel_platform::record_store::routes::{self as plain, delete_many};
use carrel_platform::record_store::{read, write};
use carrel_platform::{Answer, Call, Changes, Pipeline, Router};
use carrel_records::Failure;
use serde_json::Value;
use uuid::Uuid;

/// A template is about to be deleted. A module whose records name it sets `is_used`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemplateDeletion {
    pub template: Uuid,
    pub is_used: bool,
}

/// The only template engine.
const RESOLVER: &str = "mustache";

pub fn routes(router: &mut Router) {
    router.on("POST", "/templates", create);
    router.on("POST", EVENT_CONFIGURATION.path, |call| {
        plain::create_refusing_duplicates_with_400(&EVENT_CONFIGURATION, call)
    });
    router.on("GET", "/templates/{templateId}", find);
    router.on("PUT", "/templates/{templateId}", replace);
    router.on("DELETE", "/templates/{templateId}", delete);
    router.on_stand_in("DELETE", "/templates", |call| delete_many(&TEMPLATE, call));
}

async fn create(call: Call) -> Result<Answer, Failure> {
    refuse_unknown_resolver(&call.object()?)?;
    plain::create(&TEMPLATE, call).await
}

async fn find(call: Call) -> Result<Answer, Failure> {
    let Ok(id) = call.id(0) else { return Err(not_found(&call)) };
    let connection = call.tenant()?.reader().await?;
    match read::find(&connection, &TEMPLATE, id).await? {
        Some(document) => Ok(Answer::document(document)),
        None => Err(not_found(&call)),
    }
}

/// FOLIO quirk: a replacement is answered with the record.
async fn replace(call: Call) -> Result<Answer, Failure> {
    let Ok(id) = call.id(0) else { return Err(not_found(&call)) };
    let document = call.object()?;
    refuse_unknown_resolver(&document)?;
    let tenant = call.tenant()?;
    let tx = tenant.begin().await?;
    match write::replace(tx, tenant, &TEMPLATE, id, document, &call.caller, call.now).await? {
        Some(ready) => Ok(Answer::json(&ready.document)),
        None => Err(not_found(&call)),
    }
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let Ok(id) = call.id(0) else { return Err(not_found(&call)) };
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    // A gateway asks the module that has the policies.
    if !call.caller.profile.effects_left_to_modules {
        let mut deletion = TemplateDeletion { template: id, is_used: false };
        let mut pipeline = Pipeline::new();
        let mut changes =
            Changes { tenant, tx: &mut tx, pipeline: &mut pipeline, caller: &call.caller, now: call.now };
        tenant.listeners.announce(&mut changes, &mut deletion).await?;
        if deletion.is_used {
            return Err(Failure::Invalid("Cannot delete template which is currently in use".into()));
        }
    }
    let found = write::delete(tx, tenant, &TEMPLATE, id, &call.node.records, call.now).await?;
    if found { Ok(Answer::no_content()) } else { Err(not_found(&call)) }
}

fn not_found(call: &Call) -> Failure {
    Failure::NotFound(format!("Template with id '{}' not found", call.parameter(0)))
}

/// A template without a resolver is refused by its shape.
fn refuse_unknown_resolver(template: &write::Document) -> Result<(), Failure> {
    match template.get("templateResolver").and_then(Value::as_str) {
        Some(RESOLVER) | None => Ok(()),
        Some(other) => Err(Failure::Invalid(format!("Template resolver '{other}' is not supported"))),
    }
}
