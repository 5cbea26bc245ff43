//! A patron cancels a request.

use super::hold_request::HoldRequest;
use super::response::{ItemSummary, hold as shown};
use super::shown_to_patron;
use carrel_circulation::request_snapshot::Related;
use carrel_loan_rules::request;
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::Failure;
use carrel_requests::change;
use carrel_requests::edit;
use carrel_requests::lock::{LockQuery, lock_request};
use carrel_requests::read::unknown;
use carrel_requests::view::{DisplayContext, extended};

pub(super) fn connect(router: &mut Router) {
    router.on("POST", "/patron/account/{accountId}/hold/{holdId}/cancel", cancelled);
}

async fn cancelled(call: Call) -> Result<Answer, Failure> {
    let (patron, id) = (call.id(0)?, call.id(1)?);
    let hold_request = HoldRequest::read(call.object()?)?;
    let tenant = call.tenant()?;
    let wanted = LockQuery { request: id, ..LockQuery::default() };
    let (tx, held, settings) =
        lock_request(tenant, &wanted).await?.ok_or_else(|| unknown(&id.to_string()))?;
    // Patrons can cancel their own requests and those that a proxy placed for them, no others.
    let is_his = |key: &str| request::id(&held.stored, key) == Some(patron);
    if !is_his("requesterId") && !is_his("proxyUserId") {
        return Err(unknown(&id.to_string()));
    }
    let mut document = held.stored.clone();
    hold_request.cancel(&mut document, call.now);
    let before = document.clone();
    // The patron can cancel even if the proxy relationship has ended.
    let proxy = document.remove("proxyUserId");
    let mut decided = edit::decide(&held, document, id, call.now, &settings).map_err(shown_to_patron)?;
    if let Some(proxy) = proxy {
        decided.after.insert("proxyUserId".into(), proxy);
    }
    let mut pipeline = Pipeline::new();
    let written = change::write(&mut pipeline, tenant, decided, &call.caller, call.now)?;
    tx.send_and_commit(pipeline)
        .await
        .map_err(|error| shown_to_patron(change::constraint_failure(error, &written)))?;
    // FOLIO quirk: the answer has the queue position before the cancellation.
    let related = Related { title: held.title.as_ref(), ..Related::default() };
    let request = extended(&before, &DisplayContext { related, ..DisplayContext::default() }, &settings);
    Ok(Answer::json(&shown(&request, &ItemSummary::of_request(&request))))
}
