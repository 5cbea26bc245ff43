//! Scans of one kind that come while others are under way go together: one transaction locks what is free, reads the
//! facts of all, and writes what was decided for each. Each is decided by itself and refused by itself.

use crate::settings::CirculationSettings;
use crate::{check_in, check_out};
use carrel_platform::batcher::Batcher;
use carrel_platform::database::DatabaseError;
use carrel_platform::{Bind, Tenant, Tx};
use carrel_records::Failure;
use std::future::Future;
use std::sync::Arc;
use uuid::Uuid;

/// What becomes of one scan of a batch.
pub enum Outcome<Done> {
    Answered(Result<Done, Failure>),
    /// It must go by itself, as it would have to wait for a lock, or as others in the batch are of the same patron or
    /// item; with this queue held, where one waits for its item.
    ByItself(Option<Uuid>),
}

/// What was read for each scan of a batch, in their order: its facts, or where it must go by itself its queue.
pub type Gathered<Facts> = (Tx, Vec<Result<Facts, Option<Uuid>>>, Arc<CirculationSettings>);

/// A scan that may go with others of its kind.
pub trait Batched: Sized + Send + Sync + 'static {
    type Facts: Send;
    type Done: Send + Sync + 'static;

    /// Locks what is free, waiting for nothing, and reads the facts.
    fn gather(
        tenant: &Arc<Tenant>,
        scans: &[Arc<Self>],
    ) -> impl Future<Output = Result<Gathered<Self::Facts>, Failure>> + Send;

    /// Decides for this one.
    fn decide(&self, facts: Self::Facts, settings: &Arc<CirculationSettings>) -> Result<Self::Done, Failure>;

    /// Writes what was decided: all or nothing.
    fn apply(
        tx: Tx,
        tenant: &Tenant,
        decided: &[(&Self, &Self::Done)],
    ) -> impl Future<Output = Result<(), DatabaseError>> + Send;
}

type Queue<Scan> = Batcher<Arc<Scan>, Outcome<<Scan as Batched>::Done>>;

/// Lets a scan go with those that come at the same time.
pub async fn go<Scan: Batched>(
    tenant: &Arc<Tenant>,
    scan: &Arc<Scan>,
) -> Result<Outcome<Scan::Done>, Failure> {
    let queue_of_calls = tenant.state.of::<Queue<Scan>>();
    let tenant = Arc::clone(tenant);
    queue_of_calls
        .answer(Arc::clone(scan), move |scans| {
            let tenant = Arc::clone(&tenant);
            async move { all(&tenant, &scans).await }
        })
        .await
}

async fn all<Scan: Batched>(tenant: &Arc<Tenant>, scans: &[Arc<Scan>]) -> Vec<Outcome<Scan::Done>> {
    let (tx, facts, settings) = match Scan::gather(tenant, scans).await {
        Ok(gathered) => gathered,
        Err(failure) => return without_facts(&failure, scans.len()),
    };
    let mut outcomes: Vec<_> = facts
        .into_iter()
        .zip(scans)
        .map(|(facts, scan)| match facts {
            Ok(facts) => Outcome::Answered(scan.decide(facts, &settings)),
            Err(queue) => Outcome::ByItself(queue),
        })
        .collect();
    let decided: Vec<_> = outcomes
        .iter()
        .zip(scans)
        .filter_map(|(outcome, scan)| match outcome {
            Outcome::Answered(Ok(done)) => Some((&**scan, done)),
            _ => None,
        })
        .collect();
    if !decided.is_empty()
        && let Err(error) = Scan::apply(tx, tenant, &decided).await
    {
        take_back(&mut outcomes, error);
    }
    outcomes
}

/// Scans of each kind since the start, and the transactions that they went in.
pub fn all_figures(tenant: &Tenant) -> [(&'static str, (u64, u64)); 2] {
    [
        ("check-out", tenant.state.of::<Queue<check_out::Scan>>().figures()),
        ("check-in", tenant.state.of::<Queue<check_in::Scan>>().figures()),
    ]
}

/// What the scans of a batch say, bound as an array, or as it is where there is one scan.
pub fn given(mut said: Vec<String>) -> Bind {
    if said.len() > 1 { said.into() } else { said.pop().into() }
}

/// The outcome for so many whose facts could not be read. Nothing is written yet.
fn without_facts<Done>(failure: &Failure, scans: usize) -> Vec<Outcome<Done>> {
    let outcome = || match failure {
        Failure::Unavailable(_) => Outcome::Answered(Err(reported_to_each(failure))),
        // Each hears by itself what is wrong.
        _ => Outcome::ByItself(None),
    };
    std::iter::repeat_with(outcome).take(scans).collect()
}

/// Takes back the answers whose changes could not be written.
fn take_back<Done>(outcomes: &mut [Outcome<Done>], error: DatabaseError) {
    let undone = error.is_refusal();
    let failure = Failure::from(error);
    for outcome in outcomes.iter_mut().filter(|outcome| matches!(outcome, Outcome::Answered(Ok(_)))) {
        // What was refused to all has not happened to any: each tries by itself.
        *outcome = match undone {
            true => Outcome::ByItself(None),
            false => Outcome::Answered(Err(reported_to_each(&failure))),
        };
    }
}

fn reported_to_each(failure: &Failure) -> Failure {
    match failure {
        Failure::Unavailable(words) => Failure::Unavailable(words.clone()),
        Failure::Internal { context, cause: Some(cause) } => Failure::internal(format!("{context}: {cause}")),
        other => Failure::internal(other.to_string()),
    }
}
