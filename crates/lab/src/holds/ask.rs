//! The three ways of placing a hold: one call each, nothing before or after it.

use super::mix::Ask;
use crate::client::Connection;
use crate::data::{ShelfCopy, Waiting};
use crate::player::Desk;
use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;
use uuid::Uuid;

/// Placing a request for a copy.
pub const REQUESTS: &str = "/circulation/requests";

/// How a hold is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Staff ask for a copy: `POST /circulation/requests`.
    ItemLevel,
    /// Staff ask for a title in whichever copy: `POST /circulation/requests/instances`.
    InstanceLevel,
    /// A reader asks by a discovery system, in turns for a copy and for a title:
    /// `POST /patron/account/{id}/item/{itemId}/hold`, `…/instance/{instanceId}/hold`.
    Patron,
}

impl Way {
    /// All of them, with their names in the JSON file.
    pub const ALL: [(&'static str, Way); 3] = [
        ("item_level", Way::ItemLevel),
        ("instance_level", Way::InstanceLevel),
        ("patron_hold", Way::Patron),
    ];
}

/// What all desks of a phase share.
pub struct Asks {
    /// How it is asked.
    pub way: Way,
    /// Who asks for what; turn n takes the nth.
    pub asks: Vec<Ask>,
    /// The service point where everything is picked up.
    pub pickup: Uuid,
    /// Headers of the login.
    pub headers: Arc<HeaderMap>,
}

impl Asks {
    /// Address and body of a turn.
    fn request(&self, turn: usize) -> (Cow<'static, str>, Value) {
        let Ask { reader, copy, on_the_shelf } = &self.asks[turn];
        let pickup = &self.pickup;
        let now = now();
        match self.way {
            Way::ItemLevel => (REQUESTS.into(), item_level(*reader, copy, *on_the_shelf, pickup)),
            Way::InstanceLevel => {
                let body = json!({ "requestDate": now, "requesterId": reader, "instanceId": copy.instance,
                    "pickupServicePointId": pickup });
                ("/circulation/requests/instances".into(), body)
            }
            Way::Patron => {
                let body = json!({ "item": { "instanceId": copy.instance }, "requestDate": now,
                    "pickupLocationId": pickup });
                let what = if turn.is_multiple_of(2) {
                    format!("item/{}", copy.item)
                } else {
                    format!("instance/{}", copy.instance)
                };
                (format!("/patron/account/{reader}/{what}/hold").into(), body)
            }
        }
    }
}

/// A request for a copy: it is fetched from the shelf, or waited for.
fn item_level(reader: Uuid, copy: &ShelfCopy, on_the_shelf: bool, pickup: &Uuid) -> Value {
    json!({
        "requestType": if on_the_shelf { "Page" } else { "Hold" },
        "requestLevel": "Item",
        "requestDate": now(),
        "requesterId": reader,
        "instanceId": copy.instance,
        "holdingsRecordId": copy.holdings,
        "itemId": copy.item,
        "fulfillmentPreference": "Hold Shelf",
        "pickupServicePointId": pickup
    })
}

/// The request of a reader who waits since before the run.
pub fn waiting(waiting: &Waiting, pickup: &Uuid) -> Value {
    let mut request = item_level(waiting.reader, &waiting.copy, waiting.is_first, pickup);
    request["id"] = waiting.id.to_string().into();
    request
}

/// The present moment as FOLIO's own clients write it.
pub fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

/// A connection on which requests are placed.
pub struct AskDesk {
    /// The connection, taken back after the phase.
    pub connection: Connection,
    /// What is asked for.
    pub asks: Arc<Asks>,
    /// The answers to requests that were placed.
    pub placed: Vec<Bytes>,
}

impl Desk for AskDesk {
    async fn act(&mut self, turn: u64) -> Result<(), String> {
        let (target, body) = self.asks.request(turn as usize);
        let body = body.to_string().into();
        match self.connection.call(Method::POST, &target, &self.asks.headers, body).await {
            Ok(answer) if answer.status.is_success() => {
                self.placed.push(answer.body);
                Ok(())
            }
            Ok(answer) => Err(answer.brief()),
            Err(error) => Err(error.to_string()),
        }
    }
}
