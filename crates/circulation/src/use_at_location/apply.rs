//! The changed loan, with the commit.

use super::decide::Changed;
use carrel_audit::circulation_log;
use carrel_platform::{Pipeline, Tenant, Tx};
use carrel_records::Failure;
use jiff::Timestamp;

pub async fn apply(tx: Tx, tenant: &Tenant, changed: &Changed, now: Timestamp) -> Result<(), Failure> {
    let mut pipeline = Pipeline::new();
    crate::loans::store::update(&mut pipeline, &tenant.id, &changed.loan, None, now);
    circulation_log::write(&mut pipeline, &changed.log, now);
    tx.send_and_commit(pipeline).await?;
    Ok(())
}
