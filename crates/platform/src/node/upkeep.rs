//! Jobs of every tenant, independent of modules: indexes of large tables, and the deletion of old events.

use crate::jobs::Job;
use crate::outbox;
use jiff::Timestamp;
use std::time::Duration;

/// Builds the indexes of large tables that an upgrade has deferred.
pub static INDEX_BUILDS: Job = Job {
    name: "index-builds",
    every: Duration::from_secs(3600),
    deadline: Duration::from_secs(6 * 3600),
    run: |run| Box::pin(async move { run.tenant.build_missing_indexes().await }),
};

/// Deletes events older than [`outbox::RETENTION`].
pub static OUTBOX_RETENTION: Job = Job {
    name: "outbox-retention",
    every: Duration::from_secs(3600),
    deadline: Duration::from_secs(1800),
    run: |run| {
        Box::pin(async move {
            let deleted = outbox::prune(&run.tenant, Timestamp::now() - outbox::RETENTION).await?;
            if deleted > 0 {
                for (reader, position) in outbox::reader::late(&run.tenant).await? {
                    tracing::error!(
                        tenant = run.tenant.id,
                        reader,
                        position,
                        "events after this number were deleted before they were sent"
                    );
                }
            }
            Ok(format!("{deleted} events deleted"))
        })
    },
};
