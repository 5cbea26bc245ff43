//! Log records of other programs: what mod-circulation, mod-feesfines and others publish as `LOG_RECORD`.
//!
//! Route: `POST /audit/handlers/log-record`. Writes entries of the circulation log; barcodes and titles that the event
//! lacks are read from the database.

mod decide;

use crate::circulation_log::{Action, forget_loans, write_looking_up};
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::Failure;

pub fn connect(router: &mut Router) {
    router.on("POST", "/audit/handlers/log-record", take);
}

/// FOLIO quirk: an invalid event is answered with 204, too, so that it is not sent again; the reason is logged.
async fn take(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let entries = match call.value().map(|event| decide::entries(&event)) {
        Ok(Ok(entries)) => entries,
        Ok(Err(reason)) => {
            tracing::warn!(tenant = tenant.id, "a log record is not stored: {reason}");
            return Ok(Answer::no_content());
        }
        Err(failure) => {
            tracing::warn!(tenant = tenant.id, "a log record cannot be read: {failure}");
            return Ok(Answer::no_content());
        }
    };
    let mut pipeline = Pipeline::new();
    for entry in &entries {
        if entry.action == Action::Anonymize {
            forget_loans(&mut pipeline, entry.items.iter().filter_map(|item| item.loan).collect());
        }
        write_looking_up(&mut pipeline, entry, call.now);
    }
    if !pipeline.is_empty() {
        tenant.begin().await?.send_and_commit(pipeline).await?;
    }
    Ok(Answer::no_content())
}
