//! Check-in: an item is returned to a service point, by a patron, from transit, or found on a shelf.
//!
//! Route: `POST /circulation/check-in-by-barcode`. Reads the item, its open loan with the patron, and its queue; closes
//! the loan with a history row, routes the item (available, hold shelf, delivery, transit), updates the request that it
//! fulfills, charges the overdue fine, stores the check-in record and the desk session, announces `circulation.loan`,
//! `circulation.request` and `circulation.check-in`. Two round trips: facts, changes; a third for an item with a queue.
//! Check-ins that arrive while others run share a transaction (`platform/batcher`). A lost item is checked in alone,
//! and its fees are reversed in the same transaction (`lost_items/reversal`).

mod apply;
mod command;
mod decide;
mod facts;
mod route;

pub use command::{CheckInRequest, Resolution};
pub use decide::CheckIn;
pub use route::connect;

use crate::desk::idempotency::IdempotencyKey;
use crate::desk::scan_figures::{self, ScanKind};
use crate::lost_items::reversal::{self, Cause, FoundBy};
use crate::patron_notices::NoticeEvent;
use crate::settings::CirculationSettings;
use carrel_platform::batcher::{self, Batched, Gathered, Outcome, RunAlone};
use carrel_platform::database::DatabaseError;
use carrel_platform::http::Caller;
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Tenant, Tx};
use carrel_records::Failure;
use facts::Facts;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// A check-in requested at a desk.
#[derive(Debug)]
pub struct Scan {
    pub command: CheckInRequest,
    pub now: Timestamp,
    /// Id of the check-in record.
    pub record_id: Uuid,
    pub key: Option<IdempotencyKey>,
}

/// The decision, and the settings that it is based on.
pub type Done = (CheckIn, Arc<CirculationSettings>);

/// Checks in, durably: in a batch with others that arrive at the same time, or alone if the item is locked, has a
/// queue, or is scanned twice.
pub async fn check_in(
    tenant: &Arc<Tenant>,
    command: &CheckInRequest,
    now: Timestamp,
    key: Option<IdempotencyKey>,
) -> Result<Done, Failure> {
    let record_id = Uuid::new_v7(uuid_time(now));
    let scan = Arc::new(Scan { command: command.clone(), now, record_id, key });
    let started = Instant::now();
    let done = match batcher::run(tenant, &scan).await {
        Ok(Outcome::Decided(result)) => result,
        Ok(Outcome::Alone(alone)) => check_in_alone(tenant, &scan, alone).await,
        Err(failure) => Err(failure),
    };
    scan_figures::record_time(tenant, ScanKind::CheckIn, started.elapsed());
    let may_notify = |(decision, settings): &Done| {
        !decision.notices.is_empty()
            || decision.overdue_fine.is_some() && settings.wants_notices_of(NoticeEvent::OverdueFineReturned)
            || decision.ends_a_loss()
    };
    if done.as_ref().is_ok_and(may_notify) {
        crate::patron_notices::process_soon(tenant);
    }
    done
}

async fn check_in_alone(tenant: &Arc<Tenant>, scan: &Scan, alone: RunAlone) -> Result<Done, Failure> {
    let (mut tx, facts, settings) = facts::gather(tenant, &scan.command, alone.lock_first).await?;
    let lost_loan = facts.lost_loan();
    let decision = decide::decide(facts, &scan.command, &settings, scan.now, scan.record_id)?;
    if let Some(loan) = lost_loan {
        let caller = Caller { user_id: Some(scan.command.by), profile: tenant.profile, ..Caller::default() };
        let service_point = Some(scan.command.service_point);
        let found = FoundBy { cause: Cause::Returned, caller: &caller, service_point, now: scan.now };
        reversal::reverse(&mut tx, tenant, loan, &found, &settings).await?;
    }
    let done = (decision, settings);
    apply::apply(tx, tenant, &[(scan, &done)]).await?;
    Ok(done)
}

/// Check-ins of a tenant since the start, and the transactions in which they ran.
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
        let decision = decide::decide(facts, &self.command, settings, self.now, self.record_id)?;
        Ok((decision, Arc::clone(settings)))
    }

    async fn apply(tx: Tx, tenant: &Tenant, decided: &[(&Scan, &Done)]) -> Result<(), DatabaseError> {
        apply::apply(tx, tenant, decided).await
    }
}
