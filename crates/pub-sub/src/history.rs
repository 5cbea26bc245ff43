//! The history of events: `/pubsub/history`, `/pubsub/audit-messages/{eventId}/payload`. Messages are kept as long as
//! the events of the outbox.

use carrel_platform::batch_deletion::delete_in_batches;
use carrel_platform::jobs::Job;
use carrel_platform::outbox::{self, follow};
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Answer, Bind, Call, Pipeline, Router, RowChange, Tenant};
use carrel_records::{Failure, time};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use std::time::Duration;
use uuid::Uuid;

/// Messages of one answer, at most.
const MAX_MESSAGES: i64 = 10_000;

/// Deletes messages older than [`outbox::RETENTION`].
pub static RETENTION: Job = Job {
    name: "pub-sub-retention",
    every: Duration::from_secs(3600),
    deadline: Duration::from_secs(1800),
    run: |run| {
        Box::pin(async move {
            let deleted = prune(&run.tenant, Timestamp::now() - outbox::RETENTION).await?;
            Ok(format!("{deleted} messages deleted"))
        })
    },
};

/// The event of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub event_id: Uuid,
    pub event_type: String,
    pub correlation_id: Option<String>,
    pub created_by: Option<String>,
    pub published_by: Option<String>,
}

/// A state of delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Created,
    Published,
    Delivered,
    Rejected,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Created => "CREATED",
            State::Published => "PUBLISHED",
            State::Delivered => "DELIVERED",
            State::Rejected => "REJECTED",
        }
    }
}

/// Adds a message.
pub fn write(pipeline: &mut Pipeline, message: &Message, state: State, error: Option<&str>, now: Timestamp) {
    pipeline.change_row(
        &MESSAGE,
        vec![
            Uuid::new_v7(uuid_time(now)).into(),
            message.event_id.into(),
            message.event_type.as_str().into(),
            message.correlation_id.clone().into(),
            message.created_by.clone().into(),
            message.published_by.clone().into(),
            now.into(),
            state.name().into(),
            error.map(str::to_owned).into(),
        ],
    );
}

static MESSAGE: RowChange = RowChange {
    one:
        "INSERT INTO pubsub_audit_message (id, event_id, event_type, correlation_id, created_by, published_by,
             audit_date, state, error_message) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    several:
        "INSERT INTO pubsub_audit_message (id, event_id, event_type, correlation_id, created_by, published_by,
             audit_date, state, error_message)
         SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[],
             $7::timestamptz[], $8::text[], $9::text[])",
};

pub fn connect(router: &mut Router) {
    router.on("GET", "/pubsub/history", list);
    router.on("GET", "/pubsub/audit-messages/{eventId}/payload", payload);
}

/// The first and the last instant of the requested period; a bare day at its end counts as a whole.
fn period(start: Option<&str>, end: Option<&str>) -> Result<(Timestamp, Timestamp), Failure> {
    let (Some(start), Some(end)) = (start, end) else {
        return Err(Failure::Invalid("Start date and End date are required query parameters".into()));
    };
    let bad = || {
        Failure::Invalid(
            "Supported date formats yyyy-MM-dd, yyyy-MM-dd'T'HH:mm:ss, yyyy-MM-dd'T'HH:mm:ssZZ".into(),
        )
    };
    let (from, to) = (time::parse(start).ok_or_else(bad)?, time::parse(end).ok_or_else(bad)?);
    let whole_day = SignedDuration::from_hours(24) - SignedDuration::from_millis(1);
    let to = if end.trim().len() == 10 { to.checked_add(whole_day).map_err(|_| bad())? } else { to };
    Ok((from, to))
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let (from, to) = period(call.query.get("startDate"), call.query.get("endDate"))?;
    let event_id = call.query.get("eventId").map(str::to_owned);
    let tenant = call.tenant()?;
    let rows = tenant
        .reader()
        .await?
        .query(
            "SELECT id, event_id, event_type, correlation_id, created_by, published_by, audit_date, state,
                 error_message
             FROM pubsub_audit_message
             WHERE audit_date BETWEEN $1 AND $2 AND ($3::text IS NULL OR event_id::text = lower($3))
                 AND ($4::text IS NULL OR event_type = $4) AND ($5::text IS NULL OR correlation_id = $5)
             ORDER BY audit_date, array_position(ARRAY['CREATED', 'PUBLISHED', 'DELIVERED', 'REJECTED'], state), id
             LIMIT $6::bigint",
            vec![
                from.into(),
                to.into(),
                event_id.into(),
                call.query.get("eventType").map(str::to_owned).into(),
                call.query.get("correlationId").map(str::to_owned).into(),
                Bind::from(MAX_MESSAGES),
            ],
        )
        .await?;
    let messages: Vec<Value> = rows
        .iter()
        .map(|row| {
            let mut message = Map::new();
            message.insert("id".into(), json!(row.get::<_, Uuid>("id")));
            message.insert("eventId".into(), json!(row.get::<_, Uuid>("event_id")));
            message.insert("eventType".into(), row.get::<_, String>("event_type").into());
            message.insert("tenantId".into(), tenant.id.as_str().into());
            message.insert("auditDate".into(), time::format(row.get("audit_date")).into());
            message.insert("state".into(), row.get::<_, String>("state").into());
            for (key, column) in [
                ("correlationId", "correlation_id"),
                ("createdBy", "created_by"),
                ("publishedBy", "published_by"),
                ("errorMessage", "error_message"),
            ] {
                if let Some(text) = row.get::<_, Option<String>>(column) {
                    message.insert(key.into(), text.into());
                }
            }
            Value::Object(message)
        })
        .collect();
    Ok(Answer::json(&json!({"auditMessages": messages, "totalRecords": messages.len()})))
}

async fn payload(call: Call) -> Result<Answer, Failure> {
    let sent = call.parameter(0).to_owned();
    let missing = || Failure::NotFound(format!("Couldn't find audit message payload for event {sent}"));
    let id = call.id(0).map_err(|_| missing())?;
    let tenant = call.tenant()?;
    let event = follow::published(tenant, "pubsub.", &id.to_string()).await?.ok_or_else(missing)?;
    let content = event.parse().get("eventPayload").and_then(Value::as_str).map(str::to_owned);
    Ok(Answer::json(&json!({"eventId": id, "content": content.ok_or_else(missing)?})))
}

/// Deletes the messages before an instant; returns their number.
pub async fn prune(tenant: &Tenant, before: Timestamp) -> Result<u64, Failure> {
    let delete = "DELETE FROM pubsub_audit_message WHERE id IN (
             SELECT id FROM pubsub_audit_message WHERE audit_date < $1 ORDER BY audit_date LIMIT $2::bigint)";
    delete_in_batches(tenant, delete, vec![before.into()]).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_day_at_the_end_counts_whole() {
        let (from, to) = period(Some("2024-05-01"), Some("2024-05-02")).expect("a period");
        assert_eq!(time::format(from), "2024-05-01T00:00:00.000+00:00");
        assert_eq!(time::format(to), "2024-05-02T23:59:59.999+00:00");
        let (_, to) = period(Some("2024-05-01"), Some("2024-05-02T10:00:00")).expect("a period");
        assert_eq!(time::format(to), "2024-05-02T10:00:00.000+00:00");
    }

    #[test]
    fn a_period_needs_both_ends() {
        assert!(period(None, Some("2024-05-02")).is_err());
        assert!(period(Some("2024-05-01"), None).is_err());
        assert!(period(Some("soon"), Some("2024-05-02")).is_err());
    }
}
