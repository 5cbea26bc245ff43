//! Check-outs go together (`desk::scan_batch`).

use super::decide::CheckOut;
use super::facts::Facts;
use super::{Done, Scan, apply, decide, facts};
use crate::desk::scan_batch::{Batched, Gathered};
use crate::settings::CirculationSettings;
use carrel_platform::database::DatabaseError;
use carrel_platform::{Tenant, Tx};
use carrel_records::Failure;
use std::sync::Arc;

impl Batched for Scan {
    type Facts = Facts;
    type Done = Done;

    async fn gather(tenant: &Arc<Tenant>, scans: &[Arc<Scan>]) -> Result<Gathered<Facts>, Failure> {
        facts::gather_free(tenant, scans).await
    }

    fn decide(&self, facts: Facts, settings: &Arc<CirculationSettings>) -> Result<Done, Failure> {
        let decision = decide::decide(&facts, &self.command, &self.actor, settings)?;
        Ok((decision, facts, Arc::clone(settings)))
    }

    async fn apply(tx: Tx, tenant: &Tenant, decided: &[(&Scan, &Done)]) -> Result<(), DatabaseError> {
        let decisions: Vec<(&CheckOut, _)> =
            decided.iter().map(|(scan, (decision, ..))| (decision, scan.actor.now)).collect();
        apply::apply(tx, tenant, &decisions).await
    }
}
