//! The changed loan, with the commit.

use super::decide::Changed;
use carrel_platform::{Flight, Tenant, Tx};
use carrel_records::Failure;
use jiff::Timestamp;

pub async fn apply(tx: Tx, tenant: &Tenant, changed: &Changed, now: Timestamp) -> Result<(), Failure> {
    let mut flight = Flight::new();
    crate::loans::store::change(&mut flight, &tenant.id, &changed.loan, now);
    tx.fly_and_commit(flight).await?;
    Ok(())
}
