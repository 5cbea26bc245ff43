//! Timers in the form of mod-scheduler: those of modules, and those that users create to call a route regularly with
//! their permissions.
//!
//! Routes: `/scheduler/timers…`. A module's timer keeps its route; its timing can be changed and it can be switched
//! off, which FOLIO allows if `SCHEDULER_API_ALLOW_SYSTEM_TIMER_MUTATION` is set.

use super::scheduler_errors::SchedulerError;
use super::{
    is_too_short, next_of, read_timing, routing_entry, rows_of, selection, set, setting_of,
    timers_of_modules, timing_of,
};
use carrel_platform::jobs::timers::{RouteCall, Timer, TimerSetting, UserTimer};
use carrel_platform::jobs::timing::{Next, Timing};
use carrel_platform::jobs::{self, State};
use carrel_platform::record_store::read::parse;
use carrel_platform::surface::module_id;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, metadata};
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/scheduler/timers", list);
    router.on("POST", "/scheduler/timers", create);
    router.on("GET", "/scheduler/timers/{id}", find);
    router.on("PUT", "/scheduler/timers/{id}", replace);
    router.on("DELETE", "/scheduler/timers/{id}", delete);
}

/// A timer of a tenant.
enum FoundTimer {
    Module(&'static Timer, TimerSetting),
    User(UserTimer, TimerSetting),
}

impl FoundTimer {
    fn id(&self, tenant: &str) -> Uuid {
        match self {
            FoundTimer::Module(timer, _) => id_of(tenant, timer),
            FoundTimer::User(timer, _) => timer.id,
        }
    }

    fn shown(&self, tenant: &str) -> Value {
        let id = self.id(tenant);
        let mut descriptor = match self {
            FoundTimer::Module(timer, setting) => json!({
                "id": id,
                "type": "system",
                "modified": setting.disabled || !setting.timing.is_empty(),
                "routingEntry": routing_entry(timer.method, timer.path, true, &timing_of(timer, setting)),
                "enabled": !setting.disabled,
                "moduleName": timer.module,
                "moduleId": module_id(timer.module),
            }),
            FoundTimer::User(timer, setting) => {
                let call = setting.call.as_ref();
                let (method, path) = call.map_or(("", ""), |call| (&call.method, &call.path));
                let mut descriptor = json!({
                    "id": id,
                    "type": "user",
                    "modified": setting.metadata["updatedDate"] != setting.metadata["createdDate"],
                    "routingEntry": routing_entry(method, path, timer.is_pattern, &setting.timing),
                    "enabled": !setting.disabled,
                    "moduleName": timer.module_name,
                    "userId": timer.user_id,
                });
                if let Some(module_id) = &timer.module_id {
                    descriptor["moduleId"] = module_id.as_str().into();
                }
                descriptor
            }
        };
        let setting = self.setting();
        if !setting.metadata.is_null() {
            descriptor["metadata"] = setting.metadata.clone();
        }
        descriptor
    }

    fn setting(&self) -> &TimerSetting {
        match self {
            FoundTimer::Module(_, setting) | FoundTimer::User(_, setting) => setting,
        }
    }
}

/// The id of a module's timer, the same on every node.
fn id_of(tenant: &str, timer: &Timer) -> Uuid {
    let name = format!("{tenant} {} {} {}", timer.module, timer.method, timer.path);
    Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes())
}

/// The name of the job of a user's timer.
fn job_of(id: Uuid) -> String {
    format!("timer-{id}")
}

fn all(call: &Call, rows: &[State]) -> Vec<FoundTimer> {
    let of_modules =
        timers_of_modules(call).map(|timer| FoundTimer::Module(timer, setting_of(rows, &timer.job)));
    let of_users = rows.iter().filter_map(|row| {
        let timer = row.setting.call.as_ref()?.user_timer.clone()?;
        Some(FoundTimer::User(timer, row.setting.clone()))
    });
    of_modules.chain(of_users).collect()
}

async fn known(call: &Call, id: Uuid) -> Result<Option<FoundTimer>, Failure> {
    let tenant = &call.tenant()?.id;
    let rows = rows_of(call, tenant).await?;
    Ok(all(call, &rows).into_iter().find(|timer| timer.id(tenant) == id))
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let tenant = &call.tenant()?.id;
    let offset = call.query.number("offset", 0, 0, i64::from(i32::MAX))?;
    let limit = call.query.number("limit", 10, 0, 500)?;
    let rows = rows_of(&call, tenant).await?;
    let mut descriptors: Vec<Value> = all(&call, &rows).iter().map(|timer| timer.shown(tenant)).collect();
    if let Some(text) = call.query.get("query").map(str::trim).filter(|text| !text.is_empty()) {
        let selected = parse(text).and_then(|query| selection::select(&mut descriptors, &query));
        if let Err(Failure::Invalid(reason)) = selected {
            return Ok(SchedulerError::invalid(reason).answer());
        }
        selected?;
    }
    let total = descriptors.len();
    let page: Vec<Value> = descriptors.into_iter().skip(offset as usize).take(limit as usize).collect();
    Ok(Answer::json(&json!({"timerDescriptors": page, "totalRecords": total})))
}

async fn find(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    match known(&call, id).await? {
        Some(timer) => Ok(Answer::json(&timer.shown(&call.tenant()?.id))),
        None => Ok(SchedulerError::not_found(id).answer()),
    }
}

/// A request to create or change a timer.
#[derive(Debug)]
struct Sent {
    id: Option<Uuid>,
    is_system: bool,
    enabled: bool,
    module_name: String,
    module_id: Option<String>,
    method: String,
    path: String,
    is_pattern: bool,
    timing: Timing,
}

fn read(body: &Map<String, Value>) -> Result<Sent, SchedulerError> {
    let text = |name: &str| body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let id = match body.get("id").filter(|id| !id.is_null()) {
        None => None,
        Some(id) => {
            let known = id.as_str().and_then(|id| Uuid::parse_str(id).ok());
            Some(known.ok_or_else(|| SchedulerError::invalid(format!("{id} is not a UUID")))?)
        }
    };
    let Some(Value::Object(entry)) = body.get("routingEntry") else {
        return Err(SchedulerError::refused("must not be null", Some(("routingEntry", "null".into()))));
    };
    let Some(enabled) = body.get("enabled").and_then(Value::as_bool) else {
        return Err(SchedulerError::refused("must not be null", Some(("enabled", "null".into()))));
    };
    let methods: Vec<&str> = entry
        .get("methods")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if methods.len() > 1 {
        return Err(SchedulerError::invalid("Only 1 method is allowed per timer"));
    }
    // The name and version of a module: `mod-users-19.6.0`.
    let name_of = |id: &str| {
        let version =
            id.match_indices('-').find(|(at, _)| id[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
        version.map_or_else(|| id.to_owned(), |(at, _)| id[..at].to_owned())
    };
    let module_id = text("moduleId").map(str::to_owned);
    let module_name = module_id.as_deref().map(name_of).or_else(|| text("moduleName").map(str::to_owned));
    let module_name =
        module_name.ok_or_else(|| SchedulerError::invalid("Module id or module name is required"))?;
    let is_system = match text("type").map(str::to_ascii_lowercase).as_deref() {
        Some("system") => true,
        Some("user") => false,
        Some(other) => return Err(SchedulerError::invalid(format!("Unexpected value '{other}'"))),
        None => return Err(SchedulerError::invalid("Timer type is required")),
    };
    let of_entry = |name: &str| entry.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (path, is_pattern) = match (of_entry("path"), of_entry("pathPattern")) {
        (Some(path), _) => (path, false),
        (None, Some(path)) => (path, true),
        (None, None) => return Err(SchedulerError::invalid("The path of the timer is missing")),
    };
    Ok(Sent {
        id,
        is_system,
        enabled,
        module_name,
        module_id,
        method: methods.first().map_or("POST", |method| method).to_uppercase(),
        path: if path.starts_with('/') { path.to_owned() } else { format!("/{path}") },
        is_pattern,
        timing: read_timing(entry).map_err(SchedulerError::invalid)?,
    })
}

/// When a timer is first due; refused if it has no timing, two timings, or too short an interval.
fn next(sent: &Sent, now: jiff::Timestamp) -> Result<Next, SchedulerError> {
    let refused = |message: &str| Err(SchedulerError::refused(message, None));
    let timing = &sent.timing;
    if !sent.enabled || timing.delay.as_deref() == Some("0") {
        return Ok(Next::Never);
    }
    let has_delay = timing.delay.is_some() && timing.unit.is_some();
    if !has_delay && timing.schedule.is_none() {
        return refused("Recurring job trigger is not specified");
    }
    if has_delay && timing.schedule.is_some() {
        return refused("Recurring job cannot have specified delay and schedule at the same time");
    }
    if is_too_short(timing) {
        return refused("Repeat interval must be greater than 1 second.");
    }
    timing.next(now).map_err(SchedulerError::invalid)
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let sent = match read(&call.object()?) {
        Ok(sent) => sent,
        Err(error) => return Ok(error.answer()),
    };
    let tenant = &call.tenant()?.id;
    let rows = rows_of(&call, tenant).await?;
    let timers = all(&call, &rows);
    if let Some(id) = sent.id
        && timers.iter().any(|timer| timer.id(tenant) == id)
    {
        return Ok(SchedulerError::exists(id).answer());
    }
    // FOLIO quirk: a timer of the same kind, module, method and path is changed instead.
    let same = timers.into_iter().find(|timer| match timer {
        FoundTimer::Module(timer, _) => {
            sent.is_system
                && (timer.module, timer.method, timer.path)
                    == (&*sent.module_name, &*sent.method, &*sent.path)
        }
        FoundTimer::User(timer, setting) => {
            !sent.is_system
                && timer.module_name == sent.module_name
                && setting
                    .call
                    .as_ref()
                    .is_some_and(|call| (&call.method, &call.path) == (&sent.method, &sent.path))
        }
    });
    let stored = match same {
        Some(known) => change(&call, known, sent).await?,
        None if sent.is_system => Err(SchedulerError::refused(
            "SYSTEM timers belong to modules, and no module declares this one",
            Some(("type", "SYSTEM".into())),
        )),
        None => match call.caller.user_id {
            None => Err(SchedulerError::refused("User timer requires a userId", None)),
            Some(user) => {
                let id = sent.id.unwrap_or_else(Uuid::new_v4);
                store_user_timer(&call, id, user, sent, metadata::created(Some(user), call.now)).await?
            }
        },
    };
    Ok(stored.map_or_else(SchedulerError::answer, |timer| Answer::created(&timer.shown(tenant))))
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let sent = match read(&call.object()?) {
        Ok(sent) => sent,
        Err(error) => return Ok(error.answer()),
    };
    let refusal = match sent.id {
        None => Some(SchedulerError::refused("Timer descriptor id is required", Some(("id", "null".into())))),
        Some(named) if named != id => Some(SchedulerError::refused(
            "Id in the url and in the entity must match",
            Some(("id", "not matched".into())),
        )),
        Some(_) => None,
    };
    if let Some(refusal) = refusal {
        return Ok(refusal.answer());
    }
    let Some(known) = known(&call, id).await? else {
        return Ok(SchedulerError::not_found(id).answer());
    };
    let stored = change(&call, known, sent).await?;
    let tenant = &call.tenant()?.id;
    Ok(stored.map_or_else(SchedulerError::answer, |timer| Answer::json(&timer.shown(tenant))))
}

/// Changes a timer; the outer failure is an error of the server, the inner one of the request.
async fn change(
    call: &Call,
    known: FoundTimer,
    sent: Sent,
) -> Result<Result<FoundTimer, SchedulerError>, Failure> {
    let next = match next(&sent, call.now) {
        Ok(next) => next,
        Err(error) => return Ok(Err(error)),
    };
    match known {
        FoundTimer::Module(timer, before) => {
            if sent.module_name != timer.module {
                return Ok(Err(another_module(&sent)));
            }
            if !sent.is_system || (&*sent.method, &*sent.path) != (timer.method, timer.path) {
                let refusal = SchedulerError::refused(
                    "A SYSTEM timer keeps its type, method and path",
                    Some(("type", "SYSTEM".into())),
                );
                return Ok(Err(refusal));
            }
            let is_declared = sent.timing == timer.timing;
            let setting = TimerSetting {
                timing: if is_declared { Timing::default() } else { sent.timing },
                disabled: !sent.enabled,
                metadata: changed(&before.metadata, call),
                call: timer.call(&call.node.jobs()),
            };
            let next = if is_declared {
                next_of(call, timer, &setting, call.now).map_err(Failure::Invalid)?
            } else {
                next
            };
            set(call, &call.tenant()?.id, timer, &setting, next).await?;
            Ok(Ok(FoundTimer::Module(timer, setting)))
        }
        FoundTimer::User(timer, before) => {
            if sent.module_name != timer.module_name {
                return Ok(Err(another_module(&sent)));
            }
            if sent.is_system {
                let refusal = SchedulerError::refused(
                    "SYSTEM timers are internal-only and cannot be modified via the public API",
                    Some(("type", "SYSTEM".into())),
                );
                return Ok(Err(refusal));
            }
            let metadata = changed(&before.metadata, call);
            store_user_timer(call, timer.id, timer.user_id, sent, metadata).await
        }
    }
}

fn another_module(sent: &Sent) -> SchedulerError {
    SchedulerError::refused(
        "Timer module name cannot be changed",
        Some(("moduleName", sent.module_name.clone())),
    )
}

fn changed(before: &Value, call: &Call) -> Value {
    if before.is_null() {
        return metadata::created(call.caller.user_id, call.now);
    }
    let mut metadata = before.clone();
    metadata::change(&mut metadata, call.caller.user_id, call.now);
    metadata
}

async fn store_user_timer(
    call: &Call,
    id: Uuid,
    user: Uuid,
    sent: Sent,
    metadata: Value,
) -> Result<Result<FoundTimer, SchedulerError>, Failure> {
    let next = match next(&sent, call.now) {
        Ok(next) => next,
        Err(error) => return Ok(Err(error)),
    };
    let timer = UserTimer {
        id,
        user_id: user,
        module_name: sent.module_name,
        module_id: sent.module_id,
        is_pattern: sent.is_pattern,
    };
    let route = RouteCall { method: sent.method, path: sent.path, user_timer: Some(timer.clone()) };
    let setting = TimerSetting { timing: sent.timing, disabled: !sent.enabled, metadata, call: Some(route) };
    let connection = call.node.platform().await?;
    jobs::set(&connection, &call.tenant()?.id, &job_of(id), &setting, next).await?;
    Ok(Ok(FoundTimer::User(timer, setting)))
}

/// Deletes a user's timer; a module's timer stays. FOLIO quirk: an unknown one is 204.
async fn delete(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    match known(&call, id).await? {
        Some(FoundTimer::Module(..)) => {
            let refusal = SchedulerError::refused(
                "SYSTEM timers are internal-only and cannot be modified via the public API",
                Some(("type", "SYSTEM".into())),
            );
            return Ok(refusal.answer());
        }
        Some(FoundTimer::User(..)) => {
            jobs::delete(&call.node.platform().await?, &call.tenant()?.id, &job_of(id)).await?;
        }
        None => {}
    }
    Ok(Answer::no_content())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(differs: Value) -> Result<Sent, String> {
        let mut body = json!({"type": "user", "enabled": true, "moduleId": "mod-users-19.6.0",
            "routingEntry": {"methods": ["POST"], "pathPattern": "/users/expire/timer", "unit": "second", "delay": "20"}});
        merge(&mut body, differs);
        let body = body.as_object().expect("an object");
        let sent = read(body).map_err(|error| format!("{error:?}"))?;
        next(&sent, jiff::Timestamp::UNIX_EPOCH).map_err(|error| format!("{error:?}"))?;
        Ok(sent)
    }

    fn merge(body: &mut Value, differs: Value) {
        if let (Some(body), Value::Object(differs)) = (body.as_object_mut(), differs) {
            body.extend(differs);
        }
    }

    #[test]
    fn the_name_of_the_module_is_read_from_its_id() {
        assert_eq!(sent(json!({})).expect("a timer").module_name, "mod-users");
        let named = json!({"moduleId": null, "moduleName": "mod-foo"});
        assert_eq!(sent(named).expect("a timer").module_name, "mod-foo");
    }

    #[test]
    fn what_is_missing_or_contradicts_itself_is_refused() {
        let entry = |timing: Value| {
            let mut entry = json!({"methods": ["POST"], "path": "/x"});
            merge(&mut entry, timing);
            json!({"routingEntry": entry})
        };
        for (differs, reason) in [
            (json!({"moduleId": null}), "Module id or module name is required"),
            (json!({"type": null}), "Timer type is required"),
            (json!({"routingEntry": null}), "must not be null"),
            (entry(json!({"methods": ["GET", "POST"]})), "Only 1 method is allowed per timer"),
            (entry(json!({})), "Recurring job trigger is not specified"),
            (
                entry(json!({"unit": "day", "delay": "1", "schedule": {"cron": "* * * * *"}})),
                "cannot have specified delay and schedule",
            ),
            (
                entry(json!({"unit": "millisecond", "delay": "999"})),
                "Repeat interval must be greater than 1 second.",
            ),
            (entry(json!({"schedule": {"cron": "nonsense"}})), "Must have 5 (Unix) or 6/7 (Quartz) fields."),
        ] {
            let refused = sent(differs).expect_err(reason);
            assert!(refused.contains(reason), "{refused}");
        }
    }

    #[test]
    fn a_timer_that_is_switched_off_needs_no_timing() {
        let off = json!({"enabled": false, "routingEntry": {"path": "/x"}});
        assert!(sent(off).is_ok());
    }
}
