//! The desk session: what was done for a patron since he came, for the notices at its end.

use carrel_platform::{Flight, record_store::write::uuid_time};
use carrel_records::time;
use jiff::Timestamp;
use serde_json::{Map, json};
use uuid::Uuid;

/// What is known of the patron's visit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Visit {
    /// The session that the client keeps.
    pub session: Option<Uuid>,
    /// Who stands at the desk.
    pub by: Option<Uuid>,
}

/// Adds the row of one action, `Check-out` or `Check-in`.
pub fn record(
    flight: &mut Flight,
    patron: Uuid,
    loan: Uuid,
    action: &'static str,
    visit: &Visit,
    now: Timestamp,
) {
    let id = Uuid::new_v7(uuid_time(now));
    let now = time::format(now);
    let mut document = Map::new();
    document.insert("id".into(), json!(id));
    if let Some(session) = visit.session {
        document.insert("sessionId".into(), json!(session));
    }
    document.insert("patronId".into(), json!(patron));
    document.insert("loanId".into(), json!(loan));
    document.insert("actionType".into(), action.into());
    let mut metadata = json!({"createdDate": now, "updatedDate": now});
    if let Some(by) = visit.by {
        metadata["createdByUserId"] = json!(by);
        metadata["updatedByUserId"] = json!(by);
    }
    document.insert("metadata".into(), metadata);
    flight.add(
        "INSERT INTO patron_action_session (id, doc) VALUES ($1, $2)",
        vec![id.into(), (&json!(document)).into()],
    );
}
