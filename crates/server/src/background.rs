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
                "due": state.due.map(time::format),
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
    let name = known(&call).await?;
    jobs::soon(&call.node.platform().await?, &call.tenant()?.id, &name).await?;
    Ok(Answer::text(StatusCode::ACCEPTED, ""))
}

async fn cancel(call: Call) -> Result<Answer, Failure> {
    let name = known(&call).await?;
    let running = jobs::cancel(&call.node.platform().await?, &call.tenant()?.id, &name).await?;
    if running {
        Ok(Answer::text(StatusCode::ACCEPTED, ""))
    } else {
        Err(Failure::NotFound(format!("Job {name} is not running")))
    }
}

/// The name of a declared job, or of a timer of this tenant that calls a route.
async fn known(call: &Call) -> Result<String, Failure> {
    let name = call.parameter(0);
    let is_declared = call.node.jobs().iter().any(|job| job.name == name);
    let rows = jobs::of_tenant(&call.node.platform().await?, &call.tenant()?.id).await?;
    if is_declared || rows.iter().any(|row| row.name == name) {
        return Ok(name.to_owned());
    }
    Err(Failure::NotFound(format!("There is no job {name}")))
}
