//! The request that a returned item fulfills: it moves on to the hold shelf, into transit or to delivery.
//!
//! Used by check-ins, and by loans that clients close. Changes the request and the positions of its queue; announces
//! `circulation.request`.

mod decide;

pub use decide::{MovedRequest, TakenIn, moved};

use crate::desk::queue;
use carrel_platform::{Event, Pipeline, RowChange, Tenant, outbox};
use jiff::Timestamp;

/// Adds the statements that give a request its next status and its queue new positions.
pub fn write(pipeline: &mut Pipeline, tenant: &Tenant, request: &MovedRequest, now: Timestamp) {
    request.change.apply(pipeline, &REQUEST);
    queue::write(pipeline, &request.positions);
    let (old, new) = (request.change.stored_text(), request.change.text());
    let event = Event::updated(&tenant.id, &old, &new).to_string();
    outbox::announce(pipeline, "circulation.request", request.change.id.to_string(), event, now);
}

static REQUEST: RowChange = RowChange {
    one: "UPDATE request SET doc = (doc - string_to_array($2, chr(31))) || $3 WHERE id = $1",
    several: "UPDATE request SET doc = (request.doc - string_to_array(one.removed, chr(31))) || one.doc
         FROM unnest($1::uuid[], $2::text[], $3::jsonb[]) AS one (id, removed, doc)
         WHERE request.id = one.id AND request.id = ANY ($1::uuid[])",
};
