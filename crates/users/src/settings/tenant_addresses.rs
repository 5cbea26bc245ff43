//! Postal addresses of the library itself.

use crate::records::settings::TENANT_ADDRESS;
use carrel_platform::record_store::{read, routes, write};
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::Failure;
use http::StatusCode;
use serde_json::Value;

/// Addresses in a list without `limit`.
const DEFAULT_LIMIT: i64 = 50;

pub(super) fn connect(router: &mut Router) {
    router.on("GET", "/tenant-addresses", list);
    router.on("POST", "/tenant-addresses", create);
    router.on("PUT", "/tenant-addresses/{id}", replace);
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let mut requested = read::PageRequest::read(&call.query)?;
    if call.query.get("limit").is_none() {
        requested.limit = DEFAULT_LIMIT;
    }
    let connection = call.tenant()?.reader().await?;
    let page = read::list(&connection, &TENANT_ADDRESS, &call.node.records, &requested).await?;
    Ok(Answer::json_bytes(page.to_bytes(&TENANT_ADDRESS)))
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let address = read_address(&call)?;
    let tenant = call.tenant()?;
    let ready = write::prepare_new(&TENANT_ADDRESS, address, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &TENANT_ADDRESS, &ready, call.now);
    match tenant.begin().await?.send_and_commit(pipeline).await {
        Ok(_) => Ok(routes::created(&TENANT_ADDRESS, &ready)),
        Err(error) if error.is_unique_violation() => Ok(name_is_taken()),
        Err(error) => Err(error.into()),
    }
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut address = read_address(&call)?;
    // FOLIO quirk: the id in the body is ignored.
    address.remove("id");
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(stored) = write::lock(&mut tx, &TENANT_ADDRESS, id).await? else {
        return Err(Failure::NotFound("Not Found".into()));
    };
    let stored = stored.parse();
    let ready = write::prepare_replacement(&TENANT_ADDRESS, id, address, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &TENANT_ADDRESS, &ready, &stored, call.now);
    match tx.send_and_commit(pipeline).await {
        Ok(_) => Ok(Answer::no_content()),
        Err(error) if error.is_unique_violation() => Ok(name_is_taken()),
        Err(error) => Err(error.into()),
    }
}

fn read_address(call: &Call) -> Result<write::Document, Failure> {
    let address = call.object()?;
    if address.get("name").and_then(Value::as_str).is_none_or(|name| name.trim().is_empty()) {
        return Err(Failure::Invalid("name missing".into()));
    }
    Ok(address)
}

fn name_is_taken() -> Answer {
    Answer::text(StatusCode::UNPROCESSABLE_ENTITY, "name already exists")
}
