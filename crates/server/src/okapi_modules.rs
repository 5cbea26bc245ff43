//! Enabling and disabling modules of a tenant by Okapi's routes: every tenant has all modules, so enabling one changes
//! nothing and disabling one is refused. The only exception is mod-authtoken, which can be disabled for a short time so
//! that a tenant's first administrator can be created by the API, if the server allows it.
//!
//! Routes: POST and DELETE of `/_/proxy/tenants/{tenantId}/modules`, `…/install`, `…/upgrade`; `/_/env` is read. Reads
//! the surface and whether any user can log in to the tenant; changes until when the tenant is open.

use crate::administrator;
use crate::gateway;
use carrel_platform::surface::{MODULES, module_id};
use carrel_platform::{Answer, Call, Router, Tenant};
use carrel_records::Failure;
use http::StatusCode;
use serde_json::{Value, json};

/// The module that checks tokens.
const TOKEN_MODULE: &str = "mod-authtoken";

const TENANT: &str = "/_/proxy/tenants/{tenantId}";

pub fn connect(router: &mut Router) {
    router.on("POST", &format!("{TENANT}/modules"), enable);
    router.on("POST", &format!("{TENANT}/modules/{{moduleId}}"), exchange);
    router.on("DELETE", &format!("{TENANT}/modules/{{moduleId}}"), disable);
    router.on("DELETE", &format!("{TENANT}/modules"), disable_all);
    router.on("POST", &format!("{TENANT}/install"), install);
    router.on("POST", &format!("{TENANT}/upgrade"), upgrade);
    router.on("GET", &format!("{TENANT}/install"), no_jobs);
    router.on("GET", &format!("{TENANT}/install/{{installId}}"), no_such_job);
    router.on("GET", "/_/env", |_| async { Ok(Answer::json(&json!([]))) });
    router.on("GET", "/_/env/{id}", |call: Call| async move {
        Err(Failure::NotFound(call.parameter(0).to_owned()))
    });
}

/// The id with version of a module that the caller gives with or without version.
fn known(id: &str) -> Option<String> {
    let module = MODULES.keys().find(|module| **module == id || module_id(module) == id)?;
    Some(module_id(module))
}

fn not_found(id: &str) -> String {
    format!("Module {id} not found")
}

fn never_disabled(id: &str) -> Failure {
    Failure::Invalid(format!("Module {id} cannot be disabled: every tenant of Carrel has all of its modules"))
}

fn id_of(body: &Value) -> Result<&str, Failure> {
    body["id"].as_str().ok_or_else(|| Failure::Invalid("The id of a module is missing".into()))
}

fn read(call: &Call) -> Result<Value, Failure> {
    serde_json::from_slice(&call.body)
        .map_err(|error| Failure::Invalid(format!("The body is not the JSON expected here: {error}")))
}

async fn enable(call: Call) -> Result<Answer, Failure> {
    let tenant = gateway::named(&call).await?;
    let body = read(&call)?;
    let id = id_of(&body)?;
    let known = known(id).ok_or_else(|| Failure::NotFound(not_found(id)))?;
    if known == module_id(TOKEN_MODULE) && call.node.close_after_bootstrap(&tenant.id).await? {
        let location = format!("/_/proxy/tenants/{}/modules/{known}", tenant.id);
        return Ok(Answer::created(&json!({"id": known})).location(location));
    }
    Err(Failure::Invalid(format!("Module {known} already provided")))
}

/// Replaces one version of a module by another; there is only one of each.
async fn exchange(call: Call) -> Result<Answer, Failure> {
    gateway::named(&call).await?;
    let body = read(&call)?;
    let (from, to) = (call.parameter(1), id_of(&body)?);
    let known_from = known(from).ok_or_else(|| Failure::NotFound(not_found(from)))?;
    let known_to = known(to).ok_or_else(|| Failure::NotFound(not_found(to)))?;
    if known_from != known_to {
        return Err(never_disabled(&known_from));
    }
    let location = format!("/_/proxy/tenants/{}/modules/{known_to}", call.parameter(0));
    Ok(Answer::created(&json!({"id": known_to})).location(location))
}

async fn disable(call: Call) -> Result<Answer, Failure> {
    let tenant = gateway::named(&call).await?;
    let id = call.parameter(1);
    let known = known(id).ok_or_else(|| Failure::NotFound(not_found(id)))?;
    disable_for_bootstrap(&call, &tenant, &known).await?;
    Ok(Answer::no_content())
}

async fn disable_for_bootstrap(call: &Call, tenant: &Tenant, known: &str) -> Result<(), Failure> {
    let may_open = known == module_id(TOKEN_MODULE)
        && call.node.options.allows_bootstrap
        && !administrator::has_staff(tenant).await?;
    if !may_open {
        return Err(never_disabled(known));
    }
    call.node.open_for_bootstrap(&tenant.id).await
}

async fn disable_all(call: Call) -> Result<Answer, Failure> {
    gateway::named(&call).await?;
    Err(Failure::Invalid("Modules cannot be disabled: every tenant of Carrel has all of its modules".into()))
}

/// Reports modules that are to be enabled as up to date, except one that was disabled to create an administrator.
async fn install(call: Call) -> Result<Answer, Failure> {
    let tenant = gateway::named(&call).await?;
    let body = read(&call)?;
    let modules = body.as_array().ok_or_else(|| Failure::Invalid("A list of modules is expected".into()))?;
    let mut wanted = Vec::with_capacity(modules.len());
    let mut unknown = Vec::new();
    for module in modules {
        let id = id_of(module)?;
        match (known(id), module["action"].as_str()) {
            (None, _) => unknown.push(not_found(id)),
            (Some(id), Some(action @ ("disable" | "enable" | "uptodate"))) => wanted.push((id, action)),
            (Some(_), other) => {
                let other = other.unwrap_or("null");
                return Err(Failure::Invalid(format!("Not supported: action={other}")));
            }
        }
    }
    if !unknown.is_empty() {
        return Err(Failure::Invalid(unknown.join(". ")));
    }
    let mut done = Vec::with_capacity(wanted.len());
    for (id, action) in wanted {
        let action = if action == "disable" {
            disable_for_bootstrap(&call, &tenant, &id).await?;
            "disable"
        } else if id == module_id(TOKEN_MODULE) && call.node.close_after_bootstrap(&tenant.id).await? {
            "enable"
        } else {
            "uptodate"
        };
        done.push(json!({"id": id, "action": action}));
    }
    Ok(Answer::json(&done))
}

/// Modules always have the current version.
async fn upgrade(call: Call) -> Result<Answer, Failure> {
    gateway::named(&call).await?;
    Ok(Answer::json(&json!([])).status(StatusCode::OK))
}

/// Installations complete before they are answered, so there are no jobs to list.
async fn no_jobs(call: Call) -> Result<Answer, Failure> {
    gateway::named(&call).await?;
    Ok(Answer::json(&json!([])))
}

async fn no_such_job(call: Call) -> Result<Answer, Failure> {
    gateway::named(&call).await?;
    Err(Failure::NotFound(call.parameter(1).to_owned()))
}
