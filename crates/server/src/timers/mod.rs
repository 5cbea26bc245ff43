//! Timers: routes that FOLIO's modules or users want called regularly.
//!
//! Routes: `/_/proxy/tenants/{tenantId}/timers…` as in Okapi, `/scheduler/timers…` as in mod-scheduler. Both show and
//! change the same rows, those of the job table: every node applies a changed interval when it next reads the table, at
//! most five seconds later, and it survives a restart.

mod okapi;
mod scheduler;
mod scheduler_errors;
mod selection;

use carrel_platform::jobs::timers::{TIMERS, Timer, TimerSetting};
use carrel_platform::jobs::timing::{Next, Timing};
use carrel_platform::jobs::{self, State};
use carrel_platform::{Call, Router};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::time::Duration;

pub fn connect(router: &mut Router) {
    okapi::connect(router);
    scheduler::connect(router);
}

/// The timers of FOLIO's modules whose routes this server answers.
fn timers_of_modules(call: &Call) -> impl Iterator<Item = &'static Timer> {
    TIMERS.iter().filter(|timer| call.app.router.answers(timer.method, timer.path))
}

/// The rows of a tenant's jobs.
async fn rows_of(call: &Call, tenant: &str) -> Result<Vec<State>, Failure> {
    jobs::of_tenant(&call.node.platform().await?, tenant).await
}

/// The stored setting for the job of a timer; the default if everything is as declared.
fn setting_of(rows: &[State], job: &str) -> TimerSetting {
    rows.iter().find(|row| row.name == job).map(|row| row.setting.clone()).unwrap_or_default()
}

/// The timing in force.
fn timing_of(timer: &Timer, setting: &TimerSetting) -> Timing {
    if setting.timing.is_empty() { timer.timing.clone() } else { setting.timing.clone() }
}

/// Method, path and timing of a timer, as a gateway's routing entry.
fn routing_entry(method: &str, path: &str, is_pattern: bool, timing: &Timing) -> Value {
    let path_name = if is_pattern { "pathPattern" } else { "path" };
    let mut entry = json!({"methods": [method], path_name: path});
    if let (Value::Object(timing), Some(entry)) = (json!(timing), entry.as_object_mut()) {
        entry.extend(timing);
    }
    entry
}

/// Parses the timing of a routing entry; the error is the reason if a value has the wrong type.
fn read_timing(entry: &Map<String, Value>) -> Result<Timing, String> {
    let known = ["unit", "delay", "schedule"];
    let timing = known.iter().filter_map(|name| Some(((*name).to_owned(), entry.get(*name)?.clone())));
    let timing: Map<String, Value> = timing.filter(|(_, value)| !value.is_null()).collect();
    serde_json::from_value(Value::Object(timing)).map_err(|error| error.to_string())
}

/// When a timer of a module is due by a new setting; `reset` restores the declared timing.
fn next_of(call: &Call, timer: &Timer, setting: &TimerSetting, now: Timestamp) -> Result<Next, String> {
    if setting.disabled {
        return Ok(Next::Never);
    }
    if setting.timing.is_empty() {
        let declared = call.node.jobs().into_iter().find(|job| job.name == timer.job);
        if let Some(job) = declared {
            return Ok(Next::Every(job.every));
        }
    }
    timing_of(timer, setting).next(now)
}

/// Stores a setting for a timer of a module.
async fn set(
    call: &Call,
    tenant: &str,
    timer: &Timer,
    setting: &TimerSetting,
    next: Next,
) -> Result<(), Failure> {
    // Tenants for public test suites run no jobs, but show the setting.
    jobs::set(&call.node.platform().await?, tenant, &timer.job, setting, next).await
}

/// Whether a timing is shorter than a second, which mod-scheduler refuses.
fn is_too_short(timing: &Timing) -> bool {
    timing.unit.as_deref() == Some("millisecond")
        && timing
            .delay
            .as_deref()
            .and_then(|delay| delay.trim().parse::<u64>().ok())
            .is_some_and(|delay| delay != 0 && Duration::from_millis(delay) < Duration::from_secs(1))
}
