//! Moving a request to another item of the same title. It goes to the end of that item's queue; an item left
//! behind that nobody waits for goes back to the shelf.
//!
//! Routes: `POST /circulation/requests/{id}/move`.

use super::change::{self, Change};
use super::effects::{recall, status_after};
use super::hold::{Held, Wanted, hold};
use super::place::Actor;
use super::place::apply::change_loan;
use super::place::facts::{Candidate, OpenLoan};
use super::place::requester::refuse_unknown_requester;
use super::place::suits::{refusal_of_kind, refusal_of_own_loan, refuse_kind_by_policy};
use super::policy::RequestPolicy;
use super::read;
use carrel_circulation::request_snapshot as snapshot;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{self as words, AWAITING_DELIVERY, Kind};
use carrel_loan_rules::request_queue::{Moves, last, left_by, to_the_end};
use carrel_platform::{Pipeline, Router};
use carrel_records::{Failure, Refusal};
use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MoveRequest {
    destination_item_id: Uuid,
    request_type: Option<String>,
}

/// A request in another place, and the loan that it recalls there.
pub struct Moved {
    pub change: Change,
    pub recalled: Option<(OpenLoan, Map<String, Value>)>,
}

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/requests/{id}/move", |call| async move {
        let tenant = call.tenant()?;
        let id = call.id(0).map_err(|_| read::unknown(call.parameter(0)))?;
        let command: MoveRequest = call.read_json()?;
        let wanted = Wanted { request: id, item: Some(command.destination_item_id), named: None };
        let (tx, held, settings) =
            hold(tenant, &wanted).await?.ok_or_else(|| read::unknown(call.parameter(0)))?;
        let moved = decide(&held, id, &command, &Actor::of(&call), &settings)?;
        let mut pipeline = Pipeline::new();
        let written = change::write(&mut pipeline, tenant, moved.change, &call.caller, call.now)?;
        if let Some((loan, after)) = &moved.recalled {
            change_loan(&mut pipeline, tenant, loan.id, &loan.document, after, call.now);
        }
        tx.send_and_commit(pipeline).await.map_err(|error| change::reported(error, &written))?;
        // The answer shows the request with its new position and surroundings.
        read::answer(tenant, id).await
    });
}

/// The first refusal, or the request at its destination with what follows there and where it was.
fn decide(
    held: &Held,
    id: Uuid,
    command: &MoveRequest,
    actor: &Actor,
    settings: &CirculationSettings,
) -> Result<Moved, Failure> {
    let titles = settings.title_level_requests.enabled();
    let mut document = held.stored.clone();
    let wished = command.request_type.as_deref();
    let mut kind = wished.or(words::text(&document, "requestType")).and_then(Kind::named);
    held.refuse_if_closed(id)?;
    refuse_title_level(&document, id, kind, titles)?;
    let destination = destination(held, command)?;
    document.insert("itemId".into(), destination.item.id.to_string().into());
    if let Some(holdings) = destination.item.holdings_id {
        document.insert("holdingsRecordId".into(), holdings.to_string().into());
    }
    if destination.item.status == "Available" {
        kind = Some(Kind::Page);
    }
    document.insert("requestType".into(), kind.map_or("", Kind::text).into());
    refuse(held, &document, id, destination, kind, settings)?;

    snapshot::write(&mut document, &held.around(Some(&destination.item)), settings);
    document.remove("position");
    let source = held.stored_item().filter(|source| *source != destination.item.id);
    let (moves, moves_behind) = moves(held, id, titles || source.is_none());
    let recalled = match &destination.loan {
        Some(loan) if kind == Some(Kind::Recall) => {
            recall(loan, &destination.item, actor, settings)?.map(|after| (loan.clone(), after))
        }
        _ => None,
    };
    let change = Change {
        id,
        before: held.stored.clone(),
        after: document,
        queue: if titles { words::id(&held.stored, "instanceId") } else { Some(destination.item.id) },
        moves,
        left: source.map(|source| (source, moves_behind)),
        items: new_statuses(held, id, kind, destination, held.item(source)),
    };
    Ok(Moved { change, recalled })
}

/// A request for a title moves only between copies that can be fetched, where titles are asked for.
fn refuse_title_level(
    document: &Map<String, Value>,
    id: Uuid,
    kind: Option<Kind>,
    titles: bool,
) -> Result<(), Refusal> {
    if words::text(document, "requestLevel") != Some("Title") {
        return Ok(());
    }
    let was = words::text(document, "requestType").and_then(Kind::named);
    let words = if !titles {
        "Can not process TLR - TLR feature is disabled"
    } else if [was, kind].contains(&Some(Kind::Hold)) {
        "Not allowed to move from/to Hold TLR"
    } else {
        return Ok(());
    };
    Err(Refusal::new(words).with("requestId", id.to_string()))
}

/// The copy to move to, of the same title.
fn destination<'a>(held: &'a Held, command: &MoveRequest) -> Result<&'a Candidate, Refusal> {
    let destination = held.item(Some(command.destination_item_id));
    let instance = destination.and_then(|destination| destination.item.instance_id);
    destination.filter(|_| instance == words::id(&held.stored, "instanceId")).ok_or_else(|| {
        let refusal = Refusal::new("Request can only be moved to an item with the same instance ID")
            .with("itemId", command.destination_item_id.to_string());
        match instance {
            Some(instance) => refusal.with("instanceId", instance.to_string()),
            None => refusal.with_null("instanceId"),
        }
    })
}

/// The positions in the queue that the request goes to, and in the one that it leaves.
fn moves(held: &Held, id: Uuid, stays_in_its_queue: bool) -> (Moves, Moves) {
    if !stays_in_its_queue {
        return (vec![(id, last(&held.other_queue))], left_by(&held.queue, id));
    }
    // All of them, as the request's own position is written with the others.
    let mut moves = to_the_end(&held.queue, id);
    if !moves.iter().any(|(moved, _)| *moved == id) {
        moves.push((id, held.queue.len() as i64));
    }
    (moves, Vec::new())
}

/// What becomes of the copy that is asked for now, and of the one that is left behind.
fn new_statuses(
    held: &Held,
    id: Uuid,
    kind: Option<Kind>,
    destination: &Candidate,
    source: Option<&Candidate>,
) -> Vec<(Uuid, &'static str)> {
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
    held: &Held,
    document: &Map<String, Value>,
    id: Uuid,
    destination: &Candidate,
    kind: Option<Kind>,
    settings: &CirculationSettings,
) -> Result<(), Failure> {
    if let Some(refusal) = refuse_unknown_requester(held.requester.as_ref(), document) {
        return Err(refusal.into());
    }
    if !kind.is_some_and(|kind| kind.fits(&destination.item.status)) {
        return Err(refusal_of_kind(kind).into());
    }
    refuse_if_already_requested(held, document, id, destination, settings)?;
    let requester = words::id(document, "requesterId");
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
    held: &Held,
    document: &Map<String, Value>,
    id: Uuid,
    destination: &Candidate,
    settings: &CirculationSettings,
) -> Result<(), Refusal> {
    let titles = settings.title_level_requests.enabled();
    let is_title_level = words::text(document, "requestLevel") == Some("Title");
    let requester = words::id(document, "requesterId");
    let same_item = held.stored_item() == Some(destination.item.id);
    let queue = if titles || same_item { &held.queue } else { &held.other_queue };
    let own =
        queue.iter().filter(|other| other.requester_id == requester && other.status != AWAITING_DELIVERY);
    let existing = own.clone().find(|other| {
        if is_title_level || !(titles && other.is_title_level) {
            other.item_id == Some(destination.item.id)
        } else {
            true
        }
    });
    let Some(existing) = existing else { return Ok(()) };
    let sent = |key: &str| words::text(document, key).unwrap_or_default().to_owned();
    Err(if !is_title_level {
        Refusal::new("This requester already has an open request for this item")
            .with("itemId", sent("itemId"))
            .with("requesterId", sent("requesterId"))
            .with("requestId", id.to_string())
            .code("ITEM_ALREADY_REQUESTED")
    } else {
        let (text, code) = if existing.is_title_level {
            (
                "Not allowed to move title level page request to the same item",
                "MOVING_REQUEST_TO_THE_SAME_ITEM",
            )
        } else {
            (
                "This requester already has an open request for one of the instance's items",
                "ITEM_OF_THIS_INSTANCE_ALREADY_REQUESTED",
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
    use carrel_loan_rules::request_queue::Waiting;
    use serde_json::json;

    /// A request for the book in front of another one, and a second copy to go to.
    fn held_at(level: &str, kind: &str, destination: Candidate) -> Held {
        let in_queue =
            |id, position| Waiting { is_title_level: level == "Title", ..waiting(id, position, BOOK) };
        held(
            json!({"requestType": kind, "requestLevel": level}),
            vec![copy(BOOK, "Paged"), destination],
            vec![in_queue(REQUEST, 1), in_queue(NEXT, 2)],
        )
    }

    fn moved(held: &Held, kind: Option<&str>, titles: bool) -> Result<Moved, Failure> {
        let command = MoveRequest { destination_item_id: OTHER_BOOK, request_type: kind.map(str::to_owned) };
        decide(held, REQUEST, &command, &clerk(), &library(titles))
    }

    fn refused(held: &Held, kind: Option<&str>, titles: bool) -> (String, Option<&'static str>) {
        let refusal = first_refusal(moved(held, kind, titles));
        (refusal.message, refusal.code)
    }

    fn out() -> Candidate {
        lent(OTHER_BOOK, NEIGHBOR, "20")
    }

    #[test]
    fn requests_of_titles_move_only_where_titles_are_asked_for() {
        let page = held_at("Title", "Page", out());
        assert_eq!(refused(&page, None, false).0, "Can not process TLR - TLR feature is disabled");
    }

    #[test]
    fn a_hold_of_a_title_waits_for_no_copy_and_so_does_not_move() {
        let text = "Not allowed to move from/to Hold TLR";
        assert_eq!(refused(&held_at("Title", "Hold", out()), Some("Recall"), true).0, text);
        assert_eq!(refused(&held_at("Title", "Page", out()), Some("Hold"), true).0, text);
    }

    #[test]
    fn a_request_stays_with_its_title() {
        let mut elsewhere = out();
        elsewhere.item.instance_id = Some(NEIGHBOR);
        let text = "Request can only be moved to an item with the same instance ID";
        assert_eq!(refused(&held_at("Item", "Hold", elsewhere), None, true).0, text);
    }

    #[test]
    fn a_title_level_request_does_not_move_to_the_copy_that_it_has() {
        let mut there = held_at("Title", "Page", out());
        there.queue[0].item_id = Some(OTHER_BOOK);
        assert_eq!(
            refused(&there, Some("Recall"), true),
            (
                "Not allowed to move title level page request to the same item".to_owned(),
                Some("MOVING_REQUEST_TO_THE_SAME_ITEM")
            )
        );
    }

    #[test]
    fn what_holds_for_placing_holds_for_the_destination() {
        let kind = refused(&held_at("Item", "Page", out()), None, false);
        assert_eq!(kind.1, Some("REQUEST_NOT_ALLOWED_FOR_PATRON_ITEM_COMBINATION"));
        let reference = refused(&held_at("Item", "Hold", for_reference(out())), None, false);
        assert_eq!(reference.1, Some("REQUEST_NOT_ALLOWED_FOR_PATRON_ITEM_COMBINATION"));
        let his = refused(&held_at("Item", "Hold", lent(OTHER_BOOK, READER, "20")), None, false);
        assert_eq!(his.1, Some("REQUESTER_ALREADY_HAS_THIS_ITEM_ON_LOAN"));
        let mut twice = held_at("Item", "Hold", out());
        twice.other_queue = vec![Waiting { requester_id: Some(READER), ..waiting(NEXT, 1, OTHER_BOOK) }];
        assert_eq!(refused(&twice, None, false).1, Some("ITEM_ALREADY_REQUESTED"));
    }

    #[test]
    fn a_request_moved_to_another_copy_stands_last_there_and_those_behind_move_up() {
        let mut held = held_at("Item", "Hold", out());
        held.other_queue = vec![waiting(Uuid::from_u128(202), 1, OTHER_BOOK)];
        let change = moved(&held, None, false).expect("moved").change;
        assert_eq!(change.moves, [(REQUEST, 2)]);
        assert_eq!(change.left, Some((BOOK, vec![(NEXT, 1)])));
        assert_eq!(change.queue, Some(OTHER_BOOK));
    }

    #[test]
    fn a_book_on_the_shelf_is_paged_and_the_one_left_behind_is_available() {
        let mut held = held_at("Item", "Hold", copy(OTHER_BOOK, "Available"));
        held.queue.pop();
        let change = moved(&held, None, false).expect("moved").change;
        assert_eq!(change.after["requestType"], "Page");
        assert_eq!(change.items, [(OTHER_BOOK, "Paged"), (BOOK, "Available")]);
    }

    #[test]
    fn a_recall_goes_for_the_loan_of_its_new_copy() {
        let moved = moved(&held_at("Item", "Hold", out()), Some("Recall"), false).expect("moved");
        let (_, loan) = moved.recalled.expect("a recalled loan");
        assert_eq!(loan["action"], "recallrequested");
    }
}
