//! Check-out: an item goes to a patron.
//!
//! Routes: `POST /circulation/check-out-by-barcode` and its dry run. Reads patron, proxy, item, blocks, queue;
//! creates the loan with its history row, changes the item's state, fills the request that waited for the
//! item, records the desk session, announces `circulation.loan`. Two pipelines: facts, changes; check-outs that come
//! while others are under way share theirs (`batcher`).

mod apply;
mod batch;
mod decide;
mod facts;
mod locks;
mod route;

pub use decide::is_valid_relation;
pub use route::connect;

use crate::desk::override_blocks::MayOverride;
use crate::desk::scan_batch::{self, Outcome};
use crate::desk::{OverrideBlocks, said};
use crate::settings::CirculationSettings;
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
pub struct CheckOutRequest {
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
pub struct Actor {
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
    pub command: CheckOutRequest,
    pub actor: Actor,
}

/// What was decided, what is known beside it, and by which rules.
pub type Done = (CheckOut, Facts, Arc<CirculationSettings>);

/// Checks out, durably: with others that come at the same time, or by itself where they cannot help it.
pub async fn check_out(
    tenant: &Arc<Tenant>,
    command: CheckOutRequest,
    actor: Actor,
) -> Result<Done, Failure> {
    decide::refuse_unreadable(&command)?;
    let scan = Arc::new(Scan { command, actor });
    match scan_batch::go(tenant, &scan).await? {
        Outcome::Answered(answer) => answer,
        Outcome::ByItself(queue) => by_itself(tenant, &scan, queue).await,
    }
}

async fn by_itself(
    tenant: &Arc<Tenant>,
    Scan { command, actor }: &Scan,
    queue: Option<Uuid>,
) -> Result<Done, Failure> {
    let (tx, facts, settings) = facts::gather(tenant, command, actor, queue).await?;
    let decision = decide::decide(&facts, command, actor, &settings)?;
    let written = apply::apply(tx, tenant, &[(&decision, actor.now)]).await;
    written.map_err(|error| apply::failure(error, &decision))?;
    Ok((decision, facts, settings))
}

/// What a check-out would be made by, without one: all checks, nothing saved.
pub async fn dry_run(
    tenant: &Arc<Tenant>,
    command: &CheckOutRequest,
    actor: &Actor,
) -> Result<Policies, Failure> {
    decide::refuse_unreadable(command)?;
    let (_, facts, settings) = facts::gather(tenant, command, actor, None).await?;
    decide::policies(&facts, command, actor, &settings)
}
