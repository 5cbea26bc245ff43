//! Edits and cancels requests. A closed request leaves its queue; a paged item without other requests becomes
//! available.
//!
//! Routes: `PUT /circulation/requests/{id}` (places a request if there is none with the id).

use super::actor::Actor;
use super::change::{self, Change};
use super::effects::status_after;
use super::lock::{LockQuery, LockedRequest, NewReferences, lock_request};
use super::log;
use super::place::{PlaceRequest, place};
use super::validate::{
    expiration_at_end_of_day, refuse_fulfillment, refuse_level, refuse_pickup, status, without_related,
};
use carrel_audit::circulation_log;
use carrel_circulation::desk::is_valid_relation;
use carrel_circulation::patron_notices::{self, About, NoticeEvent};
use carrel_circulation::request_snapshot as snapshot;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{self, RequestLevel, RequestStatus};
use carrel_loan_rules::request_queue::without;
use carrel_platform::{Answer, Pipeline, Router};
use carrel_records::{Failure, Refusal, RefusalCode, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("PUT", "/circulation/requests/{id}", |call| async move {
        let tenant = call.tenant()?;
        let id = call.id(0)?;
        let mut document = call.object()?;
        document.insert("id".into(), id.to_string().into());
        let wanted = LockQuery {
            request: id,
            item: request::id(&document, "itemId"),
            named: Some(NewReferences {
                instance: request::id(&document, "instanceId"),
                requester: request::id(&document, "requesterId"),
                proxy: request::id(&document, "proxyUserId"),
            }),
        };
        let Some((tx, held, settings)) = lock_request(tenant, &wanted).await? else {
            let placed = place(tenant, PlaceRequest::read(document)?, &Actor::of(&call)).await;
            // FOLIO quirk: only the first refusal is reported here.
            return match placed {
                Ok(_) => Ok(Answer::no_content()),
                Err(Failure::Refused(refusals)) => {
                    Err(Failure::Refused(refusals.into_iter().take(1).collect()))
                }
                Err(failure) => Err(failure),
            };
        };
        let change = decide(&held, document, id, call.now, &settings)?;
        let canceled = request::status(&change.after) == Some(RequestStatus::Cancelled);
        let events = [NoticeEvent::RequestExpiration, NoticeEvent::RequestCancellation];
        let events = if canceled { &events[..] } else { &events[..1] };
        let notices = settings.notice_causes(events, About::Request(id));
        let mut pipeline = Pipeline::new();
        let before = change.before.clone();
        let written = change::write(&mut pipeline, tenant, change, &call.caller, call.now)?;
        let entry = log::edited(&before, &written, call.caller.user_id, &settings);
        circulation_log::write(&mut pipeline, &entry, call.now);
        patron_notices::record(&mut pipeline, &notices, call.now);
        tx.send_and_commit(pipeline).await.map_err(|error| change::constraint_failure(error, &written))?;
        if !notices.is_empty() {
            patron_notices::process_soon(tenant);
        }
        Ok(Answer::no_content())
    });
}

/// The first refusal, or all changes that the new version makes.
pub fn decide(
    held: &LockedRequest,
    mut document: Map<String, Value>,
    id: Uuid,
    now: Timestamp,
    settings: &CirculationSettings,
) -> Result<Change, Failure> {
    let status = status(&document)?;
    refuse_level(&document, settings.title_level_requests.enabled())?;
    refuse_fulfillment(&document)?;
    refuse_missing(&document)?;
    refuse_proxy(held, &document, now)?;
    refuse_pickup(&document, settings)?;
    refuse_other_comments(held, &document)?;
    held.refuse_if_closed(id)?;

    without_related(&mut document);
    document.insert("status".into(), status.into());
    expiration_at_end_of_day(&mut document, &settings.zone);
    let target = held.item(request::id(&document, "itemId"));
    // The item determines the holdings record of a request, whatever the client sent.
    if let Some(holdings) = target.and_then(|target| target.item.holdings_id) {
        document.insert("holdingsRecordId".into(), holdings.to_string().into());
    }
    snapshot::write(&mut document, &held.related(target.map(|target| &target.item)), settings);
    // Positions come from the queue, not from the client.
    document.remove("position");
    let moves = if status.is_closed() {
        without(&held.queue, id)
    } else {
        if let Some(position) = held.stored.get("position") {
            document.insert("position".into(), position.clone());
        }
        Vec::new()
    };
    let kind = request::kind(&document);
    let still_requested = |item: Uuid| {
        held.queue.iter().any(|waiting| {
            waiting.item_id == Some(item) && (waiting.id != id || status != RequestStatus::Cancelled)
        })
    };
    let becomes = target.and_then(|target| {
        status_after(kind, &target.item.status, still_requested(target.item.id))
            .map(|status| (target.item.id, status))
    });
    Ok(Change {
        id,
        before: held.stored.clone(),
        after: document,
        queue: held.queue_id(settings),
        moves,
        left: None,
        items: becomes.into_iter().collect(),
    })
}

fn refuse_missing(document: &Map<String, Value>) -> Result<(), Refusal> {
    let item = request::text(document, "itemId");
    let is_item_level = request::text(document, "requestLevel").and_then(RequestLevel::parse_ignoring_case)
        == Some(RequestLevel::Item);
    if request::text(document, "instanceId").is_none() {
        return Err(Refusal::new("Cannot create a request with no instance ID").with_null("instanceId"));
    }
    if is_item_level && item.is_none() {
        return Err(Refusal::new("Cannot create an item level request with no item ID").with_null("itemId"));
    }
    if item.is_some() && request::text(document, "holdingsRecordId").is_none() {
        return Err(Refusal::new("Cannot create a request with item ID but no holdings record ID")
            .with_null("holdingsRecordId"));
    }
    if request::text(document, "requestDate").and_then(time::parse).is_none() {
        return Err(Refusal::new("Cannot create a request with no requestDate").with_null("requestDate"));
    }
    Ok(())
}

/// Staff cannot change patron comments.
fn refuse_other_comments(held: &LockedRequest, document: &Map<String, Value>) -> Result<(), Refusal> {
    if document.get("patronComments") == held.stored.get("patronComments") {
        return Ok(());
    }
    let refusal = Refusal::new("Patron comments are not allowed to change");
    Err(match request::text(&held.stored, "patronComments") {
        Some(comments) => refusal.with("existingPatronComments", comments),
        None => refusal.with_null("existingPatronComments"),
    })
}

fn refuse_proxy(held: &LockedRequest, document: &Map<String, Value>, now: Timestamp) -> Result<(), Refusal> {
    let Some(proxy) = request::text(document, "proxyUserId") else { return Ok(()) };
    if Some(proxy) == request::text(document, "requesterId") {
        return Err(Refusal::new("User cannot be proxy for themselves")
            .with("proxyUserId", proxy)
            .code(RefusalCode::UserCannotBeProxyForThemselves));
    }
    if !held.proxy_relations.iter().any(|relation| is_valid_relation(relation, now)) {
        return Err(Refusal::new("proxyUserId is not valid").with("proxyUserId", proxy));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::Candidate;
    use crate::fixtures::*;
    use carrel_records::ItemStatus;
    use serde_json::{Value, json};

    /// A stored request of the given status, optionally with another one after it in the queue.
    fn locked_as(status: RequestStatus, item_as: Candidate, behind: bool) -> LockedRequest {
        let mut queue = vec![waiting(REQUEST, 1, ITEM)];
        queue.extend(behind.then(|| waiting(NEXT, 2, ITEM)));
        held(json!({"status": status, "patronComments": "Thanks"}), vec![item_as], queue)
    }

    fn put(held: &LockedRequest, differs: Value) -> Result<Change, Failure> {
        let document = with(Value::Object(held.stored.clone()), differs);
        decide(held, document, REQUEST, time::parse(NOW).expect("a time"), &settings_with(false))
    }

    fn open() -> LockedRequest {
        locked_as(RequestStatus::NotYetFilled, item_as(ITEM, "Paged"), true)
    }

    fn refused(held: &LockedRequest, differs: Value) -> Refusal {
        first_refusal(put(held, differs))
    }

    #[test]
    fn a_patrons_comment_stays_as_it_is() {
        assert_eq!(
            refused(&open(), json!({"patronComments": "No thanks"})),
            Refusal::new("Patron comments are not allowed to change")
                .with("existingPatronComments", "Thanks")
        );
    }

    #[test]
    fn what_is_closed_stays_closed() {
        let closed = locked_as(RequestStatus::Filled, item_as(ITEM, "Checked out"), false);
        assert_eq!(
            refused(&closed, json!({"status": RequestStatus::NotYetFilled})),
            Refusal::new("The Request has already been closed")
                .with("id", REQUEST.to_string())
                .code(RefusalCode::RequestAlreadyClosed)
        );
    }

    #[test]
    fn a_new_version_must_make_sense_as_a_request() {
        let first = |differs: Value| refused(&open(), differs).message;
        assert_eq!(first(json!({"instanceId": null})), "Cannot create a request with no instance ID");
        assert_eq!(first(json!({"itemId": null})), "Cannot create an item level request with no item ID");
        assert_eq!(
            first(json!({"holdingsRecordId": null})),
            "Cannot create a request with item ID but no holdings record ID"
        );
        assert_eq!(first(json!({"requestDate": "soon"})), "Cannot create a request with no requestDate");
        assert_eq!(first(json!({"proxyUserId": PATRON})), "User cannot be proxy for themselves");
        assert_eq!(first(json!({"proxyUserId": NEIGHBOR})), "proxyUserId is not valid");
        assert_eq!(first(json!({"pickupServicePointId": OFFICE})), "Service point is not a pickup location");
    }

    #[test]
    fn who_cancels_leaves_the_queue_and_those_behind_move_up() {
        let change = put(&open(), json!({"status": RequestStatus::Cancelled})).expect("cancelled");
        assert_eq!(change.moves, [(NEXT, 1)]);
        assert!(!change.after.contains_key("position"));
        assert!(change.items.is_empty(), "somebody else still waits for the paged book");
    }

    #[test]
    fn a_paged_item_that_nobody_wants_any_more_is_available() {
        let alone = locked_as(RequestStatus::NotYetFilled, item_as(ITEM, "Paged"), false);
        let change = put(&alone, json!({"status": RequestStatus::Cancelled})).expect("cancelled");
        assert_eq!(change.items, [(ITEM, ItemStatus::Available)]);
        let on_the_shelf = locked_as(RequestStatus::AwaitingPickup, item_as(ITEM, "Awaiting pickup"), false);
        let change = put(&on_the_shelf, json!({"status": RequestStatus::Cancelled})).expect("cancelled");
        assert!(change.items.is_empty(), "it stays on the hold shelf until staff fetch it");
    }

    #[test]
    fn an_edit_keeps_the_place_in_the_queue_whatever_the_client_says() {
        let change =
            put(&open(), json!({"position": 7, "requestExpirationDate": "2024-06-01"})).expect("edited");
        assert_eq!((change.after["position"].as_i64(), change.moves.len()), (Some(1), 0));
        assert_eq!(change.after["requestExpirationDate"], "2024-06-01T23:59:59.000Z");
    }
}
