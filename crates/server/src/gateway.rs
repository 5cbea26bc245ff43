//! Okapi's own routes: tenants, their modules and interfaces, its version.
//!
//! Routes: `/_/proxy/…`, `/_/version`, `/_/tenant`. Every tenant has all modules; enabling and disabling them is in
//! `okapi_modules.rs`.

use carrel_platform::node::ReferenceRecords;
use carrel_platform::surface::{MODULES, ROUTES, Route, module_id};
use carrel_platform::{Answer, Call, Router, Tenant};
use carrel_records::Failure;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The version of Okapi whose API is implemented.
const OKAPI: &str = "7.0.7";

pub fn connect(router: &mut Router) {
    router.on("GET", "/_/version", |_| async { Ok(Answer::text(http::StatusCode::OK, OKAPI)) });
    router.on("GET", "/_/proxy/health", |_| async { Ok(Answer::json(&json!([]))) });
    router.on("GET", "/_/proxy/tenants", list);
    router.on("POST", "/_/proxy/tenants", create);
    router.on("GET", "/_/proxy/tenants/{tenantId}", find);
    router.on("PUT", "/_/proxy/tenants/{tenantId}", replace);
    router.on("DELETE", "/_/proxy/tenants/{tenantId}", delete);
    router.on("GET", "/_/proxy/tenants/{tenantId}/modules", modules_of_tenant);
    router.on("GET", "/_/proxy/tenants/{tenantId}/modules/{moduleId}", module_of_tenant);
    router.on("GET", "/_/proxy/tenants/{tenantId}/interfaces", interfaces_of_tenant);
    router.on("GET", "/_/proxy/tenants/{tenantId}/interfaces/{interfaceId}", providers_of_interface);
    router.on("GET", "/_/proxy/modules", |call| async move { Ok(Answer::json(&modules_asked(&call))) });
    router.on("GET", "/_/proxy/modules/{moduleId}", module);
    router.on("POST", "/_/tenant", tenant_begins);
    router.on("DELETE", "/_/tenant", tenant_ends);
    router.on("GET", "/_/tenant/{id}", find_operation);
    router.on("DELETE", "/_/tenant/{id}", forget_operation);
}

fn shown(tenant: &Tenant) -> Value {
    json!({"id": tenant.id, "name": tenant.name, "description": tenant.description})
}

fn full(call: &Call) -> bool {
    call.query.get("full") == Some("true")
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let tenants: Vec<Value> = call.node.tenants().iter().map(|tenant| shown(tenant)).collect();
    Ok(Answer::json(&tenants))
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let document = call.object()?;
    let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    let (id, name, description) = (text("id"), text("name"), text("description"));
    let id = if id.is_empty() { format!("t{}", uuid::Uuid::new_v4().simple()) } else { id };
    if call.node.find_tenant(&id).await?.is_some() {
        return Err(Failure::Invalid(format!("Duplicate tenant id {id}")));
    }
    let name = if name.is_empty() { id.clone() } else { name };
    // In the form in which Okapi passes parameters to modules: `loadReference=false,loadSample=false`.
    let parameters = call.query.get("tenantParameters").unwrap_or_default();
    let reference_records =
        reference_records_wanted(!parameters.split(',').any(|pair| pair.trim() == "loadReference=false"));
    let tenant = call.node.create_tenant_with(&id, &name, &description, reference_records).await?;
    Ok(Answer::created(&shown(&tenant)).location(format!("/_/proxy/tenants/{id}")))
}

fn reference_records_wanted(wanted: bool) -> ReferenceRecords {
    if wanted { ReferenceRecords::Loaded } else { ReferenceRecords::LeftOut }
}

pub(crate) async fn named(call: &Call) -> Result<std::sync::Arc<Tenant>, Failure> {
    let id = call.parameter(0);
    call.node.find_tenant(id).await?.ok_or_else(|| Failure::NotFound(id.to_owned()))
}

async fn find(call: Call) -> Result<Answer, Failure> {
    Ok(Answer::json(&shown(&*named(&call).await?)))
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let document = call.object()?;
    let tenant = named(&call).await?;
    let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    let (name, description) = (text("name"), text("description"));
    call.node.rename_tenant(&tenant.id, &name, &description).await?;
    Ok(Answer::json(&json!({"id": tenant.id, "name": name, "description": description})))
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let id = call.parameter(0).to_owned();
    if !call.node.drop_tenant(&id).await? {
        return Err(Failure::NotFound(id));
    }
    Ok(Answer::no_content())
}

/// Module descriptors from the route table: interfaces with their handlers.
fn modules(full: bool) -> Vec<Value> {
    let mut by_module: BTreeMap<&str, BTreeMap<&str, (&str, Vec<Value>)>> = BTreeMap::new();
    let named = |route: &&Route| MODULES.contains_key(&*route.module) && !route.interface.is_empty();
    for route in ROUTES.iter().filter(named) {
        let interfaces = by_module.entry(&route.module).or_default();
        let (_, handlers) = interfaces.entry(&route.interface).or_insert((&route.version, Vec::new()));
        handlers.push(json!({
            "methods": [route.method], "pathPattern": route.path, "permissionsRequired": route.permissions
        }));
    }
    by_module
        .into_iter()
        .map(|(module, interfaces)| {
            let id = module_id(module);
            if !full {
                return json!({"id": id, "name": module});
            }
            let provides: Vec<Value> = interfaces
                .into_iter()
                .map(|(name, (version, handlers))| json!({"id": name, "version": version, "handlers": handlers}))
                .collect();
            json!({"id": id, "name": module, "provides": provides})
        })
        .collect()
}

async fn modules_of_tenant(call: Call) -> Result<Answer, Failure> {
    named(&call).await?;
    Ok(Answer::json(&modules_asked(&call)))
}

/// The modules that match the query parameters `filter` (a name or id) and `provide` (an interface).
fn modules_asked(call: &Call) -> Vec<Value> {
    let of = |name: &str| call.query.get(name).filter(|text| !text.is_empty());
    let (filter, interface) = (of("filter"), of("provide"));
    let providers = interface.map(providers);
    let wanted = |module: &Value| {
        let (id, name) =
            (module["id"].as_str().unwrap_or_default(), module["name"].as_str().unwrap_or_default());
        filter.is_none_or(|filter| filter == name || filter == id)
            && providers.as_ref().is_none_or(|providers| providers.contains(name))
    };
    modules(full(call)).into_iter().filter(wanted).collect()
}

async fn module_of_tenant(call: Call) -> Result<Answer, Failure> {
    named(&call).await?;
    let id = call.parameter(1).to_owned();
    module_named(&id)
}

async fn module(call: Call) -> Result<Answer, Failure> {
    module_named(call.parameter(0))
}

fn module_named(id: &str) -> Result<Answer, Failure> {
    modules(true)
        .into_iter()
        .find(|module| module["id"] == id || module["name"] == id)
        .map(|module| Answer::json(&module))
        .ok_or_else(|| Failure::NotFound(id.to_owned()))
}

async fn interfaces_of_tenant(call: Call) -> Result<Answer, Failure> {
    named(&call).await?;
    if full(&call) {
        let provided = modules(true).into_iter().filter_map(|mut module| match module["provides"].take() {
            Value::Array(interfaces) => Some(interfaces),
            _ => None,
        });
        return Ok(Answer::json(&provided.flatten().collect::<Vec<Value>>()));
    }
    let interfaces: BTreeSet<(&str, &str)> =
        ROUTES.iter().map(|route| (&*route.interface, &*route.version)).collect();
    let interfaces: Vec<Value> = interfaces
        .into_iter()
        .filter(|(name, _)| !matches!(*name, "carrel" | ""))
        .map(|(name, version)| json!({"id": name, "version": version}))
        .collect();
    Ok(Answer::json(&interfaces))
}

async fn providers_of_interface(call: Call) -> Result<Answer, Failure> {
    named(&call).await?;
    let modules: Vec<Value> =
        providers(call.parameter(1)).into_iter().map(|module| json!({"id": module_id(module)})).collect();
    Ok(Answer::json(&modules))
}

fn providers(interface: &str) -> BTreeSet<&'static str> {
    ROUTES
        .iter()
        .filter(|route| route.interface == interface && MODULES.contains_key(&*route.module))
        .map(|route| route.module.as_str())
        .collect()
}

/// Okapi's tenant interface: creates the tenant if it does not exist. Without `module_to` the module is disabled: its
/// data stay, unless `purge` is set.
async fn tenant_begins(call: Call) -> Result<Answer, Failure> {
    let id = gateway_tenant(&call)?;
    let mut reference_records = ReferenceRecords::Loaded;
    if !call.body.trim_ascii().is_empty() {
        let request = call.object()?;
        let parameters = request.get("parameters").and_then(Value::as_array).map(Vec::as_slice);
        reference_records = reference_records_wanted(
            !parameters
                .unwrap_or_default()
                .iter()
                .any(|parameter| parameter["key"] == "loadReference" && parameter["value"] == "false"),
        );
        let purges = request.get("purge") == Some(&Value::Bool(true));
        let begins = request.get("module_to").is_some_and(Value::is_string);
        match (begins, purges) {
            (true, _) => {}
            (false, true) => {
                // Okapi may repeat the call.
                return match tenant_ends(call).await {
                    Err(Failure::NotFound(_)) => Ok(Answer::no_content()),
                    ended => ended,
                };
            }
            (false, false) if request.contains_key("module_from") => return Ok(Answer::no_content()),
            (false, false) => {}
        }
    }
    if call.node.options.makes_tenants {
        call.node.create_lenient_tenant(&id).await?;
    } else {
        call.node.create_tenant_with(&id, &id, "", reference_records).await?;
    }
    let operation = finished_operation(&id);
    let location = format!("/_/tenant/{}", operation_id(&id));
    Ok(Answer::created(&operation).location(location))
}

/// Purges the tenant with all its data.
async fn tenant_ends(call: Call) -> Result<Answer, Failure> {
    let id = gateway_tenant(&call)?;
    if let Some(tenant) = call.node.find_tenant(&id).await?.filter(|tenant| tenant.profile.emptied_at_end) {
        call.node.empty_tenant(&tenant).await?;
    } else if !call.node.drop_tenant(&id).await? {
        return Err(Failure::NotFound(id));
    }
    Ok(Answer::no_content())
}

/// The id of the operation that created a tenant, the same on every node.
fn operation_id(tenant: &str) -> uuid::Uuid {
    uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, format!("/_/tenant/{tenant}").as_bytes())
}

fn finished_operation(tenant: &str) -> Value {
    json!({"id": operation_id(tenant), "tenant": tenant, "complete": true})
}

/// The operation is complete when it is answered, but Okapi still requests its state.
async fn find_operation(call: Call) -> Result<Answer, Failure> {
    let tenant = known_operation(&call)?;
    Ok(Answer::json(&finished_operation(&tenant)))
}

async fn forget_operation(call: Call) -> Result<Answer, Failure> {
    known_operation(&call)?;
    Ok(Answer::no_content())
}

fn known_operation(call: &Call) -> Result<String, Failure> {
    let tenant = gateway_tenant(call)?;
    let operation = call.parameter(0);
    if operation != operation_id(&tenant).to_string() {
        return Err(Failure::NotFound(format!("Operation not found {operation}")));
    }
    Ok(tenant)
}

/// The tenant of the call; only a gateway may use this interface.
fn gateway_tenant(call: &Call) -> Result<String, Failure> {
    if !call.node.options.behind_gateway {
        return Err(Failure::Forbidden("Tenants begin and end at /_/proxy/tenants".into()));
    }
    call.header("x-okapi-tenant")
        .map(str::to_owned)
        .ok_or_else(|| Failure::Invalid("Missing tenant: X-Okapi-Tenant".into()))
}
