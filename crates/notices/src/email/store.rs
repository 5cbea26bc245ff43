//! Statements over e-mails and their delivery queue.

use super::configuration::Configuration;
use super::{Email, MAX_ATTEMPTS, wait_after};
use crate::records::SMTP_CONFIGURATION;
use carrel_platform::batch_deletion::delete_in_batches;
use carrel_platform::record_store::read;
use carrel_platform::{Json, Pipeline, Tenant};
use carrel_records::{Failure, time};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::time::Duration;
use uuid::Uuid;

/// A sender that has not reported the outcome for this time is considered dead, and the e-mail is sent again.
pub const LEASE: Duration = Duration::from_secs(90);
/// Hours for which delivered e-mails are stored, unless configured otherwise (mod-email's default).
const DEFAULT_EXPIRATION_HOURS: i64 = 24;

/// The sender of the first attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstAttempt {
    /// The delivery job, as soon as it runs.
    ByJob,
    /// The caller, immediately; the job takes over if the caller has not reported the outcome when its lease ends.
    ByCaller,
}

/// Adds an e-mail to the delivery queue, in the caller's transaction.
pub fn queue(
    pipeline: &mut Pipeline,
    id: Uuid,
    mut document: Map<String, Value>,
    first: FirstAttempt,
    now: Timestamp,
) {
    let leased = first == FirstAttempt::ByCaller;
    let due = if leased { now + LEASE } else { now };
    document.insert("id".into(), id.to_string().into());
    document.insert("status".into(), "NEW".into());
    document.insert("shouldRetry".into(), true.into());
    document.insert("attemptCount".into(), 0.into());
    document.insert("date".into(), time::format(now).into());
    document.insert(
        "metadata".into(),
        json!({"createdDate": time::format(now), "updatedDate": time::format(now)}),
    );
    pipeline.add(
        "INSERT INTO email_statistics (id, doc) VALUES ($1, $2::jsonb)",
        vec![id.into(), (&Value::Object(document)).into()],
    );
    pipeline.add(
        "INSERT INTO email_delivery (id, next_attempt, leased) VALUES ($1, $2, $3)",
        vec![id.into(), due.into(), leased.into()],
    );
}

/// Takes at most `limit` due e-mails. No other node takes them until the lease ends.
pub async fn take_due(tenant: &Tenant, now: Timestamp, limit: i64) -> Result<Vec<Email>, Failure> {
    let rows = tenant
        .writer()
        .await?
        .query(
            "WITH due AS (
                SELECT id FROM email_delivery WHERE next_attempt <= $1
                ORDER BY next_attempt LIMIT $2 FOR UPDATE SKIP LOCKED
            ), taken AS (
                UPDATE email_delivery SET next_attempt = $3, leased = true FROM due WHERE email_delivery.id = due.id
                RETURNING email_delivery.id
            )
            SELECT email_statistics.doc FROM taken JOIN email_statistics USING (id)",
            vec![now.into(), limit.into(), (now + LEASE).into()],
        )
        .await?;
    rows.iter()
        .map(|row| {
            serde_json::from_slice(row.get::<_, Json>("doc").0.as_bytes())
                .map_err(|error| Failure::internal(format!("reading an e-mail: {error}")))
        })
        .collect()
}

/// The outcome of an attempt.
pub enum Outcome {
    Delivered,
    /// The attempt may succeed later.
    Failed(String),
    /// The e-mail itself is refused; no attempt can succeed.
    Refused(String),
}

/// Stores the outcome of an attempt; a failed one is repeated later, unless it was the last. Returns mod-email's text.
pub async fn report(
    tenant: &Tenant,
    email: &Email,
    outcome: &Outcome,
    now: Timestamp,
) -> Result<String, Failure> {
    let mut pipeline = Pipeline::new();
    let text = add_report(&mut pipeline, email, outcome, now);
    tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(text)
}

/// Stores the outcomes of several attempts in one transaction.
pub async fn report_all(
    tenant: &Tenant,
    outcomes: &[(&Email, Outcome)],
    now: Timestamp,
) -> Result<(), Failure> {
    let mut pipeline = Pipeline::new();
    for (email, outcome) in outcomes {
        add_report(&mut pipeline, email, outcome, now);
    }
    tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(())
}

fn add_report(pipeline: &mut Pipeline, email: &Email, outcome: &Outcome, now: Timestamp) -> String {
    let attempts = email.attempt_count + 1;
    let retries = matches!(outcome, Outcome::Failed(_)) && attempts < MAX_ATTEMPTS;
    let (status, text) = match outcome {
        Outcome::Delivered => ("DELIVERED", format!("The message has been delivered to {}", email.to)),
        Outcome::Failed(reason) | Outcome::Refused(reason) => (
            "FAILURE",
            format!("Error in the 'mod-email' module, the module didn't send email | message: {reason}"),
        ),
    };
    let changes = json!({
        "status": status, "message": text, "attemptCount": attempts, "shouldRetry": retries,
        "date": time::format(now),
    });
    pipeline.add(
        "UPDATE email_statistics SET doc = doc || $2::jsonb WHERE id = $1",
        vec![email.id.into(), (&changes).into()],
    );
    if retries {
        pipeline.add(
            "UPDATE email_delivery SET next_attempt = $2, leased = false WHERE id = $1",
            vec![email.id.into(), (now + wait_after(attempts)).into()],
        );
    } else {
        pipeline.add("DELETE FROM email_delivery WHERE id = $1", vec![email.id.into()]);
    }
    text
}

/// Makes failed e-mails due now, except those that are being sent.
pub async fn retry_failed(tenant: &Tenant, now: Timestamp) -> Result<(), Failure> {
    let sql = "UPDATE email_delivery SET next_attempt = $1 FROM email_statistics
               WHERE email_delivery.id = email_statistics.id AND NOT leased AND email_statistics.doc->>'status' = 'FAILURE'";
    tenant.writer().await?.query(sql, vec![now.into()]).await?;
    Ok(())
}

/// Deletes e-mails of a status that were last changed on or before `date` (the end of that day in UTC), or, without a
/// date, before the configured time. Returns their number.
pub async fn delete_expired(
    tenant: &Tenant,
    date: Option<jiff::civil::Date>,
    status: &str,
    now: Timestamp,
) -> Result<u64, Failure> {
    let before = match date {
        Some(date) => date
            .tomorrow()
            .and_then(|next| next.to_zoned(jiff::tz::TimeZone::UTC))
            .map_err(|_| Failure::Invalid("The date is out of range".into()))?
            .timestamp(),
        None => {
            let hours = configuration(tenant).await?.and_then(|configuration| configuration.expiration_hours);
            let hours = hours.unwrap_or(DEFAULT_EXPIRATION_HOURS).clamp(0, 24 * 36_500);
            now - Duration::from_secs(3_600 * hours as u64)
        }
    };
    let delete = "DELETE FROM email_statistics WHERE id IN (
             SELECT id FROM email_statistics
             WHERE carrel.instant(doc->>'date') < $1 AND doc->>'status' = $2 LIMIT $3::bigint)";
    delete_in_batches(tenant, delete, vec![before.into(), status.into()]).await
}

/// The tenant's mail server, if one is configured completely: as `/smtp-configuration`, else as the setting
/// `smtp-configuration` of `/email/settings`.
pub async fn configuration(tenant: &Tenant) -> Result<Option<Configuration>, Failure> {
    let connection = tenant.writer().await?;
    let stored = read::single(&connection, &SMTP_CONFIGURATION).await?;
    let stored = match stored {
        Some(document) => Some(document),
        None => connection
            .query(
                "SELECT doc->'value' AS value FROM email_settings WHERE doc->>'key' = 'smtp-configuration'",
                vec![],
            )
            .await?
            .first()
            .and_then(|row| row.get::<_, Option<Json>>("value")),
    };
    let configuration =
        stored.and_then(|document| serde_json::from_slice::<Configuration>(document.0.as_bytes()).ok());
    Ok(configuration.filter(|configuration| !configuration.host.trim().is_empty()))
}
