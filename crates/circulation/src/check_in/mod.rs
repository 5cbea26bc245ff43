//! Check-in: an item comes back to a service point, from a patron, from transit, or found on a shelf.
//!
//! Route: `POST /circulation/check-in-by-barcode`. Reads the item, its open loan with the patron, and its queue;
//! closes the loan with a history row, routes the item (available, hold shelf, delivery, transit), moves the
//! request that it fulfills on, keeps the check-in record and the desk session, announces `circulation.loan`,
//! `circulation.request` and `circulation.check-in`. Two pipelines: facts, changes; a third where there is a queue.
//! Check-ins that come while others are under way share theirs (`batcher`).

mod apply;
mod batch;
mod command;
mod decide;
mod facts;
mod route;

pub use apply::move_on;
pub use command::{CheckInRequest, Resolution};
pub use decide::{CheckIn, MovedRequest, TakenIn, moved};
pub use route::connect;

use crate::desk::scan_batch::{self, Outcome};
use crate::settings::CirculationSettings;
use carrel_platform::Tenant;
use carrel_platform::record_store::write::uuid_time;
use carrel_records::Failure;
use jiff::Timestamp;
use std::sync::Arc;
use uuid::Uuid;

/// One check-in that is asked for.
#[derive(Debug)]
pub struct Scan {
    pub command: CheckInRequest,
    pub now: Timestamp,
    /// Id of the check-in record.
    pub record_id: Uuid,
}

/// What was decided, and by which rules.
pub type Done = (CheckIn, Arc<CirculationSettings>);

/// Checks in, durably: with others that come at the same time, or by itself where they cannot help it.
pub async fn check_in(
    tenant: &Arc<Tenant>,
    command: &CheckInRequest,
    now: Timestamp,
) -> Result<Done, Failure> {
    let scan = Arc::new(Scan { command: command.clone(), now, record_id: Uuid::new_v7(uuid_time(now)) });
    match scan_batch::go(tenant, &scan).await? {
        Outcome::Answered(answer) => answer,
        Outcome::ByItself(queue) => by_itself(tenant, &scan, queue).await,
    }
}

async fn by_itself(tenant: &Arc<Tenant>, scan: &Scan, queue: Option<Uuid>) -> Result<Done, Failure> {
    let (tx, facts, settings) = facts::gather(tenant, &scan.command, queue).await?;
    let decision = decide::decide(facts, &scan.command, &settings, scan.now, scan.record_id)?;
    let decided = apply::Decided { decision: &decision, command: &scan.command, now: scan.now };
    apply::apply(tx, tenant, &[decided]).await?;
    Ok((decision, settings))
}
