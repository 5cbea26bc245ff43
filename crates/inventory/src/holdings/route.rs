//! Paths, and what goes in and out.

use super::save;
use crate::batch;
use crate::records::holdings::HOLDINGS_RECORD;
use crate::store::How;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, Refusal};

/// Connects the use case.
pub fn routes(router: &mut Router) {
    router.on("POST", "/holdings-storage/holdings", create);
    router.on("PUT", "/holdings-storage/holdings/{id}", replace);
    router.on("PATCH", "/holdings-storage/holdings/{id}", patch);
    router.on("POST", "/holdings-storage/holdings/retrieve", |call| batch::retrieve(&HOLDINGS_RECORD, call));
    router.on("POST", "/holdings-storage/batch/synchronous", |call| store_many(call, true));
    router.on("POST", "/holdings-storage/batch/synchronous-unsafe", |call| store_many(call, false));
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let how = How::create_in(call.tenant()?);
    let stored = save(&call, vec![call.object()?], how).await?;
    batch::created(&HOLDINGS_RECORD, stored)
}

pub(crate) async fn replace(call: Call) -> Result<Answer, Failure> {
    let document = batch::addressed(&call)?;
    match save(&call, vec![document.clone()], How::Replace).await {
        // FOLIO quirk: a replacement of nothing creates the record.
        Err(Failure::NotFound(_)) => save(&call, vec![document], How::Create).await?,
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
    let document = batch::patched(&HOLDINGS_RECORD, &call, patch).await?;
    save(&call, vec![document], How::Replace).await?;
    Ok(Answer::no_content())
}

async fn store_many(call: Call, checks_versions: bool) -> Result<Answer, Failure> {
    let (documents, how) = batch::asked(&HOLDINGS_RECORD, &call, checks_versions)?;
    save(&call, documents, how).await?;
    Ok(batch::stored())
}
