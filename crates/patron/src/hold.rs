//! A patron asks for a copy, or for a title in whichever copy.
//!
//! What kind of request it becomes is not the patron's choice: for a copy it is the first kind of his request
//! policy that suits the copy's status, for a title whatever succeeds first.

use super::hold_request::HoldRequest;
use super::shown::{Thing, hold};
use super::shown_to_patron;
use carrel_circulation::desk::override_blocks::MayOverride;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::Kind;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, Refusal};
use carrel_requests::instances;
use carrel_requests::place::{Actor, Facts, PlaceRequest, Receipt, place_as};
use carrel_requests::policy::RequestPolicy;
use serde_json::Value;

pub(super) fn connect(router: &mut Router) {
    router.on("POST", "/patron/account/{accountId}/item/{itemId}/hold", |call| async move {
        let item = call.id(1)?;
        let mut request = wished(&call)?;
        request.insert("requestLevel".into(), "Item".into());
        request.insert("fulfillmentPreference".into(), "Hold Shelf".into());
        request.insert("itemId".into(), item.to_string().into());
        let order = PlaceRequest { document: request, by_item: true, ..PlaceRequest::default() };
        let actor = without_overrides(&call);
        let placed = place_as(call.tenant()?, order, &actor, |facts, settings| {
            kind_for(facts, &item.to_string(), settings)
        });
        answer(&placed.await.map_err(shown_to_patron)?)
    });
    router.on("POST", "/patron/account/{accountId}/instance/{instanceId}/hold", |call| async move {
        let mut hold_request = wished(&call)?;
        hold_request.insert("instanceId".into(), call.id(1)?.to_string().into());
        let placed = instances::place(call.tenant()?, hold_request, &without_overrides(&call)).await;
        answer(&placed.map_err(shown_to_patron)?)
    });
}

fn wished(call: &Call) -> Result<serde_json::Map<String, Value>, Failure> {
    let patron = call.id(0)?;
    let mut request = HoldRequest::read(call.object()?)?.request();
    request.insert("requesterId".into(), patron.to_string().into());
    Ok(request)
}

/// The patron asks for himself, whatever the permissions of the system that speaks for him.
fn without_overrides(call: &Call) -> Actor {
    Actor { may: MayOverride::default(), ..Actor::of(call) }
}

fn answer(receipt: &Receipt) -> Result<Answer, Failure> {
    let request = receipt.extended();
    Ok(Answer::created(&hold(&request, &Thing::of_request(&request))))
}

/// The first kind of the patron's policy that suits the copy.
fn kind_for(facts: &Facts, item: &str, settings: &CirculationSettings) -> Result<Kind, Failure> {
    let unknown = || Failure::NotFound("Not found".into());
    let copy = facts.candidates.first().ok_or_else(unknown)?;
    let patron = facts.requester.as_ref().ok_or_else(unknown)?;
    let policy = RequestPolicy::of_item(settings, &copy.item, patron.patron_group)?;
    policy.kinds().into_iter().find(|kind| suits(*kind, &copy.item.status)).ok_or_else(|| {
        Refusal::new("Cannot find a valid request type for this item")
            .with("itemId", item)
            .code("CANNOT_FIND_VALID_REQUEST_FOR_ITEM")
            .into()
    })
}

/// FOLIO quirk: patrons may try to hold what is in any status that is not known here; placing the request then
/// refuses it in the desk's words.
fn suits(kind: Kind, status: &str) -> bool {
    match status {
        "Available" => kind == Kind::Page,
        "Checked out" | "Awaiting pickup" | "In transit" | "Paged" | "On order" | "In process" => {
            kind != Kind::Page
        }
        _ => kind == Kind::Hold,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_patron_can_ask_for_depends_on_the_status() {
        let table: [(&str, &[Kind]); 5] = [
            ("Available", &[Kind::Page]),
            ("Checked out", &[Kind::Recall, Kind::Hold]),
            ("Missing", &[Kind::Hold]),
            ("Restricted", &[Kind::Hold]),
            ("Declared lost", &[Kind::Hold]),
        ];
        for (status, kinds) in table {
            let suiting: Vec<Kind> = Kind::BY_SPEED.into_iter().filter(|kind| suits(*kind, status)).collect();
            assert_eq!(suiting, kinds, "{status}");
        }
    }
}
