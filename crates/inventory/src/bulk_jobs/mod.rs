//! Walks: runs over all titles or items that somebody asks for: to announce every title again, for search engines
//! (reindex) or another program (iteration), or to mend what an older release has stored (migration).
//!
//! Routes: `/instance-storage/reindex…`, `/instance-storage/instances/iteration…`, `/inventory-storage/migrations…`,
//! `/inventory-reindex-records/publish`. A bulk job is a record with a status, and the job `inventory-bulk_jobs` goes on with
//! it where it stands: what is announced, how many, and how far it has come commit together, so that another node
//! takes it up after a crash and nothing is announced twice or left out. Announces `inventory.instance`,
//! `inventory.reindex-records` and the topics that iterations name.

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

/// Goes on with the bulk jobs that were asked for.
pub static BULK_JOBS: Job = Job {
    name: "inventory-walks",
    every: Duration::from_secs(300),
    // A longer bulk job goes on where it stood when the job is due next.
    deadline: Duration::from_secs(3600),
    run: |run| Box::pin(go_on(run)),
};

async fn go_on(run: Run) -> Result<String, Failure> {
    let mut steps = 0;
    for kind in Kind::ALL {
        while step::take(&run.tenant, kind).await? == Step::Taken {
            steps += 1;
        }
    }
    Ok(format!("{steps} steps"))
}
