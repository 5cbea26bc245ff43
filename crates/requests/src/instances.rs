//! Instance-level requests: the reader wants the title, the library finds the way. With title-level requests on
//! a title is asked for, else the items one after the other; each as page, recall and hold until one succeeds.
//!
//! Routes: `POST /circulation/requests/instances`.

use super::place::facts::Candidate;
use super::place::{Actor, Facts, PlaceRequest, Receipt, place_first_of, place_for_a_copy};
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{self as words, Kind};
use carrel_platform::http::pretty;
use carrel_platform::{Answer, Router, Tenant};
use carrel_records::{Failure, Refusal, time};
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

/// Places a request for a title in whichever way succeeds first.
pub async fn place(
    tenant: &Arc<Tenant>,
    mut wish: Map<String, Value>,
    actor: &Actor,
) -> Result<Receipt, Failure> {
    wish.insert("fulfillmentPreference".into(), "Hold Shelf".into());
    if !CirculationSettings::of(tenant).await?.title_level_requests.enabled() {
        refuse_incomplete(&wish)?;
        let order = PlaceRequest { document: wish.clone(), ..PlaceRequest::default() };
        let placed = place_for_a_copy(tenant, &order, actor, |facts, settings| {
            copies_to_ask_for(facts, &wish, settings)
        });
        match placed.await {
            Ok(Some(receipt)) => return Ok(receipt),
            // Just now the library has begun to take requests for titles.
            Ok(None) => {}
            Err(Failure::Refused(refused)) if refused.is_empty() => {
                return Err(nothing_to_ask_for(tenant, order.id("instanceId")).await?.into());
            }
            Err(Failure::Refused(refused)) => return Err(Failure::refused_once_each(refused)),
            Err(failure) => return Err(failure),
        }
    }
    wish.insert("requestLevel".into(), "Title".into());
    let order = PlaceRequest { document: wish, ..PlaceRequest::default() };
    place_first_of(tenant, order, &Kind::BY_SPEED, actor).await.map_err(|failure| match failure {
        Failure::Refused(refused) => Failure::refused_once_each(refused),
        other => other,
    })
}

/// A wish says when, for whom and for which title.
fn refuse_incomplete(wish: &Map<String, Value>) -> Result<(), Refusal> {
    if words::text(wish, "requestDate").and_then(time::parse).is_none() {
        return Err(Refusal::new("Request must have a request date").with_null("requestDate"));
    }
    if words::id(wish, "requesterId").is_none() {
        return Err(Refusal::new("Request must have a requester id").with_null("requesterId"));
    }
    if words::id(wish, "instanceId").is_none() {
        return Err(Refusal::new("Request must have an instance id").with_null("instanceId"));
    }
    Ok(())
}

/// Item-level requests for the copies of a title, the most promising first.
fn copies_to_ask_for(
    facts: &Facts,
    wish: &Map<String, Value>,
    settings: &CirculationSettings,
) -> Result<Vec<Map<String, Value>>, Failure> {
    // FOLIO quirk: a request on its way to be delivered does not count as open here.
    let own = facts.own.iter().find(|own| own.status() != words::AWAITING_DELIVERY);
    if let Some(own) = own {
        let text = "This requester already has an open request for an item of this instance";
        return Err(Refusal::new(text)
            .with("itemId", own.text("itemId"))
            .with("requesterId", words::text(wish, "requesterId").unwrap_or_default())
            .with("instanceId", words::text(wish, "instanceId").unwrap_or_default())
            .into());
    }
    let pickup = words::id(wish, "pickupServicePointId");
    let copies = ranked(facts.candidates.iter().collect(), pickup, settings);
    Ok(copies.into_iter().map(|candidate| item_level(wish, candidate)).collect())
}

/// Why a title without copies cannot be asked for.
async fn nothing_to_ask_for(tenant: &Tenant, instance: Option<Uuid>) -> Result<Refusal, Failure> {
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

/// Available items first, those that the pickup service point serves before others; then those with the shortest
/// queue, soonest due, served there.
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
        if candidate.item.status == "Available" {
            (false, 0, Timestamp::MIN, !served(candidate))
        } else {
            (true, candidate.requests, due(candidate), !served(candidate))
        }
    });
    items
}

fn item_level(wish: &Map<String, Value>, candidate: &Candidate) -> Map<String, Value> {
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
        if let Some(value) = wish.get(key).filter(|value| !value.is_null()) {
            request.insert(key.into(), value.clone());
        }
    }
    request.insert("requestLevel".into(), "Item".into());
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
        let settings = library(false);
        ranked(copies.iter().collect(), Some(MAIN_DESK), &settings)
            .into_iter()
            .map(|copy| copy.item.id)
            .collect()
    }

    const ONE: Uuid = Uuid::from_u128(101);
    const TWO: Uuid = Uuid::from_u128(102);
    const THREE: Uuid = Uuid::from_u128(103);

    #[test]
    fn what_is_here_goes_before_what_is_elsewhere_and_that_before_what_is_out() {
        let copies =
            [lent(ONE, NEIGHBOR, "11"), at(BRANCH_STACKS, copy(TWO, "Available")), copy(THREE, "Available")];
        assert_eq!(in_order(&copies), [THREE, TWO, ONE]);
    }

    #[test]
    fn of_what_is_out_the_shortest_queue_counts_first_and_then_the_soonest_due_date() {
        let waited_for = |requests: i64, copy: Candidate| Candidate { requests, ..copy };
        let copies = [
            waited_for(1, lent(ONE, NEIGHBOR, "11")),
            lent(TWO, NEIGHBOR, "30"),
            lent(THREE, NEIGHBOR, "20"),
        ];
        assert_eq!(in_order(&copies), [THREE, TWO, ONE]);
        let nobody_knows = [copy(ONE, "In transit"), lent(TWO, NEIGHBOR, "30")];
        assert_eq!(in_order(&nobody_knows), [TWO, ONE]);
    }

    #[test]
    fn a_request_says_when_for_whom_and_for_what() {
        let refused = |differs: serde_json::Value| {
            let wish = with(json!({"requestDate": NOW, "requesterId": READER, "instanceId": TITLE}), differs);
            refuse_incomplete(&wish).expect_err("refused").message
        };
        assert_eq!(refused(json!({"requestDate": null})), "Request must have a request date");
        assert_eq!(refused(json!({"requesterId": null})), "Request must have a requester id");
        assert_eq!(refused(json!({"instanceId": null})), "Request must have an instance id");
    }

    #[test]
    fn who_waits_for_a_copy_does_not_ask_for_another() {
        let waits = |status: &str| {
            let facts = Facts { own: vec![own("Item", status)], ..facts(vec![copy(ONE, "Available")]) };
            let wish = with(json!({"requesterId": READER, "instanceId": TITLE}), json!({}));
            copies_to_ask_for(&facts, &wish, &library(false))
        };
        let text = waits(words::NOT_YET_FILLED).expect_err("refused").to_string();
        assert!(
            text.contains("This requester already has an open request for an item of this instance"),
            "{text}"
        );
        assert!(waits(words::AWAITING_DELIVERY).is_ok());
    }

    #[test]
    fn a_copy_is_asked_for_with_what_the_request_says() {
        let wish = with(
            json!({"requesterId": READER, "instanceId": TITLE, "patronComments": "Thanks", "requestLevel": "Title",
                "unknown": 1}),
            json!({}),
        );
        let asked = item_level(&wish, &copy(BOOK, "Available"));
        assert_eq!(
            serde_json::Value::Object(asked),
            json!({"requesterId": READER, "instanceId": TITLE, "patronComments": "Thanks", "requestLevel": "Item",
                "itemId": BOOK, "holdingsRecordId": HOLDINGS})
        );
    }
}
