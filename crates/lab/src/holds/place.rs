//! The three kinds of hold: one call each, nothing before or after it.

use super::mix::HoldRequest;
use crate::client::Connection;
use crate::data::{ItemIds, Waiting};
use crate::player::Worker;
use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use uuid::Uuid;

/// Placing a request for an item.
pub const REQUESTS: &str = "/circulation/requests";

/// A kind of hold, by the API that places it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldKind {
    /// Staff request an item: `POST /circulation/requests`.
    ItemLevel,
    /// Staff request any item of an instance: `POST /circulation/requests/instances`.
    InstanceLevel,
    /// A patron places a hold in a discovery system, alternating between item and instance: `POST
    /// /patron/account/{id}/item/{itemId}/hold`, `…/instance/{instanceId}/hold`.
    Patron,
}

impl HoldKind {
    /// All of them, with their names in the JSON file.
    pub const ALL: [(&'static str, HoldKind); 3] = [
        ("item_level", HoldKind::ItemLevel),
        ("instance_level", HoldKind::InstanceLevel),
        ("patron_hold", HoldKind::Patron),
    ];
}

/// State shared by the workers of a phase.
pub struct HoldRequests {
    /// The kind.
    pub kind: HoldKind,
    /// The holds; turn n places the nth.
    pub requests: Vec<HoldRequest>,
    /// The pickup service point.
    pub pickup: Uuid,
    /// Headers of the login.
    pub headers: Arc<HeaderMap>,
}

impl HoldRequests {
    /// Address and body of a turn.
    fn request(&self, turn: usize) -> (Cow<'static, str>, Value) {
        let HoldRequest { patron, item_ids, on_the_shelf } = &self.requests[turn];
        let pickup = &self.pickup;
        let now = now();
        match self.kind {
            HoldKind::ItemLevel => (REQUESTS.into(), item_level(*patron, item_ids, *on_the_shelf, pickup)),
            HoldKind::InstanceLevel => {
                let body = json!({ "requestDate": now, "requesterId": patron, "instanceId": item_ids.instance,
                    "pickupServicePointId": pickup });
                ("/circulation/requests/instances".into(), body)
            }
            HoldKind::Patron => {
                let body = json!({ "item": { "instanceId": item_ids.instance }, "requestDate": now,
                    "pickupLocationId": pickup });
                let what = if turn.is_multiple_of(2) {
                    format!("item/{}", item_ids.item)
                } else {
                    format!("instance/{}", item_ids.instance)
                };
                (format!("/patron/account/{patron}/{what}/hold").into(), body)
            }
        }
    }
}

/// A request for an item: a page for an available one, otherwise a hold.
fn item_level(patron: Uuid, item_ids: &ItemIds, on_the_shelf: bool, pickup: &Uuid) -> Value {
    json!({
        "requestType": if on_the_shelf { "Page" } else { "Hold" },
        "requestLevel": "Item",
        "requestDate": now(),
        "requesterId": patron,
        "instanceId": item_ids.instance,
        "holdingsRecordId": item_ids.holdings,
        "itemId": item_ids.item,
        "fulfillmentPreference": "Hold Shelf",
        "pickupServicePointId": pickup
    })
}

/// The request of a patron who has waited since before the run.
pub fn waiting(waiting: &Waiting, pickup: &Uuid) -> Value {
    let mut request = item_level(waiting.patron, &waiting.item_ids, waiting.is_first, pickup);
    request["id"] = waiting.id.to_string().into();
    request
}

/// The current time in the format of FOLIO's clients.
pub fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

/// A connection on which requests are placed.
pub struct HoldWorker {
    /// The connection, taken back after the phase.
    pub connection: Connection,
    /// The holds to place.
    pub requests: Arc<HoldRequests>,
    /// The answers to requests that were placed.
    pub placed: Vec<Bytes>,
}

impl Worker for HoldWorker {
    async fn act(&mut self, turn: u64) -> Result<(), String> {
        let (target, body) = self.requests.request(turn as usize);
        let body = body.to_string().into();
        match self.connection.call(Method::POST, &target, &self.requests.headers, body).await {
            Ok(answer) if answer.status.is_success() => {
                self.placed.push(answer.body);
                Ok(())
            }
            Ok(answer) => Err(answer.brief()),
            Err(error) => Err(error.to_string()),
        }
    }
}
