//! Check-out locks of other programs: a client that has one prevents check-outs to the patron.
//!
//! Routes: `/check-out-lock-storage…`. Changes the table `check_out_lock`, one row for each patron. Carrel's check-outs
//! lock the patron in their transaction and only check whether another client has one of these.

use crate::records::loans::CHECK_OUT_LOCK;
use carrel_platform::record_store::routes::delete_many;
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Answer, Bind, Call, Json, Pipeline, Router};
use carrel_records::{Failure, time};
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/check-out-lock-storage", acquire);
    router.on("GET", "/check-out-lock-storage", list);
    router.on("GET", "/check-out-lock-storage/{lockId}", find);
    router.on("DELETE", "/check-out-lock-storage/{lockId}", release);
    router.on_stand_in("DELETE", "/check-out-lock-storage", |call| delete_many(&CHECK_OUT_LOCK, call));
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LockRequest {
    user_id: Uuid,
    /// How long a lock may be held. FOLIO's own example calls it `ttl`.
    #[serde(alias = "ttl", default)]
    ttl_ms: i64,
}

async fn acquire(call: Call) -> Result<Answer, Failure> {
    let lock_request: LockRequest = call.read_json()?;
    let time_to_live = SignedDuration::from_millis(lock_request.ttl_ms.clamp(0, 86_400_000));
    let id = Uuid::new_v7(uuid_time(call.now));
    let lock = json!({"id": id, "userId": lock_request.user_id, "creationDate": time::format(call.now)});
    let mut pipeline = Pipeline::new();
    // FOLIO quirk: the expiry of the existing lock is computed with the duration in the new request.
    pipeline.add(
        "DELETE FROM check_out_lock WHERE user_id = $1 AND doc->>'creationDate' < $2",
        vec![lock_request.user_id.into(), time::format(shifted(call.now, -time_to_live)).into()],
    );
    let taken = pipeline.add(
        "INSERT INTO check_out_lock (id, doc, expires) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING id",
        vec![id.into(), Bind::Json(lock.to_string()), shifted(call.now, time_to_live).into()],
    );
    let results = call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
    if results.rows(taken).is_empty() {
        return Ok(Answer::text(StatusCode::SERVICE_UNAVAILABLE, "Unable to acquire lock"));
    }
    Ok(Answer::created(&lock))
}

fn shifted(now: Timestamp, by: SignedDuration) -> Timestamp {
    now.checked_add(by).unwrap_or(now)
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let unfit = || Answer::text(StatusCode::UNPROCESSABLE_ENTITY, "Invalid Parameters");
    let Some(user) = call.query.get("userId").and_then(|id| Uuid::parse_str(id).ok()) else {
        return Ok(unfit());
    };
    let most = i64::from(i32::MAX);
    let (Ok(offset), Ok(limit)) =
        (call.query.number("offset", 0, 0, most), call.query.number("limit", 10, 0, most))
    else {
        return Ok(unfit());
    };
    let connection = call.tenant()?.writer().await?;
    let rows = connection
        .query(
            "SELECT doc FROM check_out_lock WHERE user_id = $1 ORDER BY id LIMIT $2::bigint OFFSET $3::bigint",
            vec![user.into(), limit.into(), offset.into()],
        )
        .await?;
    let locks: Vec<Value> = rows.iter().map(|row| row.get::<_, Json>(0).parse()).collect();
    Ok(Answer::json(&json!({"checkoutLocks": locks, "totalRecords": locks.len()})))
}

async fn find(call: Call) -> Result<Answer, Failure> {
    let id = lock_id(&call)?;
    let connection = call.tenant()?.writer().await?;
    let rows = connection.query("SELECT doc FROM check_out_lock WHERE id = $1", vec![id.into()]).await?;
    match rows.first() {
        Some(row) => Ok(Answer::document(row.get::<_, Json>(0))),
        None => Err(Failure::NotFound(format!("There is no check-out lock with the id {id}"))),
    }
}

/// Releasing a lock that does not exist succeeds.
async fn release(call: Call) -> Result<Answer, Failure> {
    let id = lock_id(&call)?;
    let connection = call.tenant()?.writer().await?;
    connection.query("DELETE FROM check_out_lock WHERE id = $1", vec![id.into()]).await?;
    Ok(Answer::no_content())
}

fn lock_id(call: &Call) -> Result<Uuid, Failure> {
    call.id(0).map_err(|_| Failure::Invalid("Invalid lock id".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_live_without_bounds_does_not_leave_the_calendar() {
        assert_eq!(shifted(Timestamp::MAX, SignedDuration::from_millis(1)), Timestamp::MAX);
    }

    #[test]
    fn both_names_of_the_time_to_live_are_read() {
        for text in [
            r#"{"userId":"77477611-ab44-4082-a0d8-42f7acdfde11","ttlMs":3000}"#,
            r#"{"userId":"77477611-ab44-4082-a0d8-42f7acdfde11","ttl":3000}"#,
        ] {
            assert_eq!(serde_json::from_str::<LockRequest>(text).expect("a lock request").ttl_ms, 3000);
        }
    }
}
