//! Writes the changes of a placed request and commits them, in one round trip.

use super::Placement;
use crate::actor::Actor;
use crate::change::{change_status, same_position};
use crate::log;
use carrel_audit::circulation_log;
use carrel_circulation::loans::store;
use carrel_circulation::patron_notices::{self, About, Cause, NoticeEvent};
use carrel_circulation::records::requests::REQUEST;
use carrel_circulation::reminder_schedule;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request;
use carrel_platform::record_store::write as records;
use carrel_platform::{Bind, Event, Pipeline, Tenant, Tx, outbox};
use carrel_records::Failure;
use serde_json::{Map, Value};
use std::sync::Arc;
use uuid::Uuid;

const INSERT: &str = "INSERT INTO request (id, doc, queue_id, keeps_copies) VALUES ($1, $2, $3, $4)";
/// By the profile of a test suite's tenant a request with a known id is replaced.
const INSERT_OR_REPLACE: &str = "INSERT INTO request (id, doc, queue_id, keeps_copies)
     VALUES ($1, $2, $3, $4)
     ON CONFLICT (id) DO UPDATE SET doc = $2, queue_id = $3, keeps_copies = excluded.keeps_copies";

/// Writes the request, the item's new status and the recalled loan.
pub async fn apply(
    tx: Tx,
    tenant: &Arc<Tenant>,
    placed: &mut Placement,
    settings: &CirculationSettings,
    actor: &Actor,
) -> Result<(), Failure> {
    let document = std::mem::take(&mut placed.document);
    let ready = records::prepare_new(&REQUEST, document, &actor.caller, actor.now)?;
    let text = Value::Object(ready.document.clone()).to_string();
    let mut pipeline = Pipeline::new();
    pipeline.change(
        if actor.caller.profile.post_replaces { INSERT_OR_REPLACE } else { INSERT },
        vec![ready.id.into(), Bind::Json(text.clone()), placed.queue.into(), placed.keeps_copies.into()],
    );
    let (id, event) = (ready.id.to_string(), Event::created(&tenant.id, &text).to_string());
    outbox::announce(&mut pipeline, "circulation.request", id, event, actor.now);
    change_status(
        &mut pipeline,
        placed.item.as_ref().map(|item| item.id),
        placed.item_becomes.clone(),
        actor.now,
    );
    let entry = log::placed(&ready.document, placed.overrides, actor.caller.user_id);
    circulation_log::write(&mut pipeline, &entry, actor.now);
    if let (Some(loan), Some(after)) = (&placed.loan, &placed.recalled) {
        store::replace(&mut pipeline, &tenant.id, loan.id, &loan.document, after, None, actor.now);
        let by = actor.caller.user_id;
        if let Some(entry) = log::recalled(&loan.document, after, by, &placed.zone) {
            circulation_log::write_looking_up(&mut pipeline, &entry, actor.now);
        }
        if let Some(first) = reminder_schedule::first_reminder(after, settings) {
            reminder_schedule::reschedule(&mut pipeline, &first, actor.now);
        }
    }
    let notices = notices(ready.id, &ready.document, placed, settings);
    patron_notices::record(&mut pipeline, &notices, actor.now);
    placed.id = ready.id;
    placed.document = ready.document;
    tx.send_and_commit(pipeline).await.map_err(|error| {
        let of_the_queue =
            error.constraint.as_deref().is_some_and(|name| name.starts_with("request_queue_id"));
        if error.is_unique_violation() && of_the_queue {
            return same_position(&placed.document).into();
        }
        records::constraint_failure(&REQUEST, error, &placed.document)
    })?;
    if !notices.is_empty() {
        patron_notices::process_soon(tenant);
    }
    Ok(())
}

/// The notices for requester and patron with the loan, who is notified of the first recall only.
fn notices(
    id: Uuid,
    document: &Map<String, Value>,
    placed: &Placement,
    settings: &CirculationSettings,
) -> Vec<Cause> {
    let kind = request::kind(document).map(NoticeEvent::of_request_type);
    let events: Vec<NoticeEvent> = kind.into_iter().chain([NoticeEvent::RequestExpiration]).collect();
    let mut notices = settings.notice_causes(&events, About::Request(id));
    if let (Some(loan), Some(_)) = (&placed.loan, &placed.recalled) {
        let events = [NoticeEvent::ItemRecalled, NoticeEvent::DueDate];
        notices.extend(settings.notice_causes(&events, About::Loan(loan.id)));
    }
    notices
}
