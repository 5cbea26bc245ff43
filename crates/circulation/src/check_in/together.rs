//! Check-ins that go together (`desk::company`).

use super::apply::{self, Decided};
use super::{Done, Scan, decide, facts};
use crate::desk::company::{self, Outcome};
use carrel_platform::Tenant;
use std::sync::Arc;

/// Checks in for all of a company.
pub async fn check_in(tenant: Arc<Tenant>, scans: Vec<Arc<Scan>>) -> Vec<Outcome<Done>> {
    let orders: Vec<_> = scans.iter().map(|scan| &scan.order).collect();
    let (tx, facts, book) = match facts::gather_free(&tenant, &orders).await {
        Ok(gathered) => gathered,
        Err(failure) => return company::without_facts(&failure, scans.len()),
    };
    let decide = |(facts, scan): (Result<facts::Facts, _>, &Arc<Scan>)| match facts {
        Ok(facts) => {
            let decided = decide::decide(facts, &scan.order, &book, scan.now, scan.record_id);
            Outcome::Answered(decided.map(|decision| (decision, Arc::clone(&book))))
        }
        Err(queue) => Outcome::ByItself(queue),
    };
    let mut outcomes: Vec<_> = facts.into_iter().zip(&scans).map(decide).collect();
    let decided: Vec<_> = outcomes
        .iter()
        .zip(&scans)
        .filter_map(|(outcome, scan)| match outcome {
            Outcome::Answered(Ok((decision, _))) => {
                Some(Decided { decision, order: &scan.order, now: scan.now })
            }
            _ => None,
        })
        .collect();
    if !decided.is_empty()
        && let Err(error) = apply::apply(tx, &tenant, &decided).await
    {
        company::take_back(&mut outcomes, error);
    }
    outcomes
}
