//! Use at location: an item checked out for use in the library is held at the desk when the patron leaves, and picked
//! up when they return; the loan stays open meanwhile.
//!
//! Routes: `POST /circulation/hold-by-barcode-for-use-at-location` and `POST
//! /circulation/pickup-by-barcode-for-use-at-location`. Reads the item with its open loan, changes the loan with a
//! history row, announces `circulation.loan`. Answers 400 if the feature `forUseAtLocation` is disabled.

mod apply;
mod decide;
mod facts;
mod route;

pub use route::connect;

use crate::settings::CirculationSettings;
use carrel_platform::Tenant;
use carrel_records::Failure;
use decide::Changed;
use jiff::Timestamp;
use std::sync::Arc;
use uuid::Uuid;

/// The action at the desk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UseAtLocationRequest {
    Hold { item_barcode: String },
    PickUp { item_barcode: String, user_barcode: String },
}

impl UseAtLocationRequest {
    fn item_barcode(&self) -> &str {
        match self {
            UseAtLocationRequest::Hold { item_barcode }
            | UseAtLocationRequest::PickUp { item_barcode, .. } => item_barcode,
        }
    }
}

/// Holds the item at the desk, or gives it to the patron again, durably.
pub async fn carry_out(
    tenant: &Arc<Tenant>,
    command: &UseAtLocationRequest,
    by: Option<Uuid>,
    now: Timestamp,
) -> Result<(Changed, Arc<CirculationSettings>), Failure> {
    let (tx, facts, settings) = facts::gather(tenant, command).await?;
    let changed = decide::decide(facts, command, &settings, by, now)?;
    apply::apply(tx, tenant, &changed, now).await?;
    Ok((changed, settings))
}
