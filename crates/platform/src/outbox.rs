//! What happened, written in the transaction in which it happened.

use crate::database::{Bind, Flight};
use jiff::Timestamp;
use serde_json::Value;

/// Adds an event to the flight that makes it true.
///
/// `topic` is FOLIO's, without tenant (`circulation.loan`); `key` is the record's id, so that events of one
/// record keep their order.
pub fn announce(flight: &mut Flight, topic: &'static str, key: String, payload: &Value, now: Timestamp) {
    announce_text(flight, topic, key, payload.to_string(), now);
}

/// The same for a payload that is JSON text already.
pub fn announce_text(flight: &mut Flight, topic: &'static str, key: String, payload: String, now: Timestamp) {
    flight.change(
        "INSERT INTO outbox (topic, key, payload, created) VALUES ($1, $2, $3, $4)",
        vec![topic.into(), key.into(), Bind::Json(payload), now.into()],
    );
}
