//! Moves a request to another item of the same instance, at the end of that item's queue. The previous item becomes
//! available again if no request for it is left.
//!
//! Routes: `POST /circulation/requests/{id}/move`.

use super::actor::Actor;
use super::candidate::{Candidate, OpenLoan};
use super::change::{self, Change};
use super::effects::{recall, status_after};
use super::lock::{LockQuery, LockedRequest, lock_request};
use super::log;
use super::place::eligibility::{refusal_of_kind, refusal_of_own_loan, refuse_kind_by_policy};
use super::place::requester::refuse_unknown_requester;
use super::policy::RequestPolicy;
use super::read;
use carrel_audit::circulation_log;
use carrel_circulation::loans::store;
use carrel_circulation::patron_notices::{self, About, NoticeEvent};
use carrel_circulation::reminder_schedule;
use carrel_circulation::request_snapshot as snapshot;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{self, RequestLevel, RequestStatus, RequestType};
use carrel_loan_rules::request_queue::{PositionChanges, next_position, with_last, without};
use carrel_platform::{Pipeline, Router};
use carrel_records::{Failure, ItemStatus, Refusal, RefusalCode};
use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MoveRequest {
    destination_item_id: Uuid,
    request_type: Option<String>,
}

/// The moved request, and the loan that it recalls.
pub struct Moved {
    pub change: Change,
    pub recalled: Option<(OpenLoan, Map<String, Value>)>,
}

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/requests/{id}/move", |call| async move {
        let tenant = call.tenant()?;
        let id = call.id(0).map_err(|_| read::unknown(call.parameter(0)))?;
        let command: MoveRequest = call.read_json()?;
        let wanted = LockQuery { request: id, item: Some(command.destination_item_id), named: None };
        let (tx, held, settings) =
            lock_request(tenant, &wanted).await?.ok_or_else(|| read::unknown(call.parameter(0)))?;
        let moved = decide(&held, id, &command, &Actor::of(&call), &settings)?;
        let mut pipeline = Pipeline::new();
        let before = moved.change.before.clone();
        let written = change::write(&mut pipeline, tenant, moved.change, &call.caller, call.now)?;
        let entry = log::moved(&before, &written, call.caller.user_id);
        circulation_log::write(&mut pipeline, &entry, call.now);
        if let Some((loan, after)) = &moved.recalled {
            store::replace(&mut pipeline, &tenant.id, loan.id, &loan.document, after, None, call.now);
            if let Some(entry) = log::recalled(&loan.document, after, call.caller.user_id, &settings.zone) {
                circulation_log::write_looking_up(&mut pipeline, &entry, call.now);
            }
            if let Some(first) = reminder_schedule::first_reminder(after, &settings) {
                reminder_schedule::reschedule(&mut pipeline, &first, call.now);
            }
        }
        // FOLIO quirk: there is no new confirmation of a moved request; the patron with the loan is notified of the
        // recall.
        let mut notices = settings.notice_causes(&[NoticeEvent::RequestExpiration], About::Request(id));
        if let Some((loan, _)) = &moved.recalled {
            let events = [NoticeEvent::ItemRecalled, NoticeEvent::DueDate];
            notices.extend(settings.notice_causes(&events, About::Loan(loan.id)));
        }
        patron_notices::record(&mut pipeline, &notices, call.now);
        tx.send_and_commit(pipeline).await.map_err(|error| change::constraint_failure(error, &written))?;
        if !notices.is_empty() {
            patron_notices::process_soon(tenant);
        }
        // The answer has the new position and the related records.
        read::answer(tenant, id).await
    });
}

/// The first refusal, or all changes that moving the request makes.
fn decide(
    held: &LockedRequest,
    id: Uuid,
    command: &MoveRequest,
    actor: &Actor,
    settings: &CirculationSettings,
) -> Result<Moved, Failure> {
    let titles = settings.title_level_requests.enabled();
    let mut document = held.stored.clone();
    let wished = command.request_type.as_deref();
    let mut kind =
        wished.or(request::text(&document, "requestType")).and_then(RequestType::parse_ignoring_case);
    held.refuse_if_closed(id)?;
    refuse_title_level(&document, id, kind, titles)?;
    let destination = destination(held, command)?;
    document.insert("itemId".into(), destination.item.id.to_string().into());
    if let Some(holdings) = destination.item.holdings_id {
        document.insert("holdingsRecordId".into(), holdings.to_string().into());
    }
    if destination.item.status == ItemStatus::Available {
        kind = Some(RequestType::Page);
    }
    document.insert("requestType".into(), kind.map_or("", RequestType::as_str).into());
    refuse(held, &document, id, destination, kind, settings)?;

    snapshot::write(&mut document, &held.related(Some(&destination.item)), settings);
    document.remove("position");
    let source = held.stored_item().filter(|source| *source != destination.item.id);
    let (moves, moves_behind) = moves(held, id, titles || source.is_none());
    let recalled = match &destination.loan {
        Some(loan) if kind == Some(RequestType::Recall) => {
            recall(loan, &destination.item, actor, settings)?.map(|after| (loan.clone(), after))
        }
        _ => None,
    };
    let change = Change {
        id,
        before: held.stored.clone(),
        after: document,
        queue: if titles { request::id(&held.stored, "instanceId") } else { Some(destination.item.id) },
        moves,
        left: source.map(|source| (source, moves_behind)),
        items: new_statuses(held, id, kind, destination, held.item(source)),
    };
    Ok(Moved { change, recalled })
}

/// Title-level requests can be moved only from and to pages and recalls, and only if they are enabled.
fn refuse_title_level(
    document: &Map<String, Value>,
    id: Uuid,
    kind: Option<RequestType>,
    titles: bool,
) -> Result<(), Refusal> {
    if request::level(document) != Some(RequestLevel::Title) {
        return Ok(());
    }
    let was = request::kind(document);
    let request = if !titles {
        "Can not process TLR - TLR feature is disabled"
    } else if [was, kind].contains(&Some(RequestType::Hold)) {
        "Not allowed to move from/to Hold TLR"
    } else {
        return Ok(());
    };
    Err(Refusal::new(request).with("requestId", id.to_string()))
}

/// The destination, an item of the same instance.
fn destination<'a>(held: &'a LockedRequest, command: &MoveRequest) -> Result<&'a Candidate, Refusal> {
    let destination = held.item(Some(command.destination_item_id));
    let instance = destination.and_then(|destination| destination.item.instance_id);
    destination.filter(|_| instance == request::id(&held.stored, "instanceId")).ok_or_else(|| {
        let refusal = Refusal::new("Request can only be moved to an item with the same instance ID")
            .with("itemId", command.destination_item_id.to_string());
        match instance {
            Some(instance) => refusal.with("instanceId", instance.to_string()),
            None => refusal.with_null("instanceId"),
        }
    })
}

/// The new positions in the destination's queue and in the previous one.
fn moves(held: &LockedRequest, id: Uuid, stays_in_its_queue: bool) -> (PositionChanges, PositionChanges) {
    if !stays_in_its_queue {
        return (vec![(id, next_position(&held.other_queue))], without(&held.queue, id));
    }
    // The request's own position is written with the others.
    let mut moves = with_last(&held.queue, id);
    if !moves.iter().any(|(moved, _)| *moved == id) {
        moves.push((id, held.queue.len() as i64));
    }
    (moves, Vec::new())
}

/// The new statuses of the destination and of the previous item.
fn new_statuses(
    held: &LockedRequest,
    id: Uuid,
    kind: Option<RequestType>,
    destination: &Candidate,
    source: Option<&Candidate>,
) -> Vec<(Uuid, ItemStatus)> {
    let asked_for = status_after(kind, &destination.item.status, true);
    let left = source.and_then(|source| {
        let requested =
            held.queue.iter().any(|other| other.id != id && other.item_id == Some(source.item.id));
        status_after(None, &source.item.status, requested).map(|status| (source.item.id, status))
    });
    asked_for.map(|status| (destination.item.id, status)).into_iter().chain(left).collect()
}

/// The first refusal of the request at its destination.
fn refuse(
    held: &LockedRequest,
    document: &Map<String, Value>,
    id: Uuid,
    destination: &Candidate,
    kind: Option<RequestType>,
    settings: &CirculationSettings,
) -> Result<(), Failure> {
    if let Some(refusal) = refuse_unknown_requester(held.requester.as_ref(), document) {
        return Err(refusal.into());
    }
    if !kind.is_some_and(|kind| kind.is_possible_for(&destination.item.status)) {
        return Err(refusal_of_kind(kind).into());
    }
    refuse_if_already_requested(held, document, id, destination, settings)?;
    let requester = request::id(document, "requesterId");
    if let Some(loan) = &destination.loan
        && loan.id_at("userId") == requester
    {
        return Err(refusal_of_own_loan(document, loan.id).into());
    }
    let group = held.requester.as_ref().and_then(|requester| requester.patron_group);
    let policy = RequestPolicy::of_item(settings, &destination.item, group)?;
    refuse_kind_by_policy(document, kind, &policy)?;
    Ok(())
}

fn refuse_if_already_requested(
    held: &LockedRequest,
    document: &Map<String, Value>,
    id: Uuid,
    destination: &Candidate,
    settings: &CirculationSettings,
) -> Result<(), Refusal> {
    let titles = settings.title_level_requests.enabled();
    let is_title_level = request::level(document) == Some(RequestLevel::Title);
    let requester = request::id(document, "requesterId");
    let same_item = held.stored_item() == Some(destination.item.id);
    let queue = if titles || same_item { &held.queue } else { &held.other_queue };
    let own = queue.iter().filter(|other| {
        other.requester_id == requester && other.status != Some(RequestStatus::AwaitingDelivery)
    });
    let existing = own.clone().find(|other| {
        if is_title_level || !(titles && other.is_title_level) {
            other.item_id == Some(destination.item.id)
        } else {
            true
        }
    });
    let Some(existing) = existing else { return Ok(()) };
    let sent = |key: &str| request::text(document, key).unwrap_or_default().to_owned();
    Err(if !is_title_level {
        Refusal::new("This requester already has an open request for this item")
            .with("itemId", sent("itemId"))
            .with("requesterId", sent("requesterId"))
            .with("requestId", id.to_string())
            .code(RefusalCode::ItemAlreadyRequested)
    } else {
        let (text, code) = if existing.is_title_level {
            (
                "Not allowed to move title level page request to the same item",
                RefusalCode::MovingRequestToTheSameItem,
            )
        } else {
            (
                "This requester already has an open request for one of the instance's items",
                RefusalCode::ItemOfThisInstanceAlreadyRequested,
            )
        };
        Refusal::new(text)
            .with("requesterId", sent("requesterId"))
            .with("instanceId", sent("instanceId"))
            .code(code)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::*;
    use carrel_loan_rules::request_queue::QueueEntry;
    use serde_json::json;

    /// A request for an item ahead of another one, and a second item as destination.
    fn locked_at(level: &str, kind: &str, destination: Candidate) -> LockedRequest {
        let in_queue =
            |id, position| QueueEntry { is_title_level: level == "Title", ..waiting(id, position, ITEM) };
        held(
            json!({"requestType": kind, "requestLevel": level}),
            vec![item_as(ITEM, "Paged"), destination],
            vec![in_queue(REQUEST, 1), in_queue(NEXT, 2)],
        )
    }

    fn moved(held: &LockedRequest, kind: Option<&str>, titles: bool) -> Result<Moved, Failure> {
        let command = MoveRequest { destination_item_id: OTHER_ITEM, request_type: kind.map(str::to_owned) };
        decide(held, REQUEST, &command, &staff(), &settings_with(titles))
    }

    fn refused(held: &LockedRequest, kind: Option<&str>, titles: bool) -> (String, Option<RefusalCode>) {
        let refusal = first_refusal(moved(held, kind, titles));
        (refusal.message, refusal.code)
    }

    fn out() -> Candidate {
        on_loan(OTHER_ITEM, NEIGHBOR, "20")
    }

    #[test]
    fn requests_of_titles_move_only_where_titles_are_asked_for() {
        let page = locked_at("Title", "Page", out());
        assert_eq!(refused(&page, None, false).0, "Can not process TLR - TLR feature is disabled");
    }

    #[test]
    fn a_hold_of_a_title_waits_for_no_item_and_so_does_not_move() {
        let text = "Not allowed to move from/to Hold TLR";
        assert_eq!(refused(&locked_at("Title", "Hold", out()), Some("Recall"), true).0, text);
        assert_eq!(refused(&locked_at("Title", "Page", out()), Some("Hold"), true).0, text);
    }

    #[test]
    fn a_request_stays_with_its_title() {
        let mut elsewhere = out();
        elsewhere.item.instance_id = Some(NEIGHBOR);
        let text = "Request can only be moved to an item with the same instance ID";
        assert_eq!(refused(&locked_at("Item", "Hold", elsewhere), None, true).0, text);
    }

    #[test]
    fn a_title_level_request_does_not_move_to_the_item_that_it_has() {
        let mut there = locked_at("Title", "Page", out());
        there.queue[0].item_id = Some(OTHER_ITEM);
        assert_eq!(
            refused(&there, Some("Recall"), true),
            (
                "Not allowed to move title level page request to the same item".to_owned(),
                Some(RefusalCode::MovingRequestToTheSameItem)
            )
        );
    }

    #[test]
    fn what_holds_for_placing_holds_for_the_destination() {
        let kind = refused(&locked_at("Item", "Page", out()), None, false);
        assert_eq!(kind.1, Some(RefusalCode::RequestNotAllowedForPatronItemCombination));
        let reference = refused(&locked_at("Item", "Hold", for_reference(out())), None, false);
        assert_eq!(reference.1, Some(RefusalCode::RequestNotAllowedForPatronItemCombination));
        let his = refused(&locked_at("Item", "Hold", on_loan(OTHER_ITEM, PATRON, "20")), None, false);
        assert_eq!(his.1, Some(RefusalCode::RequesterAlreadyHasThisItemOnLoan));
        let mut twice = locked_at("Item", "Hold", out());
        twice.other_queue = vec![QueueEntry { requester_id: Some(PATRON), ..waiting(NEXT, 1, OTHER_ITEM) }];
        assert_eq!(refused(&twice, None, false).1, Some(RefusalCode::ItemAlreadyRequested));
    }

    #[test]
    fn a_request_moved_to_another_item_stands_last_there_and_those_behind_move_up() {
        let mut held = locked_at("Item", "Hold", out());
        held.other_queue = vec![waiting(Uuid::from_u128(202), 1, OTHER_ITEM)];
        let change = moved(&held, None, false).expect("moved").change;
        assert_eq!(change.moves, [(REQUEST, 2)]);
        assert_eq!(change.left, Some((ITEM, vec![(NEXT, 1)])));
        assert_eq!(change.queue, Some(OTHER_ITEM));
    }

    #[test]
    fn an_item_on_the_shelf_is_paged_and_the_one_left_behind_is_available() {
        let mut held = locked_at("Item", "Hold", item_as(OTHER_ITEM, "Available"));
        held.queue.pop();
        let change = moved(&held, None, false).expect("moved").change;
        assert_eq!(change.after["requestType"], "Page");
        assert_eq!(change.items, [(OTHER_ITEM, ItemStatus::Paged), (ITEM, ItemStatus::Available)]);
    }

    #[test]
    fn a_recall_goes_for_the_loan_of_its_new_item() {
        let moved = moved(&locked_at("Item", "Hold", out()), Some("Recall"), false).expect("moved");
        let (_, loan) = moved.recalled.expect("a recalled loan");
        assert_eq!(loan["action"], "recallrequested");
    }
}
