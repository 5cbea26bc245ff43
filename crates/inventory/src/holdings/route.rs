//! Routes, requests and answers.

use super::save;
use crate::batch;
use crate::records::holdings::HOLDINGS_RECORD;
use crate::store::WriteMode;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, Refusal};

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("POST", "/holdings-storage/holdings", create);
    router.on("PUT", "/holdings-storage/holdings/{id}", replace);
    router.on("PATCH", "/holdings-storage/holdings/{id}", patch);
    router.on("POST", "/holdings-storage/holdings/retrieve", |call| batch::retrieve(&HOLDINGS_RECORD, call));
    router.on("POST", "/holdings-storage/batch/synchronous", |call| store_many(call, true));
    router.on("POST", "/holdings-storage/batch/synchronous-unsafe", |call| store_many(call, false));
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let mode = WriteMode::create_in(call.tenant()?);
    let stored = save(&call, vec![call.object()?], mode).await?;
    batch::created(&HOLDINGS_RECORD, stored)
}

pub(crate) async fn replace(call: Call) -> Result<Answer, Failure> {
    let document = batch::body_with_path_id(&call)?;
    match save(&call, vec![document.clone()], WriteMode::Replace).await {
        // FOLIO quirk: a replacement of a missing record creates it.
        Err(Failure::NotFound(_)) => save(&call, vec![document], WriteMode::Create).await?,
        other => other?,
    };
    Ok(Answer::no_content())
}

async fn patch(call: Call) -> Result<Answer, Failure> {
    let patch = call.object()?;
    for name in ["sourceId", "instanceId", "permanentLocationId"] {
        if patch.get(name).is_some_and(serde_json::Value::is_null) {
            return Err(Refusal::new(format!("'{name}' value cannot be null")).with(name, "null").into());
        }
    }
    let document = batch::read_and_patch(&HOLDINGS_RECORD, &call, patch).await?;
    save(&call, vec![document], WriteMode::Replace).await?;
    Ok(Answer::no_content())
}

async fn store_many(call: Call, checks_versions: bool) -> Result<Answer, Failure> {
    let (documents, mode) = batch::read_batch(&HOLDINGS_RECORD, &call, checks_versions)?;
    save(&call, documents, mode).await?;
    Ok(batch::batch_created())
}
