//! Renewal: a patron keeps an item for longer.
//!
//! Routes: `POST /circulation/renew-by-barcode`, `POST /circulation/renew-by-id`. Reads item, open loan,
//! borrower, blocks and queue; changes the loan with a history row, and the item's state where a lost item is
//! renewed by override; announces `circulation.loan`. Two flights: facts, changes.

mod apply;
mod decide;
mod facts;
mod route;

pub use route::connect;

use crate::desk::override_blocks::MayOverride;
use crate::desk::{OverrideBlocks, said};
use crate::rulebook::Rulebook;
use carrel_platform::Tenant;
use carrel_records::Failure;
use decide::Renewed;
use facts::Facts;
use jiff::Timestamp;
use serde::Deserialize;
use std::sync::Arc;
use uuid::Uuid;

/// What the desk asks for: item and patron by barcode or by id.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Order {
    #[serde(deserialize_with = "said::text")]
    pub item_barcode: Option<String>,
    #[serde(deserialize_with = "said::text")]
    pub user_barcode: Option<String>,
    pub item_id: Option<String>,
    pub user_id: Option<String>,
    #[serde(deserialize_with = "said::object")]
    pub override_blocks: OverrideBlocks,
    /// Which of the two ways the route takes.
    #[serde(skip)]
    pub by: By,
}

/// How item and patron are named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum By {
    #[default]
    Barcode,
    Id,
}

/// Who asks, and when.
#[derive(Debug, Clone)]
pub struct Asking {
    pub by: Option<Uuid>,
    pub may: MayOverride,
    pub now: Timestamp,
}

/// Renews, durably.
pub async fn renew(
    tenant: &Arc<Tenant>,
    order: &Order,
    asking: &Asking,
) -> Result<(Renewed, Facts, Arc<Rulebook>), Failure> {
    decide::refuse_incomplete(order)?;
    let (tx, facts, book) = facts::gather(tenant, order).await?;
    let renewed = decide::decide(&facts, order, asking, &book)?;
    apply::apply(tx, tenant, &facts, &renewed, asking).await?;
    Ok((renewed, facts, book))
}
