//! `/circulation/loans`: loans with their related records, and whole loans sent by clients.

use super::{find, sent, store};
use crate::desk::queue;
use crate::moved_request;
use crate::patron_notices::{self, About, NoticeEvent};
use crate::records::loans::LOAN;
use crate::reminder_schedule;
use crate::settings::CirculationSettings;
use carrel_inventory::item_state::{self, StateChange};
use carrel_loan_rules::LoanStatus;
use carrel_loan_rules::request::RequestStatus;
use carrel_platform::http::pretty;
use carrel_platform::record_store::read::PageRequest;
use carrel_platform::record_store::{routes, stream, write};
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::Failure;
use http::StatusCode;
use serde_json::{Value, json};
use tokio_postgres::Row;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/circulation/loans", list);
    router.on("GET", "/circulation/loans/{id}", |call| async move {
        let tenant = call.tenant()?;
        let settings = CirculationSettings::of(tenant).await?;
        let loan = find::one(&tenant.reader().await?, known_id(&call)?).await?;
        let mut shown = loan.shown(&loan.document, None, &settings);
        // FOLIO quirk: a single loan shows an unknown patron group with nulls.
        if shown.get("patronGroupAtCheckout").is_none() {
            shown["patronGroupAtCheckout"] = json!({"id": null, "name": null});
        }
        Ok(Answer::json_bytes(pretty(&shown)))
    });
    router.on("POST", "/circulation/loans", create);
    router.on("PUT", "/circulation/loans/{id}", replace);
    router.on("DELETE", "/circulation/loans/{id}", |call| routes::delete(&LOAN, call));
    router.on("DELETE", "/circulation/loans", |call| routes::delete_many(&LOAN, call));
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let requested = PageRequest::read(&call.query)?;
    let settings = CirculationSettings::of(call.tenant()?).await?;
    let show = move |row: &Row| {
        let loan = find::of_page(row)?;
        Ok(loan.shown(&loan.document, None, &settings))
    };
    stream::shown(&call, &LOAN, &requested, find::page_sql, show).await
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let mut sent = sent::with_defaults(call.object()?);
    let id = match sent.get("id").and_then(Value::as_str) {
        Some(text) => {
            Uuid::parse_str(text).map_err(|_| Failure::Invalid(format!("'{text}' is not a UUID")))?
        }
        None => Uuid::new_v7(write::uuid_time(call.now)),
    };
    sent.insert("id".into(), id.to_string().into());
    let (tx, facts, settings) = sent::gather(tenant, id, &sent).await?;
    let decision = sent::decide_new(&facts, &sent, &settings, call.now)?;
    let ready = write::prepare_new(&LOAN, decision.loan.clone(), &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    store::insert(&mut pipeline, &tenant.id, id, &ready.document, None, call.now);
    change_item(&mut pipeline, &decision, &call);
    if let Some(filled) = decision.fills {
        queue::close(&mut pipeline, &tenant.id, filled, RequestStatus::Filled, call.now);
        queue::write(&mut pipeline, &decision.moves_up);
    }
    tx.send_and_commit(pipeline).await.map_err(|error| {
        if store::is_duplicate(&error) {
            return store::refused_by_storage(error, &ready.document);
        }
        Failure::from(error)
    })?;
    let shown = facts.beside(id).shown(&ready.document, decision.item_status.as_ref(), &settings);
    Ok(Answer::json_bytes(pretty(&shown))
        .status(StatusCode::CREATED)
        .location(format!("/circulation/loans/{id}")))
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let id = known_id(&call)?;
    let mut sent = sent::with_defaults(call.object()?);
    sent.insert("id".into(), id.to_string().into());
    let (tx, facts, settings) = sent::gather(tenant, id, &sent).await?;
    let existing = facts.existing.as_ref().ok_or_else(|| find::not_found(id))?;
    let by = call.caller.user_id;
    let decision = sent::decide_replacement(&facts, &sent, existing, &settings, by, call.now)?;
    let old = Value::Object(existing.clone());
    let ready = write::prepare_replacement(&LOAN, id, decision.loan.clone(), &old, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    store::replace(&mut pipeline, &tenant.id, id, existing, &ready.document, Some("replacement"), call.now);
    change_item(&mut pipeline, &decision, &call);
    let is_due_otherwise = LoanStatus::of(&ready.document) != Some(LoanStatus::Closed)
        && ready.document.get("dueDate") != existing.get("dueDate");
    if is_due_otherwise && let Some(first) = reminder_schedule::first_reminder(&ready.document, &settings) {
        reminder_schedule::reschedule(&mut pipeline, &first, call.now);
    }
    if let Some(request) = &decision.moved {
        moved_request::write(&mut pipeline, tenant, request, call.now);
    }
    let events = [NoticeEvent::DueDate, NoticeEvent::ManualDueDateChange];
    let events = if is_due_otherwise { &events[..] } else { &events[..1] };
    let notices = settings.notice_causes(events, About::Loan(id));
    patron_notices::record(&mut pipeline, &notices, call.now);
    tx.send_and_commit(pipeline).await.map_err(|error| {
        if store::is_duplicate(&error) {
            return store::refused_by_storage(error, &ready.document);
        }
        Failure::from(error)
    })?;
    if !notices.is_empty() {
        patron_notices::process_soon(tenant);
    }
    Ok(Answer::no_content())
}

fn change_item(pipeline: &mut Pipeline, decision: &sent::Decision, call: &Call) {
    if let Some(status) = decision.item_status.clone() {
        let change = StateChange { status, in_transit_destination: None, last_check_in: None };
        item_state::change(pipeline, decision.item_id, &change, call.now);
    }
}

/// The loan id of the path; a malformed one is not found.
fn known_id(call: &Call) -> Result<Uuid, Failure> {
    call.id(0).map_err(|_| {
        Failure::NotFound(format!("loan record with ID \"{}\" cannot be found", call.parameter(0)))
    })
}
