//! E-mail: every message is stored with its delivery state before it is sent, and sent again until the mail server
//! accepts it or the attempts are used up.
//!
//! Routes: `POST /email`, `GET /email`, `DELETE /delayedTask/expiredMessages`, `POST /delayedTask/retryFailedEmails`
//! (mod-email). Jobs: `email-delivery`, `email-retention`. Reads `/smtp-configuration`; changes `email_statistics` and
//! `email_delivery`.

mod configuration;
mod message;
mod route;
mod sender;
mod store;

pub use route::connect;
pub use store::{FirstAttempt, queue};

use carrel_platform::jobs::Job;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use uuid::Uuid;

/// Attempts to send an e-mail.
///
/// FOLIO makes three within minutes; with the waits of [`wait_after`], ten take a day.
pub const MAX_ATTEMPTS: i64 = 10;

/// Sends due e-mails. Messages are sent right after they are stored; the job repeats failed attempts and those that a
/// crash interrupted.
pub static DELIVERY: Job = Job {
    name: "email-delivery",
    every: Duration::from_secs(60),
    deadline: Duration::from_secs(600),
    run: |run| {
        Box::pin(async move {
            let (delivered, failed) = sender::send_due(&run.tenant).await?;
            Ok(format!("{delivered} e-mails delivered, {failed} attempts failed"))
        })
    },
};

/// Deletes old e-mails.
pub static RETENTION: Job = Job {
    name: "email-retention",
    every: Duration::from_secs(1_800),
    deadline: Duration::from_secs(600),
    run: |run| {
        Box::pin(async move {
            let deleted = store::delete_expired(&run.tenant, None, "DELIVERED", Timestamp::now()).await?;
            Ok(format!("{deleted} e-mails deleted"))
        })
    },
};

/// An e-mail, in mod-email's form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Email {
    pub id: Uuid,
    pub notification_id: String,
    pub from: String,
    /// Addresses, separated by commas.
    pub to: String,
    pub bcc: String,
    /// The subject.
    pub header: String,
    pub output_format: String,
    pub body: String,
    pub attachments: Vec<EmailAttachment>,
    pub attempt_count: i64,
}

/// A file or image of an e-mail.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EmailAttachment {
    pub content_type: String,
    pub name: String,
    /// Base64.
    pub data: String,
    pub disposition: Option<String>,
    pub content_id: Option<String>,
}

/// The wait after the n-th failed attempt: one minute, then three times as long each time, at most six hours.
fn wait_after(attempts: i64) -> Duration {
    let minutes = 3_u64.saturating_pow(attempts.clamp(1, 10) as u32 - 1);
    Duration::from_secs(60 * minutes).min(Duration::from_secs(6 * 3_600))
}

#[cfg(test)]
mod tests {
    use super::{MAX_ATTEMPTS, wait_after};
    use std::time::Duration;

    #[test]
    fn waits_grow_and_all_attempts_together_last_more_than_a_day() {
        let waits: Vec<Duration> = (1..MAX_ATTEMPTS).map(wait_after).collect();
        assert_eq!(waits[..3], [60, 180, 540].map(Duration::from_secs));
        assert!(waits.is_sorted());
        assert!(waits.iter().sum::<Duration>() > Duration::from_secs(24 * 3_600));
    }
}
