//! Background jobs for operators: due times, running nodes, and the result of the last run.
//!
//! Routes: `GET /admin/jobs`, `POST /admin/jobs/{name}/run` (due now), `POST /admin/jobs/{name}/cancel`.

use carrel_platform::{Answer, Call, Router, jobs};
use carrel_records::{Failure, time};
use http::StatusCode;
use serde_json::{Value, json};

pub fn connect(router: &mut Router) {
    router.on("GET", "/admin/jobs", list);
    router.on("POST", "/admin/jobs/{name}/run", run);
    router.on("POST", "/admin/jobs/{name}/cancel", cancel);
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let states = jobs::of_tenant(&call.node.platform().await?, &tenant.id).await?;
    let shown: Vec<Value> = states
        .iter()
        .map(|state| {
            json!({
                "name": state.name,
                "due": time::format(state.due),
                "runs": state.runs,
                "failures": state.failures,
                "runningOn": state.owner,
                "started": state.started.map(time::format),
                "ended": state.ended.map(time::format),
                "outcome": state.outcome,
                "failed": state.failed,
            })
        })
        .collect();
    Ok(Answer::json(&json!({"jobs": shown, "totalRecords": shown.len()})))
}

async fn run(call: Call) -> Result<Answer, Failure> {
    let name = known(&call)?;
    jobs::soon(&call.node.platform().await?, &call.tenant()?.id, name).await?;
    Ok(Answer::text(StatusCode::ACCEPTED, ""))
}

async fn cancel(call: Call) -> Result<Answer, Failure> {
    let name = known(&call)?;
    let running = jobs::cancel(&call.node.platform().await?, &call.tenant()?.id, name).await?;
    if running {
        Ok(Answer::text(StatusCode::ACCEPTED, ""))
    } else {
        Err(Failure::NotFound(format!("Job {name} is not running")))
    }
}

fn known(call: &Call) -> Result<&'static str, Failure> {
    let name = call.parameter(0);
    let jobs = call.node.jobs();
    let job = jobs.into_iter().find(|job| job.name == name);
    job.map(|job| job.name).ok_or_else(|| Failure::NotFound(format!("There is no job {name}")))
}
