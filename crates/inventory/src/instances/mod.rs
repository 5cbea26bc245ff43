//! Instances.
//!
//! Routes: `/instance-storage/instances` (POST, PUT, PATCH; the rest is plain),
//! `/instance-storage/instances/retrieve`, `/instance-storage/batch/synchronous` and `synchronous-unsafe`. Changes
//! `instance`; announces `inventory.instance`.

mod route;

pub use route::routes;

use crate::hrid;
use crate::records::instances::INSTANCE;
use crate::source_record;
use crate::store::{self, WriteMode};
use carrel_platform::record_store::write::Document;
use carrel_platform::{Call, Pipeline};
use carrel_records::Failure;
use jiff::Timestamp;
use std::collections::HashMap;

/// Writes instances in one transaction; returns them as clients see them.
///
/// `to_failure` turns a violated constraint into the route's answer; `also` adds statements of the same transaction.
pub async fn save(
    call: &Call,
    documents: Vec<Document>,
    mode: WriteMode,
    to_failure: fn(Failure) -> Failure,
    also: impl FnOnce(&mut Pipeline),
) -> Result<Vec<Document>, Failure> {
    let tenant = call.tenant()?;
    let mut instances = store::validate(&INSTANCE, documents, &call.caller, call.now)?;
    let connection = tenant.writer().await?;
    if mode != WriteMode::Replace && !tenant.profile.stored_as_sent {
        hrid::assign(&connection, hrid::Kind::Instances, &mut instances).await?;
        for instance in &mut instances {
            instance.document.insert("statusUpdatedDate".into(), status_date(call.now).into());
        }
    }
    let mut tx = connection.begin();
    let ids = instances.iter().map(|instance| instance.id).collect();
    let mut stored =
        if mode == WriteMode::Create { HashMap::new() } else { store::lock(&mut tx, &INSTANCE, ids).await? };
    let mut changes = store::prepare(&INSTANCE, instances, &mut stored, mode, &call.caller, call.now)?;
    for change in &mut changes {
        source_record::keep_format(&mut change.new, change.old.as_ref());
    }
    let mut pipeline = Pipeline::new();
    store::store(&mut pipeline, &INSTANCE, tenant, &changes, "inventory.instance", call.now);
    also(&mut pipeline);
    tx.send_and_commit(pipeline).await.map_err(|error| {
        to_failure(store::constraint_failure(&INSTANCE, error, changes.iter().map(|change| &change.new)))
    })?;
    Ok(changes.into_iter().map(|change| change.new).collect())
}

/// FOLIO writes this one date without a colon in its offset.
fn status_date(now: Timestamp) -> String {
    carrel_records::time::format(now).replace("+00:00", "+0000")
}
