//! The desk session: the actions for a patron since the session began, for the notices at its end.
//!
//! Routes: `POST /circulation/end-patron-action-session`, and `POST /circulation/notice-session-expiration-by-timeout`
//! for sessions that were not ended; the job `patron-session-expiration` does the latter every three minutes. Deletes
//! actions.

use crate::patron_action_sessions::marked_as_expired;
use crate::patron_notices::{self, NoticeEvent};
use crate::settings::CirculationSettings;
use carrel_platform::jobs::Job;
use carrel_platform::{
    Answer, Bind, Json, Pipeline, Router, RowChange, Tenant, Tx, record_store::write::uuid_time,
};
use carrel_records::{Failure, Refusal, metadata, time};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Ends sessions without an action for too long.
pub static EXPIRY: Job = Job {
    name: "patron-session-expiration",
    every: Duration::from_secs(180),
    deadline: Duration::from_secs(600),
    run: |run| {
        Box::pin(async move {
            let ended = expire(&run.tenant, Timestamp::now()).await?;
            Ok(format!("{ended} sessions ended"))
        })
    },
};

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
    document.insert("metadata".into(), metadata::created(visit.by, now));
    pipeline.change_row(&ACTION, vec![id.into(), (&Value::Object(document)).into()]);
}

static ACTION: RowChange = RowChange {
    one: "INSERT INTO patron_action_session (id, doc) VALUES ($1, $2)",
    several: "INSERT INTO patron_action_session (id, doc) SELECT * FROM unnest($1::uuid[], $2::jsonb[])",
};

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/end-patron-action-session", |call| async move {
        let sessions = ended(&call.object()?)?;
        if !sessions.is_empty() {
            end(call.tenant()?, Sessions::Of(sessions), call.now).await?;
        }
        Ok(Answer::no_content())
    });
    router.on("POST", "/circulation/notice-session-expiration-by-timeout", |call| async move {
        expire(call.tenant()?, call.now).await?;
        Ok(Answer::no_content())
    });
}

/// The sessions to end.
pub enum Sessions {
    /// Those of these patrons and kinds of action.
    Of(Vec<(Uuid, &'static str)>),
    /// The same, but those only whose last action was before the moment.
    InactiveSince(Timestamp, Vec<(Uuid, String)>),
}

/// The stored actions of one patron and one kind.
pub struct Ended {
    pub patron: Uuid,
    /// `Check-out` or `Check-in`.
    pub action: String,
    pub actions: Vec<Value>,
}

/// Ends sessions and writes their notices in one transaction; returns their number.
///
/// The loans of a session become one notice, if a notice policy has one.
pub async fn end(tenant: &Arc<Tenant>, sessions: Sessions, now: Timestamp) -> Result<usize, Failure> {
    let settings = CirculationSettings::of(tenant).await?;
    let mut tx = tenant.begin().await?;
    let ended = delete(&mut tx, sessions).await?;
    let mut notices = Pipeline::new();
    for session in &ended {
        let event = match session.action.as_str() {
            "Check-in" => NoticeEvent::CheckIn,
            _ => NoticeEvent::CheckOut,
        };
        if settings.wants_notices_of(event) {
            patron_notices::record_group(&mut notices, event, &session.loans(), now);
        }
    }
    let has_notices = !notices.is_empty();
    tx.send_and_commit(notices).await?;
    if has_notices {
        patron_notices::process_soon(tenant);
    }
    Ok(ended.len())
}

impl Ended {
    /// The loans of the actions, without duplicates.
    fn loans(&self) -> BTreeSet<Uuid> {
        let loan = |action: &Value| Uuid::parse_str(action["loanId"].as_str()?).ok();
        self.actions.iter().filter_map(loan).collect()
    }
}

/// Deletes the actions of sessions and returns them, except actions that another transaction deletes at the same time.
async fn delete(tx: &mut Tx, sessions: Sessions) -> Result<Vec<Ended>, Failure> {
    let (condition, binds): (&str, Vec<Bind>) = match sessions {
        Sessions::Of(sessions) => {
            let (patrons, actions): (Vec<Uuid>, Vec<String>) =
                sessions.into_iter().map(|(patron, action)| (patron, action.to_owned())).unzip();
            (
                "SELECT * FROM unnest($1::uuid[], $2::text[]) given (patron, action)",
                vec![patrons.into(), actions.into()],
            )
        }
        Sessions::InactiveSince(moment, sessions) => {
            let (patrons, actions): (Vec<Uuid>, Vec<String>) = sessions.into_iter().unzip();
            (
                "SELECT * FROM unnest($1::uuid[], $2::text[]) given (patron, action)
                 WHERE (SELECT true FROM patron_action_session later
                     WHERE later.patron_id = given.patron AND later.doc->>'actionType' = given.action
                         AND later.doc #>> '{metadata,createdDate}' >= $3 LIMIT 1) IS NULL",
                vec![patrons.into(), actions.into(), time::format(moment).into()],
            )
        }
    };
    let rows = tx
        .query(
            format!(
                "WITH over AS ({condition}), deleted AS (
                     DELETE FROM patron_action_session session USING over
                     WHERE session.patron_id = over.patron AND session.doc->>'actionType' = over.action
                     RETURNING session.id, session.patron_id, session.doc)
                 SELECT patron_id, doc->>'actionType' AS action, jsonb_agg(doc ORDER BY id) AS actions
                 FROM deleted GROUP BY patron_id, doc->>'actionType' ORDER BY patron_id"
            ),
            binds,
        )
        .await?;
    let read = |row: &tokio_postgres::Row| Ended {
        patron: row.get("patron_id"),
        action: row.get("action"),
        actions: Json::elements(row.get("actions")),
    };
    Ok(rows.iter().map(read).collect())
}

/// Sessions that one transaction ends, at most.
const PAGE: usize = 100;
/// Sessions that one run ends, at most.
const MAX_SESSIONS: i64 = 100_000;

/// The sessions whose last action is too long ago, the longest inactive ones first. Times are stored in one spelling, so
/// their texts compare as they do.
const INACTIVE: &str = "SELECT patron_id, doc->>'actionType' AS action FROM patron_action_session
    WHERE patron_id IS NOT NULL GROUP BY patron_id, doc->>'actionType'
    HAVING max(doc #>> '{metadata,createdDate}') < $1
    ORDER BY max(doc #>> '{metadata,createdDate}') LIMIT $2";

/// Ends the sessions whose last action is too old; returns their number.
///
/// They are looked for once, as that reads all actions, and ended in pages.
pub async fn expire(tenant: &Arc<Tenant>, now: Timestamp) -> Result<usize, Failure> {
    let settings = CirculationSettings::of(tenant).await?;
    let time_out = time_out(settings.settings.get("other_settings").map(|setting| &**setting));
    let inactive_since = now.checked_sub(time_out).unwrap_or(Timestamp::MIN);
    let binds = vec![time::format(inactive_since).into(), MAX_SESSIONS.into()];
    let rows = tenant.writer().await?.query(INACTIVE, binds).await?;
    let sessions: Vec<(Uuid, String)> = rows
        .iter()
        .filter_map(|row| Some((row.get("patron_id"), row.get::<_, Option<String>>("action")?)))
        .collect();
    let mut ended = 0;
    for page in marked_as_expired(tenant).await?.chunks(PAGE) {
        ended += end(tenant, Sessions::InactiveSince(Timestamp::MAX, page.to_vec()), now).await?;
    }
    for page in sessions.chunks(PAGE) {
        ended += end(tenant, Sessions::InactiveSince(inactive_since, page.to_vec()), now).await?;
    }
    Ok(ended)
}

/// The time without an action after which a session ends, from the setting `other_settings`; by default three minutes.
fn time_out(setting: Option<&Value>) -> SignedDuration {
    let minutes = setting
        .filter(|setting| setting["checkoutTimeout"] == true)
        .and_then(|setting| {
            let duration = &setting["checkoutTimeoutDuration"];
            duration.as_i64().or_else(|| duration.as_str()?.trim().parse().ok())
        })
        .filter(|minutes| (0..=MAX_MINUTES).contains(minutes));
    SignedDuration::from_mins(minutes.unwrap_or(3))
}

/// A time-out of more than a year is ignored as an error.
const MAX_MINUTES: i64 = 366 * 24 * 60;

/// Patrons and actions whose sessions end, or the first refusal.
fn ended(sent: &Map<String, Value>) -> Result<Vec<(Uuid, &'static str)>, Failure> {
    let Some(sessions) = sent.get("endSessions").and_then(Value::as_array) else {
        return Err(Failure::Invalid("endSessions must be a list".into()));
    };
    let text = |session: &Value, key: &str| session[key].as_str().unwrap_or_default().trim().to_owned();
    let checked = sessions
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
        .collect::<Result<Vec<(String, &'static str)>, Failure>>()?;
    // A malformed id has no sessions.
    let known = |(patron, action): (String, _)| Uuid::parse_str(&patron).ok().map(|patron| (patron, action));
    Ok(checked.into_iter().filter_map(known).collect())
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
        let patron = Uuid::from_u128(1);
        let both = json!([{"patronId": patron, "actionType": "Check-in"}, {"patronId": patron, "actionType": "Check-out"}]);
        let table = [
            (both, "2 ended"),
            (json!([{"patronId": "p", "actionType": "Check-in"}]), "0 ended"),
            (json!([{"actionType": "Check-in"}]), "End patron session request must have patron id"),
            (json!([{"patronId": "p"}]), "End patron session request must have action type"),
            (json!([{"patronId": "p", "actionType": "Tea"}]), "Invalid patron action type value"),
        ];
        for (sessions, expected) in table {
            assert_eq!(message(json!({"endSessions": sessions})), expected);
        }
    }

    #[test]
    fn a_session_ends_after_the_time_that_the_library_has_set() {
        let table = [
            (json!(null), 3),
            (json!({"checkoutTimeout": true, "checkoutTimeoutDuration": 5}), 5),
            (json!({"checkoutTimeout": true, "checkoutTimeoutDuration": "12"}), 12),
            (json!({"checkoutTimeout": true}), 3),
            (json!({"checkoutTimeout": false, "checkoutTimeoutDuration": 5}), 3),
            (json!({"checkoutTimeout": true, "checkoutTimeoutDuration": -1}), 3),
        ];
        for (setting, minutes) in table {
            assert_eq!(time_out(Some(&setting)), SignedDuration::from_mins(minutes), "{setting}");
        }
        assert_eq!(time_out(None), SignedDuration::from_mins(3));
    }
}
