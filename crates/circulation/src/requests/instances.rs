//! Instance-level requests: the reader wants the title, the library finds the way. With title-level requests on
//! a title is asked for, else the items one after the other; each as page, recall and hold until one succeeds.
//!
//! Routes: `POST /circulation/requests/instances`.

use super::place::facts::{CANDIDATES, Candidate, candidate};
use super::place::{Asking, Order, Receipt, place_first_of};
use super::words::{self, Kind};
use crate::rulebook::Rulebook;
use carrel_platform::http::pretty;
use carrel_platform::{Answer, Bind, Flight, Router, Tenant};
use carrel_records::{Failure, Refusal, time};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::sync::Arc;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/requests/instances", |call| async move {
        let receipt = place(call.tenant()?, call.object()?, &Asking::of(&call)).await?;
        Ok(Answer::json_bytes(pretty(&receipt.extended())).status(StatusCode::CREATED))
    });
}

/// Places a request for a title in whichever way succeeds first.
pub async fn place(
    tenant: &Arc<Tenant>,
    mut wish: Map<String, Value>,
    asking: &Asking,
) -> Result<Receipt, Failure> {
    wish.insert("fulfillmentPreference".into(), "Hold Shelf".into());
    if Rulebook::of(tenant).await?.title_level_requests.enabled() {
        wish.insert("requestLevel".into(), "Title".into());
        let order = Order { document: wish, ..Order::default() };
        return place_first_of(tenant, order, &Kind::BY_SPEED, asking)
            .await
            .map_err(|refused| Failure::Refused(once_each(refused)));
    }
    let mut refusals = Vec::new();
    for document in items_to_ask_for(tenant, &wish).await? {
        let order = Order { document, ..Order::default() };
        match place_first_of(tenant, order, &Kind::BY_SPEED, asking).await {
            Ok(receipt) => return Ok(receipt),
            Err(refused) => refusals.extend(refused),
        }
    }
    Err(Failure::Refused(once_each(refusals)))
}

fn once_each(refusals: Vec<Refusal>) -> Vec<Refusal> {
    let mut once: Vec<Refusal> = Vec::new();
    for refusal in refusals {
        if !once.contains(&refusal) {
            once.push(refusal);
        }
    }
    once
}

/// Item-level requests for the items of a title, the most promising first. The queue to be locked is that of
/// one item, so the items are looked at beforehand, in a flight of its own.
async fn items_to_ask_for(
    tenant: &Tenant,
    wish: &Map<String, Value>,
) -> Result<Vec<Map<String, Value>>, Failure> {
    let lacking = |text: &str, key: &str| Err::<Uuid, Failure>(Refusal::new(text).with_null(key).into());
    if words::text(wish, "requestDate").and_then(time::parse).is_none() {
        lacking("Request must have a request date", "requestDate")?;
    }
    let Some(requester) = words::id(wish, "requesterId") else {
        return lacking("Request must have a requester id", "requesterId").map(|_| Vec::new());
    };
    let Some(instance) = words::id(wish, "instanceId") else {
        return lacking("Request must have an instance id", "instanceId").map(|_| Vec::new());
    };
    let book = Rulebook::of(tenant).await?;
    let mut flight = Flight::new();
    let holdings =
        flight.add("SELECT 1 FROM holdings_record WHERE instance_id = $1 LIMIT 1", vec![instance.into()]);
    let items = flight.add(
        format!(
            "{} WHERE holdings_record.instance_id = $1 ORDER BY item.doc->'metadata'->>'createdDate', item.id",
            CANDIDATES.as_str()
        ),
        vec![instance.into()],
    );
    let own = flight.add(
        "SELECT r.item_id FROM request r WHERE r.requester_id = $1 AND r.is_open
           AND r.doc->>'status' <> 'Open - Awaiting delivery' AND r.item_id IN (
             SELECT item.id FROM item JOIN holdings_record ON holdings_record.id = item.holdings_record_id
             WHERE holdings_record.instance_id = $2) LIMIT 1",
        vec![requester.into(), Bind::from(instance)],
    );
    let landed = tenant.writer().await?.fly(flight).await?;
    if landed.rows(holdings).is_empty() {
        return Err(Refusal::new("There are no holdings for this instance")
            .with("holdingsRecords", "null")
            .into());
    }
    let items = landed
        .rows(items)
        .iter()
        .filter_map(|row| candidate(row, None).transpose())
        .collect::<Result<Vec<_>, Failure>>()?;
    if items.is_empty() {
        return Err(Refusal::new("There are no items for this instance").with("items", "empty").into());
    }
    if let Some(row) = landed.first(own) {
        let text = "This requester already has an open request for an item of this instance";
        return Err(Refusal::new(text)
            .with("itemId", row.get::<_, Uuid>(0).to_string())
            .with("requesterId", requester.to_string())
            .with("instanceId", instance.to_string())
            .into());
    }
    let pickup = words::id(wish, "pickupServicePointId");
    Ok(ranked(items, pickup, &book).iter().map(|candidate| item_level(wish, candidate)).collect())
}

/// Available items first, those that the pickup service point serves before others; then those with the shortest
/// queue, soonest due, served there.
fn ranked(mut items: Vec<Candidate>, pickup: Option<Uuid>, book: &Rulebook) -> Vec<Candidate> {
    let served = |candidate: &Candidate| {
        let location = candidate.item.record.effective_location_id;
        pickup.zip(location).is_some_and(|(pickup, location)| book.serves(pickup, location))
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
