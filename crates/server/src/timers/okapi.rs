//! Timers as Okapi shows them: `mod-circulation_0` is the first timer of the module.
//!
//! Routes: GET and PATCH of `/_/proxy/tenants/{tenantId}/timers` and `…/{timerId}`.

use super::{next_of, read_timing, routing_entry, rows_of, set, setting_of, timers_of_modules, timing_of};
use crate::gateway;
use carrel_platform::jobs::timers::{Timer, TimerSetting};
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, metadata};
use serde_json::{Map, Value, json};

const TIMERS: &str = "/_/proxy/tenants/{tenantId}/timers";

pub fn connect(router: &mut Router) {
    router.on("GET", TIMERS, list);
    router.on("PATCH", TIMERS, patch_named_in_body);
    router.on("GET", &format!("{TIMERS}/{{timerId}}"), find);
    router.on("PATCH", &format!("{TIMERS}/{{timerId}}"), patch);
}

fn id_of(timer: &Timer) -> String {
    format!("{}_{}", timer.module, timer.number)
}

fn shown(timer: &Timer, setting: &TimerSetting) -> Value {
    let mut entry = routing_entry(timer.method, timer.path, true, &timing_of(timer, setting));
    if setting.disabled {
        // Okapi has no other way to switch a timer off.
        entry["delay"] = "0".into();
        entry["unit"] = entry.get("unit").filter(|unit| !unit.is_null()).cloned().unwrap_or("second".into());
    }
    json!({"id": id_of(timer), "routingEntry": entry, "modified": is_modified(setting)})
}

fn is_modified(setting: &TimerSetting) -> bool {
    setting.disabled || !setting.timing.is_empty()
}

/// FOLIO quirk: a tenant that does not exist has no timers.
async fn list(call: Call) -> Result<Answer, Failure> {
    let Some(tenant) = call.node.find_tenant(call.parameter(0)).await? else {
        return Ok(Answer::json(&json!([])));
    };
    let rows = rows_of(&call, &tenant.id).await?;
    let timers: Vec<Value> =
        timers_of_modules(&call).map(|timer| shown(timer, &setting_of(&rows, &timer.job))).collect();
    Ok(Answer::json(&timers))
}

fn known(call: &Call, id: &str) -> Result<&'static Timer, Failure> {
    timers_of_modules(call).find(|timer| id_of(timer) == id).ok_or_else(|| Failure::NotFound(id.to_owned()))
}

async fn find(call: Call) -> Result<Answer, Failure> {
    let tenant = gateway::named(&call).await?;
    let timer = known(&call, call.parameter(1))?;
    let rows = rows_of(&call, &tenant.id).await?;
    Ok(Answer::json(&shown(timer, &setting_of(&rows, &timer.job))))
}

async fn patch_named_in_body(call: Call) -> Result<Answer, Failure> {
    let body = call.object()?;
    refuse_unknown(&body, &["id", "modified", "routingEntry"])?;
    let id = body.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(Value::Object(entry)) = body.get("routingEntry") else {
        return Err(Failure::Invalid("The routingEntry of the timer is missing".into()));
    };
    change(&call, &id, entry).await
}

async fn patch(call: Call) -> Result<Answer, Failure> {
    change(&call, call.parameter(1), &call.object()?).await
}

/// Sets unit and delay, or schedule; without any of them the timer is reset to its module's declaration.
async fn change(call: &Call, id: &str, entry: &Map<String, Value>) -> Result<Answer, Failure> {
    const ROUTING_ENTRY: [&str; 15] = [
        "methods",
        "pathPattern",
        "path",
        "rewritePath",
        "phase",
        "level",
        "type",
        "redirectPath",
        "unit",
        "delay",
        "schedule",
        "permissionsRequired",
        "permissionsDesired",
        "modulePermissions",
        "permissionsRequiredTenant",
    ];
    refuse_unknown(entry, &ROUTING_ENTRY)?;
    let tenant = gateway::named(call).await?;
    let timer = known(call, id)?;
    let timing = read_timing(entry).map_err(Failure::Invalid)?;
    let user_id = call.caller.user_id;
    let setting = TimerSetting {
        timing,
        disabled: false,
        metadata: metadata::created(user_id, call.now),
        call: timer.call(&call.node.jobs()),
    };
    let next = next_of(call, timer, &setting, call.now).map_err(Failure::Invalid)?;
    set(call, &tenant.id, timer, &setting, next).await?;
    Ok(Answer::no_content())
}

fn refuse_unknown(body: &Map<String, Value>, known: &[&str]) -> Result<(), Failure> {
    match body.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(Failure::Invalid(format!("Unrecognized field \"{name}\""))),
        None => Ok(()),
    }
}
