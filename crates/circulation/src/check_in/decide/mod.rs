//! The decision of a check-in: the item's destination, its loan, and the request that it fulfills.

mod destination;
#[cfg(test)]
mod fixtures;
mod loan;
mod log;
#[cfg(test)]
mod request_tests;

use super::facts::Facts;
use super::{CheckInRequest, Resolution};
use crate::desk::{ItemAtDesk, QueuedRequest, confirmation, queue};
use crate::document::text_at;
use crate::lost_items::may_have_fees;
use crate::moved_request::{MovedRequest, TakenIn, moved};
use crate::overdue_fine::{Occasion, OverdueItem, overdue_fine};
use crate::patron_notices::{About, Cause, NoticeEvent};
use crate::settings::CirculationSettings;
use carrel_audit::circulation_log::LogEntry;
use carrel_fees_fines::charge::Charge;
use carrel_inventory::item_state::StateChange;
use carrel_loan_rules::request::RequestStatus;
use carrel_records::{Failure, ItemStatus, Refusal, RefusalCode, metadata, time};
use destination::{Destination, destination, floats_to};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub use loan::ClosedLoan;

/// The changes of a check-in.
#[derive(Debug, Clone)]
pub struct CheckIn {
    /// The item after the check-in.
    pub item: ItemAtDesk,
    pub state: StateChange,
    /// Floating collection that the item now belongs to.
    pub floats_to: Option<Uuid>,
    pub loan: Option<ClosedLoan>,
    pub overdue_fine: Option<Charge>,
    pub request: Option<MovedRequest>,
    /// The check-in record.
    pub record: Map<String, Value>,
    pub record_id: Uuid,
    /// The causes of notices for the requester.
    pub notices: Vec<Cause>,
    /// The item was used in the library without a loan and is checked in at its own location.
    pub in_house_use: bool,
    /// Its entries in the circulation log.
    pub log: Vec<LogEntry>,
}

impl CheckIn {
    /// Whether the item was lost, so that its fees may be refunded.
    pub fn ends_a_loss(&self) -> bool {
        let before = self.record.get("itemStatusPriorToCheckIn").and_then(Value::as_str);
        before.is_some_and(|before| may_have_fees(&before.into()))
    }
}

/// The first refusal in desk order, or all changes.
pub fn decide(
    facts: Facts,
    command: &CheckInRequest,
    settings: &CirculationSettings,
    now: Timestamp,
    record_id: Uuid,
) -> Result<CheckIn, Failure> {
    let item = known(facts.item.as_ref(), command)?;
    if let Some(refusal) = refuse(&facts, item, command, settings) {
        return Err(refusal.into());
    }
    let request = queue::first_fulfillable(&facts.queue, item, settings);
    let destination = destination(item, request, command, settings)?;
    let floats_to =
        (destination.status == ItemStatus::Available).then(|| floats_to(item, command, settings)).flatten();
    let taken_in = TakenIn { service_point: command.service_point, by: Some(command.by), now };
    let moved = request
        .zip(destination.request_status)
        .map(|(request, status)| moved(request, &facts.queue, item, status, &taken_in, settings))
        .transpose()?;
    let before_and_after = request.zip(moved.as_ref());
    let ended = facts.loan.as_ref().and_then(|loan| Uuid::parse_str(text_at(loan, "id")).ok());
    let state = state(destination, command, now);
    let mut after = item.after(&state);
    if floats_to.is_some() {
        after.record.temporary_location_id = floats_to;
        after.record.effective_location_id = floats_to;
    }
    let overdue_fine = charge_overdue(&facts, item, command, settings, now);
    let loan = facts
        .loan
        .as_ref()
        .map(|loan| loan::closed(loan, facts.patron, item, &state, command, settings, now))
        .transpose()?;
    Ok(CheckIn {
        notices: before_and_after
            .map_or_else(Vec::new, |(before, after)| notices(before, after, ended, settings)),
        log: log::entries(item, &state, loan.as_ref(), before_and_after, command, settings, now),
        record: record(item, facts.queue.len(), command, now, record_id),
        in_house_use: is_in_house_use(item, &facts.queue, command, settings),
        record_id,
        item: after,
        state,
        floats_to,
        loan,
        overdue_fine,
        request: moved,
    })
}

/// The first refusal in desk order.
fn refuse(
    facts: &Facts,
    item: &ItemAtDesk,
    command: &CheckInRequest,
    settings: &CirculationSettings,
) -> Option<Refusal> {
    let unconfirmed = || confirmation::refuse(item, "Check in", is_used_at_location(facts));
    command
        .refuses_unconfirmed
        .then(unconfirmed)
        .flatten()
        .or_else(|| refuse_intellectual_item(item, settings))
        .or_else(|| refuse_open_claim(item, command))
        .or_else(|| refuse_lost_item_without_loss(facts, item))
}

/// The item's state after the check-in.
fn state(destination: Destination, command: &CheckInRequest, now: Timestamp) -> StateChange {
    StateChange {
        status: destination.status,
        in_transit_destination: destination.service_point,
        last_check_in: Some(json!({
            "dateTime": time::format(now),
            "servicePointId": command.service_point,
            "staffMemberId": command.by,
        })),
    }
}

/// The fine for the loan that the check-in ends; `None` where there is none, or nothing is owed.
fn charge_overdue(
    facts: &Facts,
    item: &ItemAtDesk,
    command: &CheckInRequest,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Option<Charge> {
    let overdue = OverdueItem {
        loan: facts.loan.as_ref()?,
        item,
        patron_group: facts.patron.as_ref().and_then(|patron| patron.patron_group),
        occasion: Occasion::CheckIn {
            returned: command.returned,
            service_point: command.service_point,
            found_by_library: command.resolution == Some(Resolution::FoundByLibrary),
        },
        by: Some(command.by),
        now,
    };
    overdue_fine(&overdue, settings)
}

/// The item was used in the library without a loan: nobody waits for it, and it is at its own location.
fn is_in_house_use(
    item: &ItemAtDesk,
    queue: &[QueuedRequest],
    command: &CheckInRequest,
    settings: &CirculationSettings,
) -> bool {
    item.status == ItemStatus::Available
        && queue.is_empty()
        && item.record.effective_location_id.is_some_and(|at| settings.serves(command.service_point, at))
}

/// A notice that the request is available when it comes to the hold shelf; its dates may have changed in any case.
fn notices(
    before: &QueuedRequest,
    after: &MovedRequest,
    ended: Option<Uuid>,
    settings: &CirculationSettings,
) -> Vec<Cause> {
    let awaits_pickup = Some(RequestStatus::AwaitingPickup);
    let became_available = Some(after.status) == awaits_pickup && before.status() != awaits_pickup;
    let request = before.id;
    // A title level request without an item has no loan.
    let of_loan = |loan| About::RequestAfterLoan { request, loan };
    let about = ended.filter(|_| before.id_at("itemId").is_some()).map_or(About::Request(request), of_loan);
    let available: &[NoticeEvent] = if became_available { &[NoticeEvent::Available] } else { &[] };
    let mut causes = settings.notice_causes(available, about);
    causes.extend(settings.notice_causes(&[NoticeEvent::RequestExpiration], About::Request(request)));
    causes
}

/// Whether the item is checked out for use at the location and in use there.
fn is_used_at_location(facts: &Facts) -> bool {
    let used = facts.loan.as_ref().and_then(|loan| loan.get("forUseAtLocation")?.get("status")?.as_str());
    used == Some("In use")
}

fn known<'a>(item: Option<&'a ItemAtDesk>, command: &CheckInRequest) -> Result<&'a ItemAtDesk, Refusal> {
    let barcode = &command.item_barcode;
    item.ok_or_else(|| {
        Refusal::new(format!("No item with barcode {barcode} exists"))
            .with("itemBarcode", barcode)
            .code(RefusalCode::ItemBarcodeNotFound)
    })
}

fn refuse_intellectual_item(item: &ItemAtDesk, settings: &CirculationSettings) -> Option<Refusal> {
    (item.status == ItemStatus::IntellectualItem).then(|| {
        Refusal::new(format!(
            "{} ({}) (Barcode: {}) has the item status {} and cannot be checked in",
            item.title(),
            item.material_type_name(settings),
            item.barcode(),
            item.status
        ))
        .with("itemBarcode", item.barcode())
    })
}

fn refuse_open_claim(item: &ItemAtDesk, command: &CheckInRequest) -> Option<Refusal> {
    (item.status == ItemStatus::ClaimedReturned && command.resolution.is_none()).then(|| {
        Refusal::new("Item is claimed returned, a resolution is required to check in")
            .with_null("claimedReturnedResolution")
    })
}

/// A lost item without an open loan was lost during its last loan, whose fees may have to be refunded.
fn refuse_lost_item_without_loss(facts: &Facts, item: &ItemAtDesk) -> Option<Refusal> {
    if !may_have_fees(&item.status) || facts.loan.is_some() {
        return None;
    }
    match &facts.last_loan {
        None => Some(
            Refusal::new("Item is lost however there is no aged to lost nor declared lost loan found")
                .with("itemId", item.id.to_string()),
        ),
        Some(last) if !last.was_lost => Some(
            Refusal::new("Last loan for lost item is neither aged to lost nor declared lost")
                .with("loanId", last.id.to_string()),
        ),
        Some(_) => None,
    }
}

fn record(
    item: &ItemAtDesk,
    queue_size: usize,
    command: &CheckInRequest,
    now: Timestamp,
    id: Uuid,
) -> Map<String, Value> {
    let mut record = Map::new();
    record.insert("id".into(), id.to_string().into());
    record.insert("occurredDateTime".into(), time::format(now).into());
    record.insert("itemId".into(), item.id.to_string().into());
    record.insert("itemStatusPriorToCheckIn".into(), item.status.as_str().into());
    record.insert("requestQueueSize".into(), queue_size.into());
    if let Some(location) = item.record.effective_location_id {
        record.insert("itemLocationId".into(), location.to_string().into());
    }
    record.insert("servicePointId".into(), command.service_point.to_string().into());
    record.insert("performedByUserId".into(), command.by.to_string().into());
    record.insert("metadata".into(), metadata::created(Some(command.by), now));
    record
}

#[cfg(test)]
mod tests {
    use super::fixtures::*;
    use super::*;

    #[test]
    fn refusals_come_in_desk_order() {
        assert_eq!(refused(Facts::default()), "refused: No item with barcode 0360 exists");
        assert_eq!(
            refused(facts("Intellectual item")),
            "refused: Nod (Book) (Barcode: 0360) has the item status Intellectual item and cannot be checked in"
        );
        assert_eq!(
            refused(facts("Claimed returned")),
            "refused: Item is claimed returned, a resolution is required to check in"
        );
        let queue = vec![request(1, json!({"pickupServicePointId": null}))];
        assert_eq!(
            refused(Facts { queue, ..facts("Checked out") }),
            "refused: Failed to check in item due to the highest priority request missing a pickup service point"
        );
    }

    #[test]
    fn a_lost_item_without_a_loan_that_lost_it_is_refused() {
        use super::super::facts::LastLoan;
        let with = |last_loan| Facts { last_loan, ..facts("Lost and paid") };
        let last = |was_lost| Some(LastLoan { id: PATRON, was_lost });
        assert_eq!(
            refused(with(None)),
            "refused: Item is lost however there is no aged to lost nor declared lost loan found"
        );
        assert_eq!(
            refused(with(last(false))),
            "refused: Last loan for lost item is neither aged to lost nor declared lost"
        );
        assert_eq!(done(with(last(true)), MAIN_DESK).item.status, ItemStatus::Available);
        assert!(decided(lent("Declared lost", json!({})), &at(MAIN_DESK)).is_ok());
    }

    #[test]
    fn an_available_item_without_requests_at_its_own_desk_counts_as_in_house_use() {
        assert!(done(facts("Available"), MAIN_DESK).in_house_use);
        assert!(!done(facts("Available"), BRANCH_DESK).in_house_use);
        assert!(!done(facts("In transit"), MAIN_DESK).in_house_use);
        let queue = vec![request(1, json!({}))];
        assert!(!done(Facts { queue, ..facts("Available") }, MAIN_DESK).in_house_use);
    }

    #[test]
    fn a_check_in_record_has_the_status_and_queue_before_the_check_in() {
        let queue = vec![request(1, json!({}))];
        let check_in = done(Facts { queue, ..facts("Paged") }, MAIN_DESK);
        let record = Value::Object(check_in.record);
        assert_eq!(record["itemStatusPriorToCheckIn"], "Paged");
        assert_eq!(record["requestQueueSize"], 1);
        assert_eq!(record["itemLocationId"], json!(STACKS));
    }
}
