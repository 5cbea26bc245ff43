//! Check-out: an item is lent to a patron.
//!
//! Routes: `POST /circulation/check-out-by-barcode` and its dry run. Reads patron, proxy, item, blocks, queue; creates
//! the loan with its history row, changes the item's state, fulfills the request that waited for the item, stores the
//! desk session, announces `circulation.loan`. Two round trips: facts, changes. Check-outs that arrive while others run
//! share a transaction (`platform/batcher`).

mod apply;
mod decide;
mod facts;
mod locks;
mod route;

pub use route::connect;

use crate::desk::idempotency::IdempotencyKey;
use crate::desk::override_blocks::MayOverride;
use crate::desk::scan_figures::{self, ScanKind};
use crate::desk::{OverrideBlocks, lenient_json};
use crate::settings::CirculationSettings;
use carrel_platform::batcher::{self, Batched, Gathered, Outcome, RunAlone};
use carrel_platform::database::DatabaseError;
use carrel_platform::{Tenant, Tx};
use carrel_records::Failure;
use decide::{CheckOut, Policies};
use facts::Facts;
use jiff::Timestamp;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// A check-out as the desk requests it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CheckOutRequest {
    #[serde(deserialize_with = "lenient_json::text")]
    pub item_barcode: Option<String>,
    #[serde(deserialize_with = "lenient_json::text")]
    pub user_barcode: Option<String>,
    #[serde(deserialize_with = "lenient_json::text")]
    pub proxy_user_barcode: Option<String>,
    pub service_point_id: Option<String>,
    /// As clients write it; absent means now.
    pub loan_date: Option<String>,
    #[serde(deserialize_with = "lenient_json::object")]
    pub override_blocks: OverrideBlocks,
    pub force_loan_policy_id: Option<Uuid>,
    /// The desk wants a refusal if staff must confirm something about the item first.
    #[serde(skip)]
    pub refuses_unconfirmed: bool,
}

/// The user who acts, the time, and their permissions.
#[derive(Debug, Clone)]
pub struct Actor {
    pub by: Option<Uuid>,
    pub may: MayOverride,
    pub now: Timestamp,
    /// Id of the new loan.
    pub loan_id: Uuid,
    /// Nothing is saved, so no service point is needed.
    pub dry_run: bool,
}

/// A check-out requested at a desk.
#[derive(Debug)]
pub struct Scan {
    pub command: CheckOutRequest,
    pub actor: Actor,
    pub key: Option<IdempotencyKey>,
}

/// The decision, with the facts and the settings that it is based on.
pub type Done = (CheckOut, Facts, Arc<CirculationSettings>);

/// Checks out, durably: in a batch with others that arrive at the same time, or alone if patron or item is locked, the
/// item has a queue, or one of them occurs twice.
pub async fn check_out(
    tenant: &Arc<Tenant>,
    command: CheckOutRequest,
    actor: Actor,
    key: Option<IdempotencyKey>,
) -> Result<Done, Failure> {
    decide::refuse_unreadable(&command)?;
    let (scan, started) = (Arc::new(Scan { command, actor, key }), Instant::now());
    let done = match batcher::run(tenant, &scan).await {
        Ok(Outcome::Decided(result)) => result,
        Ok(Outcome::Alone(alone)) => check_out_alone(tenant, &scan, alone).await,
        Err(failure) => Err(failure),
    };
    scan_figures::record_time(tenant, ScanKind::CheckOut, started.elapsed());
    if let Err(failure) = &done {
        scan_figures::record_failure(tenant, failure, scan.actor.now);
    }
    if done.as_ref().is_ok_and(|(decision, ..)| !decision.notices.is_empty()) {
        crate::patron_notices::process_soon(tenant);
    }
    done
}

async fn check_out_alone(tenant: &Arc<Tenant>, scan: &Scan, alone: RunAlone) -> Result<Done, Failure> {
    let Scan { command, actor, .. } = scan;
    let (tx, facts, settings) = facts::gather(tenant, command, actor, alone.lock_first).await?;
    let decision = decide::decide(&facts, command, actor, &settings)?;
    let done = (decision, facts, settings);
    let written = apply::apply(tx, tenant, &[(scan, &done)]).await;
    written.map_err(|error| apply::failure(error, &done.0))?;
    Ok(done)
}

/// The policies for a check-out: runs all checks, saves nothing.
pub async fn dry_run(
    tenant: &Arc<Tenant>,
    command: &CheckOutRequest,
    actor: &Actor,
) -> Result<Policies, Failure> {
    decide::refuse_unreadable(command)?;
    let (_, facts, settings) = facts::gather(tenant, command, actor, None).await?;
    decide::policies(&facts, command, actor, &settings)
}

/// Check-outs of a tenant since the start, and the transactions in which they ran.
pub fn batch_figures(tenant: &Tenant) -> (u64, u64) {
    batcher::figures::<Scan>(tenant)
}

impl Batched for Scan {
    type Facts = Facts;
    type Settings = Arc<CirculationSettings>;
    type Done = Done;

    async fn gather(tenant: &Arc<Tenant>, scans: &[Arc<Scan>]) -> Result<Gathered<Scan>, Failure> {
        facts::gather_free(tenant, scans).await
    }

    fn decide(&self, facts: Facts, settings: &Arc<CirculationSettings>) -> Result<Done, Failure> {
        let decision = decide::decide(&facts, &self.command, &self.actor, settings)?;
        Ok((decision, facts, Arc::clone(settings)))
    }

    async fn apply(tx: Tx, tenant: &Tenant, decided: &[(&Scan, &Done)]) -> Result<(), DatabaseError> {
        apply::apply(tx, tenant, decided).await
    }
}
