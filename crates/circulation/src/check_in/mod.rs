//! Check-in: an item comes back to a service point, from a patron, from transit, or found on a shelf.
//!
//! Route: `POST /circulation/check-in-by-barcode`. Reads the item, its open loan with the patron, and its queue;
//! closes the loan with a history row, routes the item (available, hold shelf, delivery, transit), moves the
//! request that it fulfills on, keeps the check-in record and the desk session, announces `circulation.loan`,
//! `circulation.request` and `circulation.check-in`. Two flights: facts, changes; a third where there is a queue.
//! Check-ins that come while others are under way share theirs (`together`).

mod apply;
mod decide;
mod facts;
mod order;
mod route;
mod together;

pub use apply::move_on;
pub use decide::{CheckIn, MovedRequest, TakenIn, moved};
pub use order::{Order, Resolution};
pub use route::connect;

use crate::desk::company::{self, Outcome};
use crate::rulebook::Rulebook;
use carrel_platform::Tenant;
use carrel_platform::record_store::write::uuid_time;
use carrel_records::Failure;
use jiff::Timestamp;
use std::sync::Arc;
use uuid::Uuid;

/// One check-in that is asked for.
#[derive(Debug)]
pub struct Scan {
    pub order: Order,
    pub now: Timestamp,
    /// Id of the check-in record.
    pub record_id: Uuid,
}

/// What was decided, and by which rules.
pub type Done = (CheckIn, Arc<Rulebook>);

/// Checks in, durably: with others that come at the same time, or by itself where they cannot help it.
pub async fn check_in(tenant: &Arc<Tenant>, order: &Order, now: Timestamp) -> Result<Done, Failure> {
    let scan = Arc::new(Scan { order: order.clone(), now, record_id: Uuid::new_v7(uuid_time(now)) });
    match company::go(tenant, &scan).await? {
        Outcome::Answered(answer) => answer,
        Outcome::ByItself(queue) => by_itself(tenant, &scan, queue).await,
    }
}

async fn by_itself(tenant: &Arc<Tenant>, scan: &Scan, queue: Option<Uuid>) -> Result<Done, Failure> {
    let (tx, facts, book) = facts::gather(tenant, &scan.order, queue).await?;
    let decision = decide::decide(facts, &scan.order, &book, scan.now, scan.record_id)?;
    let decided = apply::Decided { decision: &decision, order: &scan.order, now: scan.now };
    apply::apply(tx, tenant, &[decided]).await?;
    Ok((decision, book))
}
