//! A patron no longer wants what he asked for.

use super::hold_request::HoldRequest;
use super::shown::{Thing, hold as shown};
use super::shown_to_patron;
use carrel_circulation::request_snapshot::Related;
use carrel_loan_rules::request as words;
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::Failure;
use carrel_requests::change;
use carrel_requests::edit;
use carrel_requests::hold::{Wanted, hold};
use carrel_requests::read::unknown;
use carrel_requests::view::{LoanContext, extended};

pub(super) fn connect(router: &mut Router) {
    router.on("POST", "/patron/account/{accountId}/hold/{holdId}/cancel", cancelled);
}

async fn cancelled(call: Call) -> Result<Answer, Failure> {
    let (patron, id) = (call.id(0)?, call.id(1)?);
    let hold_request = HoldRequest::read(call.object()?)?;
    let tenant = call.tenant()?;
    let wanted = Wanted { request: id, ..Wanted::default() };
    let (tx, held, settings) = hold(tenant, &wanted).await?.ok_or_else(|| unknown(&id.to_string()))?;
    // Patrons cancel what they asked for, or what somebody asked for as their proxy, and nothing else.
    let is_his = |key: &str| words::id(&held.stored, key) == Some(patron);
    if !is_his("requesterId") && !is_his("proxyUserId") {
        return Err(unknown(&id.to_string()));
    }
    let mut document = held.stored.clone();
    hold_request.cancel(&mut document, call.now);
    let reported = document.clone();
    // Whoever may have been his proxy then, the patron can always cancel.
    let proxy = document.remove("proxyUserId");
    let mut decided = edit::decide(&held, document, id, call.now, &settings).map_err(shown_to_patron)?;
    if let Some(proxy) = proxy {
        decided.after.insert("proxyUserId".into(), proxy);
    }
    let mut pipeline = Pipeline::new();
    let written = change::write(&mut pipeline, tenant, decided, &call.caller, call.now)?;
    tx.send_and_commit(pipeline).await.map_err(|error| shown_to_patron(change::reported(error, &written)))?;
    // FOLIO quirk: the answer shows the place in the queue that the patron had.
    let around = Related { title: held.title.as_ref(), ..Related::default() };
    let request = extended(&reported, &LoanContext { around, ..LoanContext::default() }, &settings);
    Ok(Answer::json(&shown(&request, &Thing::of_request(&request))))
}
