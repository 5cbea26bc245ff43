//! The changes of a renewal, with the commit, in one flight.

use super::Asking;
use super::decide::Renewed;
use super::facts::Facts;
use crate::loans::store;
use carrel_inventory::item_state::{self, StateChange};
use carrel_platform::{Flight, Tenant, Tx};
use carrel_records::Failure;

pub async fn apply(
    tx: Tx,
    tenant: &Tenant,
    facts: &Facts,
    renewed: &Renewed,
    asking: &Asking,
) -> Result<(), Failure> {
    let loan = facts.loan.as_ref().ok_or_else(|| Failure::internal("only a loan is renewed"))?;
    let mut flight = Flight::new();
    let changed = store::stamped(renewed.loan.clone(), asking.by, asking.now);
    store::replace(&mut flight, &tenant.id, loan.id, &loan.document, &changed, "renewal", asking.now);
    if let (Some(status), Some(item)) = (renewed.item_status, &facts.item) {
        let change = StateChange { status, in_transit_destination: None, last_check_in: None };
        item_state::change(&mut flight, item.id, &change, asking.now);
    }
    tx.fly_and_commit(flight).await?;
    Ok(())
}
