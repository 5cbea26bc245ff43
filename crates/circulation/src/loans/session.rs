//! The desk session: the actions for a patron since the session began, for the notices at its end.

use carrel_platform::{Answer, Pipeline, Router, RowChange, record_store::write::uuid_time};
use carrel_records::{Failure, Refusal, metadata};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// The client's session and its staff member.
#[derive(Debug, Clone, Copy, Default)]
pub struct Visit {
    /// The client's session id.
    pub session: Option<Uuid>,
    /// The staff member at the desk.
    pub by: Option<Uuid>,
}

/// Adds the row of one action, `Check-out` or `Check-in`.
pub fn record(
    pipeline: &mut Pipeline,
    patron: Uuid,
    loan: Uuid,
    action: &'static str,
    visit: &Visit,
    now: Timestamp,
) {
    let id = Uuid::new_v7(uuid_time(now));
    let mut document = Map::new();
    document.insert("id".into(), json!(id));
    if let Some(session) = visit.session {
        document.insert("sessionId".into(), json!(session));
    }
    document.insert("patronId".into(), json!(patron));
    document.insert("loanId".into(), json!(loan));
    document.insert("actionType".into(), action.into());
    document.insert("metadata".into(), metadata::made(visit.by, now));
    pipeline.change_row(&ACTION, vec![id.into(), (&Value::Object(document)).into()]);
}

static ACTION: RowChange = RowChange {
    one: "INSERT INTO patron_action_session (id, doc) VALUES ($1, $2)",
    several: "INSERT INTO patron_action_session (id, doc) SELECT * FROM unnest($1::uuid[], $2::jsonb[])",
};

/// `POST /circulation/end-patron-action-session`: deletes the session's actions.
pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/end-patron-action-session", |call| async move {
        let ended = ended(&call.object()?)?;
        let mut pipeline = Pipeline::new();
        for (patron, action) in ended {
            // A malformed id has no sessions.
            if let Ok(patron) = Uuid::parse_str(&patron) {
                pipeline.add(
                    "DELETE FROM patron_action_session WHERE patron_id = $1 AND doc->>'actionType' = $2",
                    vec![patron.into(), action.into()],
                );
            }
        }
        if !pipeline.is_empty() {
            call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
        }
        Ok(Answer::no_content())
    });
}

/// Patrons and actions whose sessions end, or the first refusal.
fn ended(sent: &Map<String, Value>) -> Result<Vec<(String, &'static str)>, Failure> {
    let Some(sessions) = sent.get("endSessions").and_then(Value::as_array) else {
        return Err(Failure::Invalid("endSessions must be a list".into()));
    };
    let text = |session: &Value, key: &str| session[key].as_str().unwrap_or_default().trim().to_owned();
    sessions
        .iter()
        .map(|session| {
            let (patron, action) = (text(session, "patronId"), text(session, "actionType"));
            if patron.is_empty() {
                let refusal = Refusal::new("End patron session request must have patron id");
                return Err(refusal.with_null("patronId").into());
            }
            match action.as_str() {
                "Check-out" => Ok((patron, "Check-out")),
                "Check-in" => Ok((patron, "Check-in")),
                "" => Err(Refusal::new("End patron session request must have action type")
                    .with_null("actionType")
                    .into()),
                _ => Err(Refusal::new("Invalid patron action type value").with("actionType", action).into()),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(sent: Value) -> String {
        let Value::Object(sent) = sent else { return String::new() };
        match ended(&sent) {
            Ok(sessions) => format!("{} ended", sessions.len()),
            Err(Failure::Refused(refusals)) => refusals[0].message.clone(),
            Err(other) => other.to_string(),
        }
    }

    #[test]
    fn ending_a_session_needs_a_patron_and_an_action() {
        let both = json!([{"patronId": "p", "actionType": "Check-in"}, {"patronId": "p", "actionType": "Check-out"}]);
        let table = [
            (both, "2 ended"),
            (json!([{"actionType": "Check-in"}]), "End patron session request must have patron id"),
            (json!([{"patronId": "p"}]), "End patron session request must have action type"),
            (json!([{"patronId": "p", "actionType": "Tea"}]), "Invalid patron action type value"),
        ];
        for (sessions, expected) in table {
            assert_eq!(message(json!({"endSessions": sessions})), expected);
        }
    }
}
