//! The changes of check-outs, with the commit, in one round trip.

use super::decide::CheckOut;
use super::{Done, Scan, route};
use crate::desk::idempotency;
use crate::loans::{session, store};
use crate::records::loans::ONE_OPEN_LOAN;
use carrel_audit::circulation_log;
use carrel_inventory::item_state::{self, StateChange};
use carrel_loan_rules::request::RequestStatus;
use carrel_platform::database::DatabaseError;
use carrel_platform::{Pipeline, Tenant, Tx};
use carrel_records::{Failure, ItemStatus, Refusal, RefusalCode};
use jiff::Timestamp;

/// Writes the changes of check-outs of different patrons and items: all or none. The database refuses a second open
/// loan of an item.
pub async fn apply(tx: Tx, tenant: &Tenant, scans: &[(&Scan, &Done)]) -> Result<(), DatabaseError> {
    let mut pipeline = Pipeline::new();
    for (scan, (decision, ..)) in scans {
        write(&mut pipeline, tenant, decision, scan.actor.now);
    }
    for (scan, done) in scans {
        if let Some(key) = &scan.key {
            let loan = Some(done.0.loan_id);
            idempotency::keep(&mut pipeline, key, loan, &route::answer(done), scan.actor.now);
        }
    }
    tx.send_and_commit(pipeline).await.map(|_| ())
}

fn write(pipeline: &mut Pipeline, tenant: &Tenant, decision: &CheckOut, now: Timestamp) {
    store::insert(pipeline, &tenant.id, decision.loan_id, &decision.loan, Some("check-out"), now);
    let checked_out =
        StateChange { status: ItemStatus::CheckedOut, in_transit_destination: None, last_check_in: None };
    item_state::change(pipeline, decision.item_id, &checked_out, now);
    if let Some(filled) = decision.fills {
        crate::desk::queue::close(pipeline, &tenant.id, filled, RequestStatus::Filled, now);
        crate::desk::queue::write(pipeline, &decision.moves_up);
    }
    session::record(pipeline, decision.patron_id, decision.loan_id, "Check-out", &Default::default(), now);
    circulation_log::write_all(pipeline, &decision.log, now);
    crate::patron_notices::record(pipeline, &decision.notices, now);
    if let Some(reminder) = &decision.first_reminder {
        crate::reminder_schedule::schedule(pipeline, reminder, now);
    }
}

/// The refusal or failure of a check-out that the database refused.
pub fn failure(error: DatabaseError, decision: &CheckOut) -> Failure {
    if error.constraint.as_deref() == Some(ONE_OPEN_LOAN) {
        let refusal = Refusal::new("Cannot check out item that already has an open loan")
            .with("itemId", decision.item_id.to_string());
        return refusal.code(RefusalCode::ItemHasOpenLoan).into();
    }
    error.into()
}
