//! Instance-level requests: the client sends only the instance. If title-level requests are enabled it becomes a
//! title-level request, otherwise an item-level request for one of the items; page, recall and hold are tried in this
//! order until one succeeds.
//!
//! Routes: `POST /circulation/requests/instances`.

use super::actor::Actor;
use super::candidate::Candidate;
use super::place::{Facts, PlaceRequest, PlacedRequest, place_first_of, place_for_a_copy};
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{self, FulfillmentPreference, RequestLevel, RequestStatus, RequestType};
use carrel_platform::http::pretty;
use carrel_platform::{Answer, Router, Tenant};
use carrel_records::{Failure, ItemStatus, Refusal, time};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::sync::Arc;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/requests/instances", |call| async move {
        let receipt = place(call.tenant()?, call.object()?, &Actor::of(&call)).await?;
        Ok(Answer::json_bytes(pretty(&receipt.extended())).status(StatusCode::CREATED))
    });
}

/// Places a request for an instance as the first type that is not refused.
pub async fn place(
    tenant: &Arc<Tenant>,
    mut request: Map<String, Value>,
    actor: &Actor,
) -> Result<PlacedRequest, Failure> {
    request.insert("fulfillmentPreference".into(), FulfillmentPreference::HoldShelf.into());
    if !CirculationSettings::of(tenant).await?.title_level_requests.enabled() {
        refuse_incomplete(&request)?;
        let command = PlaceRequest { document: request.clone(), ..PlaceRequest::default() };
        let placed = place_for_a_copy(tenant, &command, actor, |facts, settings| {
            items_to_request(facts, &request, settings)
        });
        match placed.await {
            Ok(Some(receipt)) => return Ok(receipt),
            // Title-level requests were enabled in the meantime.
            Ok(None) => {}
            Err(Failure::Refused(refused)) if refused.is_empty() => {
                return Err(refusal_without_items(tenant, command.id("instanceId")).await?.into());
            }
            Err(Failure::Refused(refused)) => return Err(Failure::refused_once_each(refused)),
            Err(failure) => return Err(failure),
        }
    }
    request.insert("requestLevel".into(), RequestLevel::Title.into());
    let command = PlaceRequest { document: request, ..PlaceRequest::default() };
    place_first_of(tenant, command, &RequestType::FASTEST_FIRST, actor).await.map_err(|failure| match failure
    {
        Failure::Refused(refused) => Failure::refused_once_each(refused),
        other => other,
    })
}

/// The request date, the requester and the instance are required.
fn refuse_incomplete(request: &Map<String, Value>) -> Result<(), Refusal> {
    if request::text(request, "requestDate").and_then(time::parse).is_none() {
        return Err(Refusal::new("Request must have a request date").with_null("requestDate"));
    }
    if request::id(request, "requesterId").is_none() {
        return Err(Refusal::new("Request must have a requester id").with_null("requesterId"));
    }
    if request::id(request, "instanceId").is_none() {
        return Err(Refusal::new("Request must have an instance id").with_null("instanceId"));
    }
    Ok(())
}

/// Item-level requests for the items of an instance, the best one first.
fn items_to_request(
    facts: &Facts,
    request: &Map<String, Value>,
    settings: &CirculationSettings,
) -> Result<Vec<Map<String, Value>>, Failure> {
    // FOLIO quirk: a request that is being delivered does not count as open here.
    let own = facts.own.iter().find(|own| own.status() != Some(RequestStatus::AwaitingDelivery));
    if let Some(own) = own {
        let text = "This requester already has an open request for an item of this instance";
        return Err(Refusal::new(text)
            .with("itemId", own.text("itemId"))
            .with("requesterId", request::text(request, "requesterId").unwrap_or_default())
            .with("instanceId", request::text(request, "instanceId").unwrap_or_default())
            .into());
    }
    let pickup = request::id(request, "pickupServicePointId");
    let copies = ranked(facts.candidates.iter().collect(), pickup, settings);
    Ok(copies.into_iter().map(|candidate| item_level(request, candidate)).collect())
}

/// The refusal for an instance without items.
async fn refusal_without_items(tenant: &Tenant, instance: Option<Uuid>) -> Result<Refusal, Failure> {
    let holdings = tenant
        .reader()
        .await?
        .query("SELECT 1 FROM holdings_record WHERE instance_id = $1 LIMIT 1", vec![instance.into()])
        .await?;
    Ok(if holdings.is_empty() {
        Refusal::new("There are no holdings for this instance").with("holdingsRecords", "null")
    } else {
        Refusal::new("There are no items for this instance").with("items", "empty")
    })
}

/// Available items first, and of those the ones that the pickup service point serves; then by number of requests, due
/// date, and whether the pickup service point serves them.
fn ranked<'a>(
    mut items: Vec<&'a Candidate>,
    pickup: Option<Uuid>,
    settings: &CirculationSettings,
) -> Vec<&'a Candidate> {
    let served = |candidate: &Candidate| {
        let location = candidate.item.record.effective_location_id;
        pickup.zip(location).is_some_and(|(pickup, location)| settings.serves(pickup, location))
    };
    let due = |candidate: &Candidate| {
        candidate.loan.as_ref().and_then(|loan| loan.instant_at("dueDate")).unwrap_or(Timestamp::MAX)
    };
    items.sort_by_cached_key(|candidate| {
        if candidate.item.status == ItemStatus::Available {
            (false, 0, Timestamp::MIN, !served(candidate))
        } else {
            (true, candidate.requests, due(candidate), !served(candidate))
        }
    });
    items
}

fn item_level(sent: &Map<String, Value>, candidate: &Candidate) -> Map<String, Value> {
    let mut request = Map::new();
    for key in [
        "requestDate",
        "requesterId",
        "pickupServicePointId",
        "fulfillmentPreference",
        "requestExpirationDate",
        "patronComments",
        "instanceId",
    ] {
        if let Some(value) = sent.get(key).filter(|value| !value.is_null()) {
            request.insert(key.into(), value.clone());
        }
    }
    request.insert("requestLevel".into(), RequestLevel::Item.into());
    request.insert("itemId".into(), candidate.item.id.to_string().into());
    if let Some(holdings) = candidate.item.holdings_id {
        request.insert("holdingsRecordId".into(), holdings.to_string().into());
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::*;
    use serde_json::json;

    fn in_order(copies: &[Candidate]) -> Vec<Uuid> {
        let settings = settings_with(false);
        ranked(copies.iter().collect(), Some(MAIN_DESK), &settings)
            .into_iter()
            .map(|item_as| item_as.item.id)
            .collect()
    }

    const ONE: Uuid = Uuid::from_u128(101);
    const TWO: Uuid = Uuid::from_u128(102);
    const THREE: Uuid = Uuid::from_u128(103);

    #[test]
    fn what_is_here_goes_before_what_is_elsewhere_and_that_before_what_is_out() {
        let copies = [
            on_loan(ONE, NEIGHBOR, "11"),
            at(BRANCH_STACKS, item_as(TWO, "Available")),
            item_as(THREE, "Available"),
        ];
        assert_eq!(in_order(&copies), [THREE, TWO, ONE]);
    }

    #[test]
    fn of_what_is_out_the_shortest_queue_counts_first_and_then_the_soonest_due_date() {
        let waited_for = |requests: i64, item_as: Candidate| Candidate { requests, ..item_as };
        let copies = [
            waited_for(1, on_loan(ONE, NEIGHBOR, "11")),
            on_loan(TWO, NEIGHBOR, "30"),
            on_loan(THREE, NEIGHBOR, "20"),
        ];
        assert_eq!(in_order(&copies), [THREE, TWO, ONE]);
        let nobody_knows = [item_as(ONE, "In transit"), on_loan(TWO, NEIGHBOR, "30")];
        assert_eq!(in_order(&nobody_knows), [TWO, ONE]);
    }

    #[test]
    fn a_request_says_when_for_whom_and_for_what() {
        let refused = |differs: serde_json::Value| {
            let request =
                with(json!({"requestDate": NOW, "requesterId": PATRON, "instanceId": TITLE}), differs);
            refuse_incomplete(&request).expect_err("refused").message
        };
        assert_eq!(refused(json!({"requestDate": null})), "Request must have a request date");
        assert_eq!(refused(json!({"requesterId": null})), "Request must have a requester id");
        assert_eq!(refused(json!({"instanceId": null})), "Request must have an instance id");
    }

    #[test]
    fn who_waits_for_an_item_does_not_ask_for_another() {
        let waits = |status: RequestStatus| {
            let facts =
                Facts { own: vec![own("Item", status.as_str())], ..facts(vec![item_as(ONE, "Available")]) };
            let request = with(json!({"requesterId": PATRON, "instanceId": TITLE}), json!({}));
            items_to_request(&facts, &request, &settings_with(false))
        };
        let text = waits(RequestStatus::NotYetFilled).expect_err("refused").to_string();
        assert!(
            text.contains("This requester already has an open request for an item of this instance"),
            "{text}"
        );
        assert!(waits(RequestStatus::AwaitingDelivery).is_ok());
    }

    #[test]
    fn an_item_is_asked_for_with_what_the_request_says() {
        let request = with(
            json!({"requesterId": PATRON, "instanceId": TITLE, "patronComments": "Thanks", "requestLevel": "Title",
                "unknown": 1}),
            json!({}),
        );
        let request_body = item_level(&request, &item_as(ITEM, "Available"));
        assert_eq!(
            serde_json::Value::Object(request_body),
            json!({"requesterId": PATRON, "instanceId": TITLE, "patronComments": "Thanks", "requestLevel": "Item",
                "itemId": ITEM, "holdingsRecordId": HOLDINGS})
        );
    }
}
