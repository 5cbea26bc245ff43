//! The changes of check-outs, with the commit, in one round trip.

use super::decide::CheckOut;
use super::{Done, Scan, route};
use crate::desk::idempotency;
use crate::records::loans::ONE_OPEN_LOAN;
use carrel_audit::circulation_log;
use carrel_inventory::item_state::{self, StateChange};
use carrel_platform::database::DatabaseError;
use carrel_platform::{Bind, Event, Pipeline, RowChange, Tenant, Tx, outbox};
use carrel_records::{Failure, Refusal};
use jiff::Timestamp;

/// Writes the changes of check-outs of different patrons and items: all or none. The database refuses a second open loan
/// of an item.
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
    let loan = crate::loans::store::stored_text(&decision.loan);
    pipeline.change_row(&LOAN, vec![decision.loan_id.into(), Bind::Json(loan.clone())]);
    crate::loans::history::write(pipeline, "I", &loan, now);
    let checked_out =
        StateChange { status: "Checked out", in_transit_destination: None, last_check_in: None };
    item_state::change(pipeline, decision.item_id, &checked_out, now);
    if let Some(filled) = decision.fills {
        crate::desk::queue::close(pipeline, &tenant.id, filled, "Closed - Filled", now);
        crate::desk::queue::write(pipeline, &decision.moves_up);
    }
    crate::loans::session::record(
        pipeline,
        decision.patron_id,
        decision.loan_id,
        "Check-out",
        &Default::default(),
        now,
    );
    for entry in &decision.log {
        circulation_log::write(pipeline, entry, now);
    }
    crate::patron_notices::record(pipeline, &decision.notices, now);
    if let Some(reminder) = &decision.first_reminder {
        crate::reminders::schedule(pipeline, reminder, now);
    }
    let event = Event::created(&tenant.id, &loan).because("check-out").to_string();
    outbox::announce(pipeline, "circulation.loan", decision.loan_id.to_string(), event, now);
}

static LOAN: RowChange = RowChange {
    one: "INSERT INTO loan (id, doc) VALUES ($1, $2)",
    several: "INSERT INTO loan (id, doc) SELECT * FROM unnest($1::uuid[], $2::jsonb[])",
};

/// The refusal or failure of a check-out that the database did not take.
pub fn failure(error: DatabaseError, decision: &CheckOut) -> Failure {
    if error.constraint.as_deref() == Some(ONE_OPEN_LOAN) {
        let refusal = Refusal::new("Cannot check out item that already has an open loan")
            .with("itemId", decision.item_id.to_string());
        return refusal.code("ITEM_HAS_OPEN_LOAN").into();
    }
    error.into()
}
