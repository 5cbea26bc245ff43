//! Check-in: an item comes back to a service point, from a patron, from transit, or found on a shelf.
//!
//! Route: `POST /circulation/check-in-by-barcode`. Reads the item, its open loan with the patron, and its queue;
//! closes the loan with a history row, routes the item (available, hold shelf, delivery, transit), moves the
//! request that it fulfills on, keeps the check-in record and the desk session, announces `circulation.loan`,
//! `circulation.request` and `circulation.check-in`. Two flights: facts, changes; a third where there is a queue.

mod apply;
mod decide;
mod facts;
mod order;
mod route;

pub use apply::move_on;
pub use decide::{CheckIn, MovedRequest, TakenIn, moved};
pub use order::{Order, Resolution};
pub use route::connect;

use crate::rulebook::Rulebook;
use carrel_platform::Tenant;
use carrel_platform::record_store::write::uuid_time;
use carrel_records::Failure;
use jiff::Timestamp;
use std::sync::Arc;
use uuid::Uuid;

/// Checks in, durably.
pub async fn check_in(
    tenant: &Arc<Tenant>,
    order: &Order,
    now: Timestamp,
) -> Result<(CheckIn, Arc<Rulebook>), Failure> {
    let (tx, facts, book) = facts::gather(tenant, order).await?;
    let record_id = Uuid::new_v7(uuid_time(now));
    let decision = decide::decide(facts, order, &book, now, record_id)?;
    apply::apply(tx, tenant, &decision, order, now).await?;
    Ok((decision, book))
}
