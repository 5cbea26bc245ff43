//! The desk session: what was done for a patron since he came, for the notices at its end.

use carrel_platform::{Flight, record_store::write::uuid_time};
use carrel_records::time;
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

/// Adds the row of one action, `Check-out` or `Check-in`.
pub fn record(flight: &mut Flight, patron: Uuid, loan: Uuid, action: &'static str, now: Timestamp) {
    let id = Uuid::new_v7(uuid_time(now));
    let document = json!({
        "id": id, "patronId": patron, "loanId": loan, "actionType": action,
        "metadata": {"createdDate": time::format(now), "updatedDate": time::format(now)},
    });
    flight.add(
        "INSERT INTO patron_action_session (id, doc) VALUES ($1, $2)",
        vec![id.into(), (&document).into()],
    );
}
