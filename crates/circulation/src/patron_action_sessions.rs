//! Patron action sessions: a patron's actions at the desk for which no notice has been sent yet.
//!
//! Routes: `/patron-action-session-storage/expired-session-patron-ids`; the sessions themselves are plain records.

use carrel_platform::{Answer, Bind, Call, Router, Tenant, stand_in};
use carrel_records::{Failure, Refusal, time};
use serde_json::{Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/patron-action-session-storage/expired-session-patron-ids", expired);
    router.on_stand_in(
        "POST",
        "/patron-action-session-storage/expired-session-patron-ids",
        |call| async move { stand_in::keep(&call, EXPIRED_SESSION).await },
    );
    router.on_stand_in(
        "DELETE",
        "/patron-action-session-storage/expired-session-patron-ids",
        |call| async move { stand_in::forget(&call, EXPIRED_SESSION).await },
    );
}

/// The kind of the stored documents by which a test suite marks sessions as expired.
const EXPIRED_SESSION: &str = "expired session";

/// Patrons and actions whose sessions a test suite has marked as expired; none in a tenant without stand-ins.
pub async fn marked_as_expired(tenant: &Tenant) -> Result<Vec<(Uuid, String)>, Failure> {
    if !tenant.profile.stand_ins {
        return Ok(Vec::new());
    }
    let session = |marked: &Value| {
        let patron = Uuid::parse_str(marked["patronId"].as_str()?).ok()?;
        Some((patron, marked["actionType"].as_str()?.to_owned()))
    };
    Ok(stand_in::kept(tenant, EXPIRED_SESSION).await?.iter().filter_map(session).collect())
}

/// Patrons whose last action of a kind was before a moment, the oldest first.
async fn expired(call: Call) -> Result<Answer, Failure> {
    let limit_text = call.query.get("session_inactivity_time_limit").unwrap_or_default();
    let Some(moment) = time::parse(limit_text) else {
        return Err(Refusal::new("Date cannot be parsed")
            .with("session_inactivity_time_limit", limit_text)
            .of_storage()
            .into());
    };
    let action = call.query.get("action_type").filter(|action| !action.trim().is_empty());
    if let Some(action) = action
        && !matches!(action, "Check-out" | "Check-in")
    {
        // FOLIO quirk: the text shows the value of the other parameter.
        return Err(Refusal::new("Invalid action type value")
            .with("action_type", limit_text)
            .of_storage()
            .into());
    }
    let limit = call.query.number("limit", 10, 0, i64::from(i32::MAX))?;
    let connection = call.tenant()?.writer().await?;
    // Times are stored in one format, so their texts can be compared.
    let rows = connection
        .query(
            "SELECT doc->>'patronId', doc->>'actionType' FROM patron_action_session
             WHERE $1::text IS NULL OR doc->>'actionType' = $1
             GROUP BY doc->>'patronId', doc->>'actionType'
             HAVING max(doc #>> '{metadata,createdDate}') < $2
             ORDER BY max(doc #>> '{metadata,createdDate}') LIMIT $3::bigint",
            vec![action.map_or(Bind::Null, Bind::from), time::format(moment).into(), limit.into()],
        )
        .await?;
    let sessions: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "patronId": row.get::<_, Option<String>>(0),
                "actionType": row.get::<_, Option<String>>(1),
            })
        })
        .collect();
    Ok(Answer::json(&json!({"expiredSessions": sessions})))
}
