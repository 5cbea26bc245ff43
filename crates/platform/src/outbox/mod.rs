//! The outbox: events written in the transaction of the change that they report, and kept for a week. [`follow`] reads
//! it.

pub mod follow;
pub mod reader;

use crate::batch_deletion::delete_in_batches;
use crate::database::{Bind, Pipeline, RowChange};
use crate::tenant::Tenant;
use carrel_records::Failure;
use jiff::{SignedDuration, Timestamp};

/// Events are kept for this time; a reader must not lag by more.
pub const RETENTION: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Adds an event, as JSON text, to the pipeline of the change that it reports.
///
/// `topic` is FOLIO's, without tenant (`circulation.loan`); `key` is the record's id, so that events of one record keep
/// their order.
pub fn announce(pipeline: &mut Pipeline, topic: &str, key: String, payload: String, now: Timestamp) {
    pipeline.change_row(&EVENT, vec![topic.into(), key.into(), Bind::Json(payload), now.into()]);
}

/// Deletes the events before an instant, the oldest first; returns their number.
pub async fn prune(tenant: &Tenant, before: Timestamp) -> Result<u64, Failure> {
    // Numbers follow the time but for transactions that overlap, so only the oldest are looked at.
    let delete = "DELETE FROM outbox WHERE created < $1 AND id <= (
             SELECT max(id) FROM (SELECT id, created FROM outbox ORDER BY id LIMIT $2::bigint) oldest
             WHERE created < $1)";
    delete_in_batches(tenant, delete, vec![before.into()]).await
}

static EVENT: RowChange = RowChange {
    one: "INSERT INTO outbox (topic, key, payload, created) VALUES ($1, $2, $3, $4)",
    several: "INSERT INTO outbox (topic, key, payload, created)
         SELECT * FROM unnest($1::text[], $2::text[], $3::json[], $4::timestamptz[])",
};
