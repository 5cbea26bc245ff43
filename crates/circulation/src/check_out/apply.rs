//! The changes of a check-out, with the commit, in one flight.

use super::decide::CheckOut;
use carrel_inventory::item_state::{self, StateChange};
use carrel_platform::{Bind, Flight, Tenant, Tx, outbox};
use carrel_records::{Failure, Refusal};
use jiff::Timestamp;
use serde_json::Value;

/// Writes the loan and all that goes with it; a second open loan of the item is refused by the database.
pub async fn apply(tx: Tx, tenant: &Tenant, decision: &CheckOut, now: Timestamp) -> Result<(), Failure> {
    let mut flight = Flight::new();
    let loan = Value::Object(crate::loans::store::stored(&decision.loan)).to_string();
    let insert = flight.change(
        "INSERT INTO loan (id, doc) VALUES ($1, $2)",
        vec![decision.loan_id.into(), Bind::Json(loan.clone())],
    );
    crate::loans::history::write(&mut flight, "I", &loan, now);
    let checked_out =
        StateChange { status: "Checked out", in_transit_destination: None, last_check_in: None };
    item_state::change(&mut flight, decision.item_id, &checked_out, now);
    if let Some(filled) = decision.fills {
        crate::desk::queue::close(&mut flight, &tenant.id, filled, "Closed - Filled", now);
        crate::desk::queue::write(&mut flight, &decision.moves_up);
    }
    crate::loans::session::record(
        &mut flight,
        decision.patron_id,
        decision.loan_id,
        "Check-out",
        &Default::default(),
        now,
    );
    let payload = format!(
        "{{\"type\":\"CREATE\",\"tenant\":\"{}\",\"cause\":\"check-out\",\"new\":{loan}}}",
        tenant.id
    );
    outbox::announce_text(&mut flight, "circulation.loan", decision.loan_id.to_string(), payload, now);
    tx.fly_and_commit(flight).await.map_err(|error| {
        if error.is_unique_violation() && error.step == insert {
            let barcode = decision.item_id.to_string();
            return Failure::refused(
                Refusal::new("Cannot check out item that already has an open loan")
                    .with("itemId", barcode)
                    .code("ITEM_HAS_OPEN_LOAN"),
            );
        }
        Failure::from(error)
    })?;
    Ok(())
}
