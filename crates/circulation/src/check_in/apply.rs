//! The changes of a check-in, with the commit, in one flight.

use super::Order;
use super::decide::{CheckIn, MovedRequest};
use carrel_inventory::item_state;
use carrel_platform::{Flight, Tenant, Tx, outbox};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::{Value, json};

/// Writes all that the check-in changes.
pub async fn apply(
    tx: Tx,
    tenant: &Tenant,
    decision: &CheckIn,
    order: &Order,
    now: Timestamp,
) -> Result<(), Failure> {
    let mut flight = Flight::new();
    if let Some(closed) = &decision.loan {
        closed.change.apply(&mut flight, "UPDATE loan SET doc = (doc - $2::text[]) || $3 WHERE id = $1");
        let loan = Value::Object(closed.change.document().clone()).to_string();
        crate::loans::history::write(&mut flight, "U", &loan, now);
        if let Some(patron) = closed.patron {
            let visit = crate::loans::session::Visit { session: order.session, by: Some(order.by) };
            crate::loans::session::record(&mut flight, patron, closed.change.id, "Check-in", &visit, now);
        }
        closed.change.announce(&mut flight, "circulation.loan", &tenant.id, now);
    }
    if let Some(request) = &decision.request {
        move_on(&mut flight, tenant, request, now);
    }
    if let Some(location) = decision.floats_to {
        flight.add(
            "UPDATE item SET doc = doc || $2 WHERE id = $1",
            vec![
                decision.item.id.into(),
                (&json!({"temporaryLocationId": location, "effectiveLocationId": location})).into(),
            ],
        );
    }
    item_state::change(&mut flight, decision.item.id, &decision.state, now);
    let record = Value::Object(decision.record.clone());
    flight.change(
        "INSERT INTO check_in (id, doc) VALUES ($1, $2)",
        vec![decision.record_id.into(), (&record).into()],
    );
    outbox::announce(
        &mut flight,
        "circulation.check-in",
        decision.record_id.to_string(),
        &json!({"type": "CREATE", "tenant": tenant.id, "new": record}),
        now,
    );
    tx.fly_and_commit(flight).await?;
    Ok(())
}

/// Adds the statements that move a request on.
pub fn move_on(flight: &mut Flight, tenant: &Tenant, request: &MovedRequest, now: Timestamp) {
    request.change.apply(flight, "UPDATE request SET doc = (doc - $2::text[]) || $3 WHERE id = $1");
    crate::desk::queue::write(flight, &request.positions);
    request.change.announce(flight, "circulation.request", &tenant.id, now);
}
