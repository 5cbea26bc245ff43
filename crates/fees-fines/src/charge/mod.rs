//! Charging: a new account and the record of its charge, stored together.
//!
//! Staff charge by POST of `/accounts` and then of `/feefineactions`; charges of the system itself use [`charge`] in
//! the transaction of their cause. Routes: POST, PUT and DELETE of `/accounts`, which announce the balance.

mod decide;

pub use decide::{Charge, ChargedItem};

use crate::actions::Account;
use crate::events;
use crate::records::accounts::{ACCOUNT, FEEFINEACTION};
use carrel_platform::http::Caller;
use carrel_platform::record_store::routes as plain;
use carrel_platform::record_store::write;
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("POST", "/accounts", create);
    router.on("PUT", "/accounts/{id}", replace);
    router.on("DELETE", "/accounts/{id}", delete);
}

/// Adds the statements that store the account, its charge and the event; gives the account's id.
pub fn charge(
    pipeline: &mut Pipeline,
    tenant: &str,
    charge: &Charge,
    caller: &Caller,
    now: Timestamp,
) -> Result<Uuid, Failure> {
    let account = write::prepare_new(&ACCOUNT, charge.account(now), caller, now)?;
    let action = write::prepare_new(&FEEFINEACTION, charge.action(account.id, now), caller, now)?;
    write::insert(pipeline, tenant, &ACCOUNT, &account, now);
    write::insert(pipeline, tenant, &FEEFINEACTION, &action, now);
    events::balance_changed(pipeline, &Value::Object(account.document), now);
    Ok(account.id)
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let ready = write::prepare_new(&ACCOUNT, call.object()?, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, &tenant.id, &ACCOUNT, &ready, call.now);
    events::balance_changed(&mut pipeline, &Value::Object(ready.document.clone()), call.now);
    let stored = tenant.begin().await?.send_and_commit(pipeline).await;
    stored.map_err(|error| write::reported(&ACCOUNT, error, &ready.document))?;
    Ok(plain::created(&ACCOUNT, &ready))
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let not_found = || Failure::NotFound("Not found".into());
    let id = call.id(0)?;
    let document = call.object()?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(stored) = write::lock(&mut tx, &ACCOUNT, id).await? else { return Err(not_found()) };
    let stored = stored.parse();
    let ready = write::prepare_replacement(&ACCOUNT, id, document, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, &tenant.id, &ACCOUNT, &ready, &stored, call.now);
    let replaced = Value::Object(ready.document.clone());
    events::balance_changed(&mut pipeline, &replaced, call.now);
    if let Some(Account { loan_id: Some(loan), is_closed: true, remaining, .. }) = Account::read(replaced)
        && remaining.is_zero()
    {
        events::loan_related_fee_fine_closed(&mut pipeline, loan, call.now);
    }
    let replaced = tx.send_and_commit(pipeline).await;
    replaced.map_err(|error| write::reported(&ACCOUNT, error, &ready.document))?;
    Ok(Answer::no_content())
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut tx = call.tenant()?.begin().await?;
    let rows = tx.query("DELETE FROM accounts WHERE id = $1 RETURNING id", vec![id.into()]).await?;
    if rows.is_empty() {
        return Err(Failure::NotFound("Record Not Found".into()));
    }
    let mut pipeline = Pipeline::new();
    events::account_deleted(&mut pipeline, id, call.now);
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}
