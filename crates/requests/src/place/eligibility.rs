//! Whether the item is eligible: by its status, by its loan, and by the requester's policy.

use super::PlaceRequest;
use super::choose::{self, Choice};
use super::decide::{Check, Refusals, and_sent, with_sent};
use super::facts::Facts;
use crate::candidate::{Candidate, OpenLoan};
use crate::policy::RequestPolicy;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{FulfillmentPreference, RequestType};
use carrel_records::{Failure, Refusal, RefusalCode};
use serde_json::{Map, Value};
use uuid::Uuid;

pub(super) fn refuse_for_item(
    facts: &Facts,
    command: &PlaceRequest,
    title_level: bool,
    target: Option<&Candidate>,
    refusals: &mut Refusals,
) {
    if !refusals.none(&[Check::InstanceId, Check::NoInstance, Check::ItemId]) {
        return;
    }
    let requester = command.id("requesterId");
    let is_borrower = |loan: &OpenLoan| requester.is_some() && loan.id_at("userId") == requester;
    if title_level {
        if !refusals.none(&[Check::TitleWithItem]) {
            return;
        }
        if command.text("itemId").is_some() && target.is_none() {
            refusals.add(Check::NoItem, with_sent("Item does not exist", "itemId", command));
        }
        let own = facts.candidates.iter().find(|other| other.loan.as_ref().is_some_and(is_borrower));
        if let Some(own) = own {
            let text = "This requester already has a loan for one of the instance's items";
            let refusal = Refusal::new(text)
                .with("itemId", own.item.id.to_string())
                .with("userId", command.sent("requesterId").unwrap_or_default())
                .code(RefusalCode::RequesterAlreadyHasLoanForOneOfInstancesItems);
            refusals.add(Check::Other, refusal);
        }
        return;
    }
    let Some(target) = target else {
        refusals.add(Check::NoItem, with_sent("Item does not exist", "itemId", command));
        return;
    };
    if !command.kind().is_some_and(|kind| kind.is_possible_for(&target.item.status)) {
        refusals.add(Check::Other, refusal_of_kind(command.kind()));
    }
    if let Some(loan) = target.loan.as_ref().filter(|loan| is_borrower(loan)) {
        refusals.add(Check::Other, refusal_of_own_loan(&command.document, loan.id));
    }
}

/// The refusal if the requester has this item on loan.
pub fn refusal_of_own_loan(document: &Map<String, Value>, loan: Uuid) -> Refusal {
    let sent = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default();
    Refusal::new("This requester already has this item on loan")
        .with("itemId", sent("itemId"))
        .with("userId", sent("requesterId"))
        .with("loanId", loan.to_string())
        .code(RefusalCode::RequesterAlreadyHasThisItemOnLoan)
}

/// The refusal if status or policy do not allow this type.
pub fn refusal_of_kind(kind: Option<RequestType>) -> Refusal {
    let kind = kind.map_or("", RequestType::as_str);
    Refusal::new(format!("{kind} requests are not allowed for this patron and item combination"))
        .with("requestType", kind)
        .code(RefusalCode::RequestNotAllowedForPatronItemCombination)
}

pub(super) fn refuse_by_policy(
    command: &PlaceRequest,
    title_level: bool,
    target: Option<&Candidate>,
    choices: &[Choice],
    group: Option<Uuid>,
    settings: &CirculationSettings,
    refusals: &mut Refusals,
) -> Result<(), Failure> {
    use Check::{InstanceId, ItemId, NoInstance, NoItem, NothingToRecall, Requester};
    if !refusals.none(&[InstanceId, NoInstance, ItemId, NoItem, Requester, NothingToRecall]) {
        return Ok(());
    }
    if title_level && command.kind() == Some(RequestType::Hold) {
        let by_the_rules = settings.title_level_requests.tlr_hold_should_follow_circulation_rules
            && !matches!(command.text("ecsRequestPhase"), Some("Primary" | "Intermediate"));
        if by_the_rules && !choices.iter().any(|choice| choice.policy.allows(RequestType::Hold)) {
            let text = "Hold requests are not allowed for this patron and title combination";
            let refusal = and_sent(with_sent(text, "requesterId", command), "instanceId", command);
            refusals.add(Check::Other, refusal.code(RefusalCode::RequestNotAllowedForPatronTitleCombination));
        }
        return Ok(());
    }
    let Some(target) = target else { return Ok(()) };
    let policy = RequestPolicy::of_item(settings, &target.item, group)?;
    if let Err(refusal) = refuse_kind_by_policy(&command.document, command.kind(), &policy) {
        refusals.add(Check::Other, refusal);
    }
    Ok(())
}

/// The policy must allow the type, and the pickup service point for it.
pub fn refuse_kind_by_policy(
    document: &Map<String, Value>,
    kind: Option<RequestType>,
    policy: &RequestPolicy,
) -> Result<(), Refusal> {
    let Some(kind) = kind.filter(|kind| policy.allows(*kind)) else { return Err(refusal_of_kind(kind)) };
    let pickup = document.get("pickupServicePointId").and_then(Value::as_str);
    let on_the_shelf = document.get("fulfillmentPreference").and_then(Value::as_str)
        == Some(FulfillmentPreference::HoldShelf.as_str());
    if let Some(pickup) = pickup
        && on_the_shelf
        && !policy.allows_service_point(kind, pickup)
    {
        return Err(Refusal::new("One or more Pickup locations are no longer available")
            .with("pickupServicePointId", pickup)
            .with("requestType", kind.as_str())
            .with("requestPolicyId", policy.id.to_string())
            .code(RefusalCode::RequestPickupServicePointIsNotAllowed));
    }
    Ok(())
}

pub(super) fn refuse_title_that_can_be_paged(
    command: &PlaceRequest,
    title_level: bool,
    choices: &[Choice],
    refusals: &mut Refusals,
) {
    if !title_level || !matches!(command.kind(), Some(RequestType::Hold | RequestType::Recall)) {
        return;
    }
    if let Some(candidate) = choose::pageable(choices).next() {
        let text = "Hold/Recall title level request not allowed: pageable available item found for instance";
        let refusal = with_sent(text, "instanceId", command).with("itemId", candidate.item.id.to_string());
        refusals.add(
            Check::Other,
            refusal.code(RefusalCode::HoldAndRecallTlrNotAllowedPageableAvailableItemFound),
        );
    }
}
