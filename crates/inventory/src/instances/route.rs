//! Paths, and what goes in and out.

use super::save;
use crate::batch;
use crate::records::instances::INSTANCE;
use crate::store::{self, How};
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;
use std::convert::identity;

/// Connects the use case.
pub fn routes(router: &mut Router) {
    router.on("POST", "/instance-storage/instances", create);
    router.on("PUT", "/instance-storage/instances/{id}", replace);
    router.on("PATCH", "/instance-storage/instances/{id}", patch);
    router.on("POST", "/instance-storage/instances/retrieve", |call| batch::retrieve(&INSTANCE, call));
    router.on("POST", "/instance-storage/batch/synchronous", |call| store_many(call, true));
    router.on("POST", "/instance-storage/batch/synchronous-unsafe", |call| store_many(call, false));
}

async fn create(call: Call) -> Result<Answer, Failure> {
    // FOLIO quirk: one new instance hears of a violated constraint in plain text, a batch in JSON.
    let how = How::create_in(call.tenant()?);
    let stored = save(&call, vec![call.object()?], how, store::in_plain_text, |_| ()).await?;
    batch::created(&INSTANCE, stored)
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let document = batch::addressed(&call)?;
    match save(&call, vec![document.clone()], How::Replace, identity, |_| ()).await {
        // A lenient tenant takes a replacement of nothing, as the stand-ins of test suites do.
        Err(Failure::NotFound(_)) if call.tenant()?.lenient => {
            save(&call, vec![document], How::Create, identity, |_| ()).await?
        }
        other => other?,
    };
    Ok(Answer::no_content())
}

async fn patch(call: Call) -> Result<Answer, Failure> {
    let document = batch::patched(&INSTANCE, &call, call.object()?).await?;
    save(&call, vec![document], How::Replace, identity, |_| ()).await?;
    Ok(Answer::no_content())
}

async fn store_many(call: Call, checks_versions: bool) -> Result<Answer, Failure> {
    let (documents, how) = batch::asked(&INSTANCE, &call, checks_versions)?;
    save(&call, documents, how, identity, |_| ()).await?;
    Ok(batch::stored())
}
