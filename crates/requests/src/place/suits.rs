//! Whether the item suits the request: by its status, by who has it, and by the requester's policy
//! (circulation.md 6.1, 8 and 9).

use super::PlaceRequest;
use super::choose::{self, Choice};
use super::decide::{Fault, Found, and_sent, with_sent};
use super::facts::{Candidate, Facts, OpenLoan};
use crate::policy::RequestPolicy;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::Kind;
use carrel_records::{Failure, Refusal};
use serde_json::{Map, Value};
use uuid::Uuid;

pub(super) fn refuse_for_item(
    facts: &Facts,
    order: &PlaceRequest,
    title_level: bool,
    target: Option<&Candidate>,
    found: &mut Found,
) {
    if !found.none(&[Fault::InstanceId, Fault::NoInstance, Fault::ItemId]) {
        return;
    }
    let requester = order.id("requesterId");
    let is_borrower = |loan: &OpenLoan| requester.is_some() && loan.id_at("userId") == requester;
    if title_level {
        if !found.none(&[Fault::TitleWithItem]) {
            return;
        }
        if order.text("itemId").is_some() && target.is_none() {
            found.add(Fault::NoItem, with_sent("Item does not exist", "itemId", order));
        }
        let own = facts.candidates.iter().find(|other| other.loan.as_ref().is_some_and(is_borrower));
        if let Some(own) = own {
            let text = "This requester already has a loan for one of the instance's items";
            let refusal = Refusal::new(text)
                .with("itemId", own.item.id.to_string())
                .with("userId", order.sent("requesterId").unwrap_or_default())
                .code("REQUESTER_ALREADY_HAS_LOAN_FOR_ONE_OF_INSTANCES_ITEMS");
            found.add(Fault::Other, refusal);
        }
        return;
    }
    let Some(target) = target else {
        found.add(Fault::NoItem, with_sent("Item does not exist", "itemId", order));
        return;
    };
    if !order.kind().is_some_and(|kind| kind.fits(&target.item.status)) {
        found.add(Fault::Other, refusal_of_kind(order.kind()));
    }
    if let Some(loan) = target.loan.as_ref().filter(|loan| is_borrower(loan)) {
        found.add(Fault::Other, refusal_of_own_loan(&order.document, loan.id));
    }
}

/// The requester has the very item on loan.
pub fn refusal_of_own_loan(document: &Map<String, Value>, loan: Uuid) -> Refusal {
    let sent = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default();
    Refusal::new("This requester already has this item on loan")
        .with("itemId", sent("itemId"))
        .with("userId", sent("requesterId"))
        .with("loanId", loan.to_string())
        .code("REQUESTER_ALREADY_HAS_THIS_ITEM_ON_LOAN")
}

/// The item's status or the policy does not allow this type.
pub fn refusal_of_kind(kind: Option<Kind>) -> Refusal {
    let kind = kind.map_or("", Kind::text);
    Refusal::new(format!("{kind} requests are not allowed for this patron and item combination"))
        .with("requestType", kind)
        .code("REQUEST_NOT_ALLOWED_FOR_PATRON_ITEM_COMBINATION")
}

pub(super) fn refuse_by_policy(
    order: &PlaceRequest,
    title_level: bool,
    target: Option<&Candidate>,
    choices: &[Choice],
    group: Option<Uuid>,
    settings: &CirculationSettings,
    found: &mut Found,
) -> Result<(), Failure> {
    use Fault::{InstanceId, ItemId, NoInstance, NoItem, NothingToRecall, Requester};
    if !found.none(&[InstanceId, NoInstance, ItemId, NoItem, Requester, NothingToRecall]) {
        return Ok(());
    }
    if title_level && order.kind() == Some(Kind::Hold) {
        let by_the_rules = settings.title_level_requests.tlr_hold_should_follow_circulation_rules
            && !matches!(order.text("ecsRequestPhase"), Some("Primary" | "Intermediate"));
        if by_the_rules && !choices.iter().any(|choice| choice.policy.allows(Kind::Hold)) {
            let text = "Hold requests are not allowed for this patron and title combination";
            let refusal = and_sent(with_sent(text, "requesterId", order), "instanceId", order);
            found.add(Fault::Other, refusal.code("REQUEST_NOT_ALLOWED_FOR_PATRON_TITLE_COMBINATION"));
        }
        return Ok(());
    }
    let Some(target) = target else { return Ok(()) };
    let policy = RequestPolicy::of_item(settings, &target.item, group)?;
    if let Err(refusal) = refuse_kind_by_policy(&order.document, order.kind(), &policy) {
        found.add(Fault::Other, refusal);
    }
    Ok(())
}

/// The policy must allow the type, and the pickup service point for it.
pub fn refuse_kind_by_policy(
    document: &Map<String, Value>,
    kind: Option<Kind>,
    policy: &RequestPolicy,
) -> Result<(), Refusal> {
    let Some(kind) = kind.filter(|kind| policy.allows(*kind)) else { return Err(refusal_of_kind(kind)) };
    let pickup = document.get("pickupServicePointId").and_then(Value::as_str);
    let on_the_shelf = document.get("fulfillmentPreference").and_then(Value::as_str) == Some("Hold Shelf");
    if let Some(pickup) = pickup
        && on_the_shelf
        && !policy.allows_service_point(kind, pickup)
    {
        return Err(Refusal::new("One or more Pickup locations are no longer available")
            .with("pickupServicePointId", pickup)
            .with("requestType", kind.text())
            .with("requestPolicyId", policy.id.to_string())
            .code("REQUEST_PICKUP_SERVICE_POINT_IS_NOT_ALLOWED"));
    }
    Ok(())
}

pub(super) fn refuse_title_that_can_be_paged(
    order: &PlaceRequest,
    title_level: bool,
    choices: &[Choice],
    found: &mut Found,
) {
    if !title_level || !matches!(order.kind(), Some(Kind::Hold | Kind::Recall)) {
        return;
    }
    if let Some(candidate) = choose::pageable(choices).next() {
        let text = "Hold/Recall title level request not allowed: pageable available item found for instance";
        let refusal = with_sent(text, "instanceId", order).with("itemId", candidate.item.id.to_string());
        found
            .add(Fault::Other, refusal.code("HOLD_AND_RECALL_TLR_NOT_ALLOWED_PAGEABLE_AVAILABLE_ITEM_FOUND"));
    }
}
