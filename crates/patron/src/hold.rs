//! A patron requests an item, or any item of an instance.
//!
//! The patron does not choose the type: for an item it is the first type of their request policy that is possible for
//! the item's status, for an instance the first that succeeds.

use super::hold_request::HoldRequest;
use super::response::{ItemSummary, hold};
use super::shown_to_patron;
use carrel_circulation::desk::override_blocks::MayOverride;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{FulfillmentPreference, RequestLevel, RequestType};
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, ItemStatus, Refusal, RefusalCode};
use carrel_requests::actor::Actor;
use carrel_requests::instances;
use carrel_requests::place::{Facts, PlaceRequest, PlacedRequest, place_as};
use carrel_requests::policy::RequestPolicy;
use serde_json::Value;

pub(super) fn connect(router: &mut Router) {
    router.on("POST", "/patron/account/{accountId}/item/{itemId}/hold", |call| async move {
        let item = call.id(1)?;
        let mut request = hold_request(&call)?;
        request.insert("requestLevel".into(), RequestLevel::Item.into());
        request.insert("fulfillmentPreference".into(), FulfillmentPreference::HoldShelf.into());
        request.insert("itemId".into(), item.to_string().into());
        let order = PlaceRequest { document: request, by_item: true, ..PlaceRequest::default() };
        let actor = without_overrides(&call);
        let placed = place_as(call.tenant()?, order, &actor, |facts, settings| {
            kind_for(facts, &item.to_string(), settings)
        });
        answer(&placed.await.map_err(shown_to_patron)?)
    });
    router.on("POST", "/patron/account/{accountId}/instance/{instanceId}/hold", |call| async move {
        let mut hold_request = hold_request(&call)?;
        hold_request.insert("instanceId".into(), call.id(1)?.to_string().into());
        let placed = instances::place(call.tenant()?, hold_request, &without_overrides(&call)).await;
        answer(&placed.map_err(shown_to_patron)?)
    });
}

fn hold_request(call: &Call) -> Result<serde_json::Map<String, Value>, Failure> {
    let patron = call.id(0)?;
    let mut request = HoldRequest::read(call.object()?)?.request();
    request.insert("requesterId".into(), patron.to_string().into());
    Ok(request)
}

/// Patrons cannot override blocks, whatever the permissions of the calling system.
fn without_overrides(call: &Call) -> Actor {
    Actor { may: MayOverride::default(), ..Actor::of(call) }
}

fn answer(receipt: &PlacedRequest) -> Result<Answer, Failure> {
    let request = receipt.extended();
    Ok(Answer::created(&hold(&request, &ItemSummary::of_request(&request))))
}

/// The first type of the patron's policy that is possible for the item.
fn kind_for(facts: &Facts, item: &str, settings: &CirculationSettings) -> Result<RequestType, Failure> {
    let unknown = || Failure::NotFound("Not found".into());
    let copy = facts.candidates.first().ok_or_else(unknown)?;
    let patron = facts.requester.as_ref().ok_or_else(unknown)?;
    let policy = RequestPolicy::of_item(settings, &copy.item, patron.patron_group)?;
    policy.kinds().into_iter().find(|kind| is_eligible(*kind, &copy.item.status)).ok_or_else(|| {
        Refusal::new("Cannot find a valid request type for this item")
            .with("itemId", item)
            .code(RefusalCode::CannotFindValidRequestForItem)
            .into()
    })
}

/// FOLIO quirk: patrons may try to hold an item in any status that is not listed here; placing the request then refuses
/// it.
fn is_eligible(kind: RequestType, status: &ItemStatus) -> bool {
    match status {
        ItemStatus::Available => kind == RequestType::Page,
        ItemStatus::CheckedOut
        | ItemStatus::AwaitingPickup
        | ItemStatus::InTransit
        | ItemStatus::Paged
        | ItemStatus::OnOrder
        | ItemStatus::InProcess => kind != RequestType::Page,
        _ => kind == RequestType::Hold,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_patron_can_ask_for_depends_on_the_status() {
        let table: [(&str, &[RequestType]); 5] = [
            ("Available", &[RequestType::Page]),
            ("Checked out", &[RequestType::Recall, RequestType::Hold]),
            ("Missing", &[RequestType::Hold]),
            ("Restricted", &[RequestType::Hold]),
            ("Declared lost", &[RequestType::Hold]),
        ];
        for (status, kinds) in table {
            let suiting: Vec<RequestType> = RequestType::FASTEST_FIRST
                .into_iter()
                .filter(|kind| is_eligible(*kind, &status.into()))
                .collect();
            assert_eq!(suiting, kinds, "{status}");
        }
    }
}
