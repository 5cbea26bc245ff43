//! Scans of one kind that come while others are under way go together: one transaction locks what is free, reads the
//! facts of all, and writes what was decided for each. Each is decided by itself and refused by itself.

use crate::{check_in, check_out};
use carrel_platform::Tenant;
use carrel_platform::database::DatabaseError;
use carrel_platform::together::Together;
use carrel_records::Failure;
use std::future::Future;
use std::sync::Arc;
use uuid::Uuid;

/// What becomes of one scan of a company.
pub enum Outcome<Done> {
    Answered(Result<Done, Failure>),
    /// It must go by itself, as it would have to wait for a lock, or as others in the company are of the same patron or
    /// item; with this queue held, where one waits for its item.
    ByItself(Option<Uuid>),
}

/// Lets a scan go with those that come at the same time.
pub async fn go<Scan, Done, Work, All>(
    tenant: &Arc<Tenant>,
    scan: &Arc<Scan>,
    all: Work,
) -> Result<Outcome<Done>, Failure>
where
    Scan: Send + Sync + 'static,
    Done: Send + 'static,
    Work: Fn(Arc<Tenant>, Vec<Arc<Scan>>) -> All + Send + Sync + 'static,
    All: Future<Output = Vec<Outcome<Done>>> + Send + 'static,
{
    let meeting = tenant.kept.of::<Together<Arc<Scan>, Outcome<Done>>>();
    let tenant = Arc::clone(tenant);
    meeting.answer(Arc::clone(scan), move |scans| all(Arc::clone(&tenant), scans)).await
}

/// Scans of a kind since the start, and the transactions that they went in.
fn figures<Scan, Done>(tenant: &Tenant) -> (u64, u64)
where
    Scan: Send + Sync + 'static,
    Done: Send + 'static,
{
    tenant.kept.of::<Together<Arc<Scan>, Outcome<Done>>>().figures()
}

/// The figures of each kind of scan.
pub fn all_figures(tenant: &Tenant) -> [(&'static str, (u64, u64)); 2] {
    [
        ("check-out", figures::<check_out::Scan, check_out::Done>(tenant)),
        ("check-in", figures::<check_in::Scan, check_in::Done>(tenant)),
    ]
}

/// The outcome for so many whose facts could not be read. Nothing is written yet.
pub fn without_facts<Done>(failure: &Failure, scans: usize) -> Vec<Outcome<Done>> {
    let outcome = || match failure {
        Failure::Unavailable(_) => Outcome::Answered(Err(told_to_each(failure))),
        // Each hears by itself what is wrong.
        _ => Outcome::ByItself(None),
    };
    std::iter::repeat_with(outcome).take(scans).collect()
}

/// Takes back the answers whose changes could not be written.
pub fn take_back<Done>(outcomes: &mut [Outcome<Done>], error: DatabaseError) {
    let undone = error.is_refusal();
    let failure = Failure::from(error);
    for outcome in outcomes.iter_mut().filter(|outcome| matches!(outcome, Outcome::Answered(Ok(_)))) {
        // What was refused to all has not happened to any: each tries by itself.
        *outcome = match undone {
            true => Outcome::ByItself(None),
            false => Outcome::Answered(Err(told_to_each(&failure))),
        };
    }
}

fn told_to_each(failure: &Failure) -> Failure {
    match failure {
        Failure::Unavailable(words) => Failure::Unavailable(words.clone()),
        Failure::Internal { context, cause: Some(cause) } => Failure::internal(format!("{context}: {cause}")),
        other => Failure::internal(other.to_string()),
    }
}
