//! Check-ins go together (`desk::company`).

use super::apply::{self, Decided};
use super::facts::Facts;
use super::{Done, Scan, decide, facts};
use crate::desk::company::{Gathered, GoesTogether};
use crate::rulebook::Rulebook;
use carrel_platform::database::DatabaseError;
use carrel_platform::{Tenant, Tx};
use carrel_records::Failure;
use std::sync::Arc;

impl GoesTogether for Scan {
    type Facts = Facts;
    type Done = Done;

    async fn gather(tenant: &Arc<Tenant>, scans: &[Arc<Scan>]) -> Result<Gathered<Facts>, Failure> {
        let orders: Vec<_> = scans.iter().map(|scan| &scan.order).collect();
        facts::gather_free(tenant, &orders).await
    }

    fn decide(&self, facts: Facts, book: &Arc<Rulebook>) -> Result<Done, Failure> {
        let decision = decide::decide(facts, &self.order, book, self.now, self.record_id)?;
        Ok((decision, Arc::clone(book)))
    }

    async fn apply(tx: Tx, tenant: &Tenant, decided: &[(&Scan, &Done)]) -> Result<(), DatabaseError> {
        let decisions: Vec<_> = decided
            .iter()
            .map(|(scan, (decision, _))| Decided { decision, order: &scan.order, now: scan.now })
            .collect();
        apply::apply(tx, tenant, &decisions).await
    }
}
