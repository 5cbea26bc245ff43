//! Bulk jobs over all instances or items: an event for every instance, for search engines (reindex) or another program
//! (iteration), or an update of records of an older release (migration).
//!
//! Routes: `/instance-storage/reindex…`, `/instance-storage/instances/iteration…`, `/inventory-storage/migrations…`,
//! `/inventory-reindex-records/publish`. A bulk job is a record with a status; the job `inventory-walks` continues it
//! in steps. The events, the number of records and the position of a step commit together, so that another node
//! continues after a crash and every event is published exactly once. Announces `inventory.instance`,
//! `inventory.reindex-records` and the topics of iterations.

mod announcing;
mod migration;
mod publish;
mod route;
mod step;

pub use route::routes;

use carrel_platform::jobs::{Job, Run};
use carrel_records::Failure;
use std::time::Duration;
use step::{Kind, Step};

/// Continues the requested bulk jobs.
pub static BULK_JOBS: Job = Job {
    name: "inventory-walks",
    every: Duration::from_secs(300),
    // A longer bulk job continues at its position in the next run.
    deadline: Duration::from_secs(3600),
    run: |run| Box::pin(run_steps(run)),
};

async fn run_steps(run: Run) -> Result<String, Failure> {
    let mut steps = 0;
    for kind in Kind::ALL {
        while step::take(&run.tenant, kind).await? == Step::Taken {
            steps += 1;
        }
    }
    Ok(format!("{steps} steps"))
}
