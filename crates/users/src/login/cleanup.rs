//! Deletes what logging in leaves behind: expired refresh tokens and password links, old counts of attempts.
//!
//! Job: `login-cleanup`, every hour.

use crate::login::attempts;
use carrel_platform::jobs::Job;
use carrel_platform::{Pipeline, Tenant};
use carrel_records::Failure;
use jiff::Timestamp;
use std::time::Duration;

/// Keeps the tables of logging in small.
pub static CLEANUP: Job = Job {
    name: "login-cleanup",
    every: Duration::from_secs(3600),
    deadline: Duration::from_secs(600),
    run: |run| {
        Box::pin(async move {
            delete_expired(&run.tenant, Timestamp::now()).await?;
            Ok("expired tokens, links and attempts deleted".to_owned())
        })
    },
};

async fn delete_expired(tenant: &Tenant, now: Timestamp) -> Result<(), Failure> {
    let mut pipeline = Pipeline::new();
    pipeline.add("DELETE FROM refresh_token WHERE ends < $1", vec![now.into()]);
    pipeline.add("DELETE FROM auth_password_action WHERE ends < $1", vec![now.into()]);
    attempts::delete_old(&mut pipeline, now);
    tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(())
}
