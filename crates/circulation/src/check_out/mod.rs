//! Check-out: an item goes to a patron.
//!
//! Routes: `POST /circulation/check-out-by-barcode` and its dry run. Reads patron, proxy, item, blocks, queue;
//! creates the loan with its history row, changes the item's state, fills the request that waited for the
//! item, records the desk session, announces `circulation.loan`. Two flights: facts, changes.

mod apply;
mod decide;
mod facts;
mod route;

pub use decide::is_valid_relation;
pub use route::connect;

use crate::desk::override_blocks::MayOverride;
use crate::desk::{OverrideBlocks, said};
use crate::rulebook::Rulebook;
use carrel_platform::Tenant;
use carrel_records::Failure;
use decide::{CheckOut, Policies};
use facts::Facts;
use jiff::Timestamp;
use serde::Deserialize;
use std::sync::Arc;
use uuid::Uuid;

/// What the desk asks for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Order {
    #[serde(deserialize_with = "said::text")]
    pub item_barcode: Option<String>,
    #[serde(deserialize_with = "said::text")]
    pub user_barcode: Option<String>,
    #[serde(deserialize_with = "said::text")]
    pub proxy_user_barcode: Option<String>,
    pub service_point_id: Option<String>,
    /// As clients write it; absent means now.
    pub loan_date: Option<String>,
    #[serde(deserialize_with = "said::object")]
    pub override_blocks: OverrideBlocks,
    pub force_loan_policy_id: Option<Uuid>,
}

/// Who asks, and when.
#[derive(Debug, Clone)]
pub struct Asking {
    pub by: Option<Uuid>,
    pub may: MayOverride,
    pub now: Timestamp,
    /// Id of the loan, should there be one.
    pub loan_id: Uuid,
    /// Nothing is lent, so it happens at no service point.
    pub dry_run: bool,
}

/// Checks out, durably.
pub async fn check_out(
    tenant: &Arc<Tenant>,
    order: &Order,
    asking: &Asking,
) -> Result<(CheckOut, Facts, Arc<Rulebook>), Failure> {
    decide::refuse_unreadable(order)?;
    let (tx, facts, book) = facts::gather(tenant, order).await?;
    let decision = decide::decide(&facts, order, asking, &book)?;
    apply::apply(tx, tenant, &decision, asking.now).await?;
    Ok((decision, facts, book))
}

/// What a check-out would be made by, without one: all checks, nothing saved.
pub async fn dry_run(tenant: &Arc<Tenant>, order: &Order, asking: &Asking) -> Result<Policies, Failure> {
    decide::refuse_unreadable(order)?;
    let (_, facts, book) = facts::gather(tenant, order).await?;
    decide::policies(&facts, order, asking, &book)
}
