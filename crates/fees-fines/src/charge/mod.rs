//! Charging: a new account and the record of its charge, stored together.
//!
//! Staff charge by POST of `/accounts` and then of `/feefineactions`; automatic charges use [`charge`] in the
//! transaction of their cause. Routes: POST, PUT and DELETE of `/accounts`, which announce the balance.

mod decide;

pub use decide::{Charge, ChargedBy, ChargedItem};

use crate::actions::{Account, LOCK_ITEMS};
use crate::events;
use crate::loan_fees_closed::{self, LoanFeesClosed};
use crate::records::accounts::ACCOUNT;
use carrel_audit::circulation_log::write_looking_up;
use carrel_platform::record_store::routes as plain;
use carrel_platform::record_store::write;
use carrel_platform::{Answer, Bind, Call, Changes, Pipeline, Router, RowChange};
use carrel_records::{Failure, json_text};
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("POST", "/accounts", create);
    router.on("PUT", "/accounts/{id}", replace);
    router.on("DELETE", "/accounts/{id}", delete);
}

/// The new records of a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charged {
    pub account: Uuid,
    pub action: Uuid,
}

/// Adds the statements that store the account, the record of its charge and the event. They can be joined with
/// neighboring statements, and with those of other charges.
pub fn charge(pipeline: &mut Pipeline, charge: &Charge, by: Option<Uuid>, now: Timestamp) -> Charged {
    let [account, action] = [(); 2].map(|()| Uuid::new_v7(write::uuid_time(now)));
    let document = Value::Object(charge.account(account, by, now));
    pipeline.change_row(&NEW_ACCOUNT, vec![account.into(), Bind::Json(document.to_string())]);
    let staff = match charge.charged_by {
        ChargedBy::Staff(id) => Some(id),
        ChargedBy::System => None,
    };
    let record = json_text(&charge.action(action, account, now));
    pipeline.change_row(&NEW_ACTION, vec![action.into(), Bind::Json(record), staff.into()]);
    events::balance_changed(pipeline, &document, now);
    if let Some(entry) = crate::log::charged(charge, &document) {
        write_looking_up(pipeline, &entry, now);
    }
    Charged { account, action }
}

static NEW_ACCOUNT: RowChange = RowChange {
    one: "INSERT INTO accounts (id, doc) VALUES ($1, $2)",
    several: "INSERT INTO accounts (id, doc) SELECT * FROM unnest($1::uuid[], $2::jsonb[])",
};

/// The record of a charge with the name of the member of staff as its source: "Last, First", else the username.
macro_rules! with_staff_name {
    ($doc:literal, $staff:literal) => {
        concat!(
            $doc,
            " || coalesce((SELECT jsonb_strip_nulls(jsonb_build_object('source',
                 CASE WHEN coalesce(staff.doc->'personal'->>'firstName', '') <> ''
                     AND coalesce(staff.doc->'personal'->>'lastName', '') <> ''
                 THEN concat(staff.doc->'personal'->>'lastName', ', ', staff.doc->'personal'->>'firstName')
                 ELSE staff.doc->>'username' END))
             FROM users staff WHERE staff.id = ",
            $staff,
            "), '{}')"
        )
    };
}

/// Reads the name in the statement that writes the record, so that desk actions without a charge need not read it.
static NEW_ACTION: RowChange = RowChange {
    one: concat!(
        "INSERT INTO feefineactions (id, doc) SELECT $1::uuid, ",
        with_staff_name!("$2::jsonb", "$3::uuid")
    ),
    several: concat!(
        "INSERT INTO feefineactions (id, doc) SELECT one.id, ",
        with_staff_name!("one.doc", "one.staff"),
        " FROM unnest($1::uuid[], $2::jsonb[], $3::uuid[]) AS one (id, doc, staff)"
    ),
};

async fn create(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let ready = write::prepare_new(&ACCOUNT, call.object()?, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &ACCOUNT, &ready, call.now);
    events::balance_changed(&mut pipeline, &Value::Object(ready.document.clone()), call.now);
    let stored = tenant.begin().await?.send_and_commit(pipeline).await;
    stored.map_err(|error| write::constraint_failure(&ACCOUNT, error, &ready.document))?;
    Ok(plain::created(&ACCOUNT, &ready))
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let not_found = || Failure::NotFound("Not found".into());
    let id = call.id(0)?;
    let document = call.object()?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    tx.query(LOCK_ITEMS, vec![vec![id].into()]).await?;
    let Some(stored) = write::lock(&mut tx, &ACCOUNT, id).await? else { return Err(not_found()) };
    let stored = stored.parse();
    let ready = write::prepare_replacement(&ACCOUNT, id, document, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &ACCOUNT, &ready, &stored, call.now);
    let replaced = Value::Object(ready.document.clone());
    events::balance_changed(&mut pipeline, &replaced, call.now);
    let closed: Vec<LoanFeesClosed> = LoanFeesClosed::of(Account::read(replaced).as_slice());
    for event in &closed {
        events::loan_related_fee_fine_closed(&mut pipeline, event.loan, call.now);
    }
    // Behind a gateway, modules use the accounts as plain storage, and report the consequences by the handlers' routes.
    if !call.caller.profile.effects_left_to_modules {
        let mut changes =
            Changes { tenant, tx: &mut tx, pipeline: &mut pipeline, caller: &call.caller, now: call.now };
        loan_fees_closed::announce(&mut changes, closed).await?;
    }
    let replaced = tx.send_and_commit(pipeline).await;
    replaced.map_err(|error| write::constraint_failure(&ACCOUNT, error, &ready.document))?;
    Ok(Answer::no_content())
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut tx = call.tenant()?.begin().await?;
    tx.query(LOCK_ITEMS, vec![vec![id].into()]).await?;
    let rows = tx.query("DELETE FROM accounts WHERE id = $1 RETURNING id", vec![id.into()]).await?;
    if rows.is_empty() {
        return Err(Failure::NotFound("Record Not Found".into()));
    }
    let mut pipeline = Pipeline::new();
    events::account_deleted(&mut pipeline, id, call.now);
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}
