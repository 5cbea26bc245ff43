//! What happened, written in the transaction in which it happened.

use crate::database::{Bind, Pipeline, RowChange};
use jiff::Timestamp;

/// Adds an event, as JSON text, to the pipeline that makes it true.
///
/// `topic` is FOLIO's, without tenant (`circulation.loan`); `key` is the record's id, so that events of one
/// record keep their order.
pub fn announce(pipeline: &mut Pipeline, topic: &'static str, key: String, payload: String, now: Timestamp) {
    pipeline.change_row(&EVENT, vec![topic.into(), key.into(), Bind::Json(payload), now.into()]);
}

static EVENT: RowChange = RowChange {
    one: "INSERT INTO outbox (topic, key, payload, created) VALUES ($1, $2, $3, $4)",
    several: "INSERT INTO outbox (topic, key, payload, created)
         SELECT * FROM unnest($1::text[], $2::text[], $3::json[], $4::timestamptz[])",
};
