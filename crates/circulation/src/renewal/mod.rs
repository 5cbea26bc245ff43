//! Renewal: a patron keeps an item for longer.
//!
//! Routes: `POST /circulation/renew-by-barcode`, `POST /circulation/renew-by-id`. Reads item, open loan, patron, blocks
//! and queue; changes the loan with a history row, and the item's state if a lost item is renewed by override, with its
//! fees; charges the overdue fine until now; announces `circulation.loan`. Two round trips: facts, changes; two more
//! for a lost item.

mod apply;
mod decide;
mod facts;
mod route;

pub use route::connect;

use crate::desk::override_blocks::MayOverride;
use crate::desk::scan_figures::{self, ScanKind};
use crate::desk::{OverrideBlocks, lenient_json};
use crate::lost_items::may_have_fees;
use crate::lost_items::reversal::{self, Cause, FoundBy};
use crate::patron_notices;
use crate::settings::CirculationSettings;
use carrel_platform::Tenant;
use carrel_platform::http::Caller;
use carrel_records::Failure;
use decide::Renewed;
use facts::Facts;
use jiff::Timestamp;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// A renewal as the desk requests it: item and patron by barcode or by id.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RenewalRequest {
    #[serde(deserialize_with = "lenient_json::text")]
    pub item_barcode: Option<String>,
    #[serde(deserialize_with = "lenient_json::text")]
    pub user_barcode: Option<String>,
    pub item_id: Option<String>,
    pub user_id: Option<String>,
    /// The service point of the renewal.
    #[serde(deserialize_with = "lenient_json::text")]
    pub service_point_id: Option<String>,
    #[serde(deserialize_with = "lenient_json::object")]
    pub override_blocks: OverrideBlocks,
    /// How the route identifies item and patron.
    #[serde(skip)]
    pub by: By,
}

/// How item and patron are identified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum By {
    #[default]
    Barcode,
    Id,
}

/// The user who acts, the time, and their permissions.
#[derive(Debug, Clone)]
pub struct Actor {
    pub by: Option<Uuid>,
    pub may: MayOverride,
    pub now: Timestamp,
}

/// A renewal, with the facts and the settings that it is based on.
pub type Done = (Renewed, Facts, Arc<CirculationSettings>);

/// Renews, durably.
pub async fn renew(tenant: &Arc<Tenant>, command: &RenewalRequest, actor: &Actor) -> Result<Done, Failure> {
    let started = Instant::now();
    let done = renew_in_transaction(tenant, command, actor).await;
    scan_figures::record_time(tenant, ScanKind::Renewal, started.elapsed());
    done
}

async fn renew_in_transaction(
    tenant: &Arc<Tenant>,
    command: &RenewalRequest,
    actor: &Actor,
) -> Result<Done, Failure> {
    decide::refuse_incomplete(command)?;
    let (mut tx, facts, settings) = facts::gather(tenant, command, actor.now).await?;
    let renewed = decide::decide(&facts, command, actor, &settings)?;
    if let Some(loan) = facts.loan.as_ref().filter(|loan| may_have_fees(&loan.item_status())) {
        let caller = Caller { user_id: actor.by, profile: tenant.profile, ..Caller::default() };
        let service_point = command.service_point_id.as_deref().and_then(|id| Uuid::parse_str(id).ok());
        let found = FoundBy { cause: Cause::Renewed, caller: &caller, service_point, now: actor.now };
        reversal::reverse(&mut tx, tenant, loan.id, &found, &settings).await?;
    }
    if apply::apply(tx, tenant, &facts, &renewed, &settings, actor).await? {
        patron_notices::process_soon(tenant);
    }
    Ok((renewed, facts, settings))
}
