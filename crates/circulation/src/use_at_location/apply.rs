//! The changed loan, with the commit.

use super::decide::Changed;
use crate::desk::record_change::LOAN;
use carrel_platform::{Flight, Tenant, Tx};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::Value;

pub async fn apply(tx: Tx, tenant: &Tenant, changed: &Changed, now: Timestamp) -> Result<(), Failure> {
    let mut flight = Flight::new();
    changed.loan.apply(&mut flight, &LOAN);
    let loan = Value::Object(changed.loan.document().clone()).to_string();
    crate::loans::history::write(&mut flight, "U", &loan, now);
    changed.loan.announce(&mut flight, "circulation.loan", &tenant.id, now);
    tx.fly_and_commit(flight).await?;
    Ok(())
}
