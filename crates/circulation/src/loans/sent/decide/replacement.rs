//! The replacement of a stored loan, which may return its item.

use super::{Decision, known_item, refuse_for_proxy, refuse_for_status_and_desks};
use crate::desk::{ItemAtDesk, QueuedRequest, queue};
use crate::document::text_at;
use crate::loans::change::{KEEPS_DUE_DATE, has_open_recall};
use crate::loans::sent::facts::Facts;
use crate::loans::store;
use crate::moved_request::{MovedRequest, TakenIn, moved};
use crate::settings::CirculationSettings;
use carrel_loan_rules::LoanStatus;
use carrel_loan_rules::request::RequestStatus;
use carrel_records::{Failure, ItemStatus, Refusal, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// The first refusal, or the loan as it will be stored.
pub fn decide_replacement(
    facts: &Facts,
    sent: &Map<String, Value>,
    existing: &Map<String, Value>,
    settings: &CirculationSettings,
    by: Option<Uuid>,
    now: Timestamp,
) -> Result<Decision, Failure> {
    refuse_for_status_and_desks(sent, settings)?;
    let is_closed = LoanStatus::of(sent) == Some(LoanStatus::Closed);
    if is_closed && text_at(sent, "checkinServicePointId").is_empty() {
        return Err(Refusal::new("A Closed loan must have a Checkin Service Point")
            .with_null("checkinServicePointId")
            .into());
    }
    let item = known_item(facts, sent)?;
    let due = |loan: &Map<String, Value>| time::parse(text_at(loan, "dueDate")).map(|at| at.as_millisecond());
    let due_date_changes = due(existing) != due(sent);
    if due_date_changes && KEEPS_DUE_DATE.contains(&item.status) {
        return Err(Refusal::new(format!("item is {}", item.status))
            .with("itemId", item.id.to_string())
            .into());
    }
    refuse_for_proxy(facts, sent, now)?;

    let mut loan = store::stored(sent);
    if due_date_changes
        && loan.get("dueDateChangedByRecall") == Some(&Value::Bool(true))
        && !has_open_recall(&facts.queue)
    {
        loan.insert("dueDateChangedByRecall".into(), false.into());
    }
    let request = is_closed.then(|| queue::first_fulfillable(&facts.queue, item, settings)).flatten();
    let moved = request.map(|request| moved_on(request, facts, item, sent, by, now, settings)).transpose()?;
    let becomes = match (is_closed, request) {
        (true, Some(request)) if request.wants_delivery() => ItemStatus::AwaitingDelivery,
        // FOLIO quirk: also if the request's pickup service point is another one.
        (true, Some(_)) => ItemStatus::AwaitingPickup,
        (true, None) => ItemStatus::Available,
        (false, _) if item.status == ItemStatus::DeclaredLost => ItemStatus::DeclaredLost,
        (false, _) => ItemStatus::CheckedOut,
    };
    loan.insert("itemStatus".into(), (&becomes).into());
    keep(&mut loan, existing);
    Ok(Decision {
        loan,
        item_id: item.id,
        item_status: (becomes != item.status).then_some(becomes),
        fills: None,
        moves_up: Default::default(),
        moved,
    })
}

/// The request that the returned item fulfills.
fn moved_on(
    request: &QueuedRequest,
    facts: &Facts,
    item: &ItemAtDesk,
    sent: &Map<String, Value>,
    by: Option<Uuid>,
    now: Timestamp,
    settings: &CirculationSettings,
) -> Result<MovedRequest, Refusal> {
    let service_point = Uuid::parse_str(text_at(sent, "checkinServicePointId")).unwrap_or_default();
    let taken_in = TakenIn { service_point, by, now };
    let status = if request.wants_delivery() {
        RequestStatus::AwaitingDelivery
    } else if request.pickup_service_point() == Some(service_point) {
        RequestStatus::AwaitingPickup
    } else {
        RequestStatus::InTransit
    };
    moved(request, &facts.queue, item, status, &taken_in, settings)
}

/// Keeps fields that clients may omit or cannot change.
fn keep(loan: &mut Map<String, Value>, existing: &Map<String, Value>) {
    for kept in ["patronGroupIdAtCheckout", "isDcb"] {
        if !loan.contains_key(kept)
            && let Some(value) = existing.get(kept)
        {
            loan.insert(kept.into(), value.clone());
        }
    }
    if let Some(metadata) = existing.get("metadata") {
        loan.insert("metadata".into(), metadata.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use super::*;
    use serde_json::json;

    fn replaced(facts: &Facts, sent: Map<String, Value>) -> Result<Decision, String> {
        let existing = loan("Open", json!({"isDcb": false, "metadata": {"createdDate": "then"}}));
        decide_replacement(facts, &sent, &existing, &library(), None, now())
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn closing_a_loan_returns_its_item() {
        let closed = loan("Closed", json!({"checkinServicePointId": DESK, "borrower": {}}));
        let decision = replaced(&item("Checked out"), closed).expect("allowed");
        assert_eq!(decision.item_status, Some(ItemStatus::Available));
        assert_eq!(decision.loan["itemStatus"], "Available");
        assert_eq!(decision.loan["isDcb"], false);
        assert!(!decision.loan.contains_key("borrower"));
    }

    #[test]
    fn a_returned_item_with_a_request_goes_to_the_hold_shelf() {
        let request =
            object(json!({"id": PATRON, "requestType": "Hold", "requestLevel": "Item", "itemId": BOOK,
            "status": "Open - Not yet filled", "fulfillmentPreference": "Hold Shelf", "position": 1}));
        let waiting = QueuedRequest { id: PATRON, document: request, requester: None, queue: None };
        let facts = Facts { queue: vec![waiting], ..item("Checked out") };
        let closed = loan("Closed", json!({"checkinServicePointId": DESK}));
        let decision = replaced(&facts, closed).expect("allowed");
        assert_eq!(decision.item_status, Some(ItemStatus::AwaitingPickup));
        let moved = decision.moved.expect("a request moves on");
        assert_eq!(moved.change.document()["status"], "Open - In transit");
    }

    #[test]
    fn replacing_an_open_loan_keeps_its_item_checked_out() {
        assert_eq!(
            replaced(&item("Checked out"), loan("Open", json!({}))).expect("allowed").item_status,
            None
        );
        let lost = replaced(&item("Declared lost"), loan("Open", json!({}))).expect("allowed");
        assert_eq!(lost.item_status, None);
        assert_eq!(lost.loan["itemStatus"], "Declared lost");
    }

    #[test]
    fn only_the_first_refusal_is_returned() {
        let other = Uuid::from_u128(9).to_string();
        let table = [
            (item("Available"), loan("Lent", json!({})), "Loan status must be \"Open\" or \"Closed\""),
            (item("Available"), loan("Open", json!({"userId": null})), "Open loan must have a user ID"),
            (
                item("Available"),
                loan("Open", json!({"checkinServicePointId": other})),
                "Check In Service Point does not exist",
            ),
            (item("Available"), loan("Closed", json!({})), "A Closed loan must have a Checkin Service Point"),
            (
                Facts::default(),
                loan("Open", json!({})),
                "No item with ID 00000000-0000-0000-0000-000000000004 could be found",
            ),
            (
                item("Claimed returned"),
                loan("Open", json!({"dueDate": "2024-06-01T10:00:00Z"})),
                "item is Claimed returned",
            ),
            (item("Available"), loan("Open", json!({"proxyUserId": other})), "proxyUserId is not valid"),
        ];
        for (facts, sent, expected) in table {
            assert_eq!(replaced(&facts, sent).expect_err("refused"), format!("refused: {expected}"));
        }
    }
}
