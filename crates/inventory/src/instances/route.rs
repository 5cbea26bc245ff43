//! Routes, requests and answers.

use super::save;
use crate::batch;
use crate::records::instances::INSTANCE;
use crate::store::{self, WriteMode};
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;
use std::convert::identity;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("POST", "/instance-storage/instances", create);
    router.on("PUT", "/instance-storage/instances/{id}", replace);
    router.on("PATCH", "/instance-storage/instances/{id}", patch);
    router.on("POST", "/instance-storage/instances/retrieve", |call| batch::retrieve(&INSTANCE, call));
    router.on("POST", "/instance-storage/batch/synchronous", |call| store_many(call, true));
    router.on("POST", "/instance-storage/batch/synchronous-unsafe", |call| store_many(call, false));
}

async fn create(call: Call) -> Result<Answer, Failure> {
    // FOLIO quirk: a violated constraint of one new instance is plain text, that of a batch JSON.
    let mode = WriteMode::create_in(call.tenant()?);
    let stored = save(&call, vec![call.object()?], mode, store::in_plain_text, |_| ()).await?;
    batch::created(&INSTANCE, stored)
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let document = batch::body_with_path_id(&call)?;
    match save(&call, vec![document.clone()], WriteMode::Replace, identity, |_| ()).await {
        Err(Failure::NotFound(_)) if call.tenant()?.profile.put_creates => {
            save(&call, vec![document], WriteMode::Create, identity, |_| ()).await?
        }
        other => other?,
    };
    Ok(Answer::no_content())
}

async fn patch(call: Call) -> Result<Answer, Failure> {
    let document = batch::read_and_patch(&INSTANCE, &call, call.object()?).await?;
    save(&call, vec![document], WriteMode::Replace, identity, |_| ()).await?;
    Ok(Answer::no_content())
}

async fn store_many(call: Call, checks_versions: bool) -> Result<Answer, Failure> {
    let (documents, mode) = batch::read_batch(&INSTANCE, &call, checks_versions)?;
    save(&call, documents, mode, identity, |_| ()).await?;
    Ok(batch::batch_created())
}
