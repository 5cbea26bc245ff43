//! Check-out: an item goes to a patron.
//!
//! Routes: `POST /circulation/check-out-by-barcode` and its dry run. Reads patron, proxy, item, blocks, queue;
//! creates the loan with its history row, changes the item's state, fills the request that waited for the
//! item, records the desk session, announces `circulation.loan`. Two flights: facts, changes; check-outs that come
//! while others are under way share theirs (`together`).

mod apply;
mod decide;
mod facts;
mod locks;
mod route;
mod together;

pub use decide::is_valid_relation;
pub use route::connect;

use crate::desk::company::{self, Outcome};
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

/// One check-out that is asked for.
#[derive(Debug)]
pub struct Scan {
    pub order: Order,
    pub asking: Asking,
}

/// What was decided, what is known beside it, and by which rules.
pub type Done = (CheckOut, Facts, Arc<Rulebook>);

/// Checks out, durably: with others that come at the same time, or by itself where they cannot help it.
pub async fn check_out(tenant: &Arc<Tenant>, order: Order, asking: Asking) -> Result<Done, Failure> {
    decide::refuse_unreadable(&order)?;
    let scan = Arc::new(Scan { order, asking });
    match company::go(tenant, &scan).await? {
        Outcome::Answered(answer) => answer,
        Outcome::ByItself(queue) => by_itself(tenant, &scan, queue).await,
    }
}

async fn by_itself(
    tenant: &Arc<Tenant>,
    Scan { order, asking }: &Scan,
    queue: Option<Uuid>,
) -> Result<Done, Failure> {
    let (tx, facts, book) = facts::gather(tenant, order, queue).await?;
    let decision = decide::decide(&facts, order, asking, &book)?;
    let written = apply::apply(tx, tenant, &[(&decision, asking.now)]).await;
    written.map_err(|error| apply::failure(error, &decision))?;
    Ok((decision, facts, book))
}

/// What a check-out would be made by, without one: all checks, nothing saved.
pub async fn dry_run(tenant: &Arc<Tenant>, order: &Order, asking: &Asking) -> Result<Policies, Failure> {
    decide::refuse_unreadable(order)?;
    let (_, facts, book) = facts::gather(tenant, order, None).await?;
    decide::policies(&facts, order, asking, &book)
}
