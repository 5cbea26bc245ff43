//! How long it is known which notices a patron got: records of notices and printed notices are deleted when their time is
//! over, printed or not.
//!
//! The setting `noticeRetention` (`/circulation/settings`) says after which time, as `{"duration": 6, "intervalId":
//! "Months"}`; without it, after twelve months. A month has 31 days. Job: `patron-notice-retention`. Deletes from
//! `patron_notice` and `printed_notice`.

use crate::settings::CirculationSettings;
use carrel_loan_rules::loan_policy::{Interval, Period};
use carrel_platform::Tenant;
use carrel_platform::jobs::Job;
use carrel_records::Failure;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;

/// Deletes what is too old.
pub static RETENTION: Job = Job {
    name: "patron-notice-retention",
    every: Duration::from_secs(3_600),
    deadline: Duration::from_secs(600),
    run: |run| {
        Box::pin(async move {
            let deleted = prune(&run.tenant, Timestamp::now()).await?;
            Ok(format!("{deleted} records of notices deleted"))
        })
    },
};

/// Rows that one statement deletes, at most.
const BATCH: i64 = 1_000;

const STATEMENTS: [&str; 2] = [
    "DELETE FROM patron_notice WHERE id IN (SELECT id FROM patron_notice WHERE created < $1 LIMIT $2) RETURNING id",
    "DELETE FROM printed_notice WHERE id IN (SELECT id FROM printed_notice WHERE planned < $1 LIMIT $2) RETURNING id",
];

async fn prune(tenant: &Arc<Tenant>, now: Timestamp) -> Result<usize, Failure> {
    let kept = CirculationSettings::of(tenant).await?.notice_retention();
    let before = now.checked_sub(kept).unwrap_or(Timestamp::MIN);
    let mut deleted = 0;
    for statement in STATEMENTS {
        loop {
            let rows = tenant.writer().await?.query(statement, vec![before.into(), BATCH.into()]).await?;
            deleted += rows.len();
            if (rows.len() as i64) < BATCH {
                break;
            }
        }
    }
    Ok(deleted)
}

impl CirculationSettings {
    fn notice_retention(&self) -> SignedDuration {
        let set =
            self.settings.get("noticeRetention").and_then(|setting| Period::deserialize(&**setting).ok());
        let set = set.map(|period| period.elapsed()).filter(|kept| kept.is_positive());
        set.unwrap_or_else(|| Period::of(12, Interval::Months).elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_setting_counts_unless_it_makes_no_sense() {
        let kept = |value: serde_json::Value| {
            let mut settings = CirculationSettings::blank();
            settings.settings.insert("noticeRetention".into(), Arc::new(value));
            settings.notice_retention().as_hours() / 24
        };
        assert_eq!(kept(json!({"duration": 2, "intervalId": "Weeks"})), 14);
        assert_eq!(kept(json!({"duration": 0, "intervalId": "Weeks"})), 372);
        assert_eq!(kept(json!("soon")), 372);
        assert_eq!(CirculationSettings::blank().notice_retention().as_hours() / 24, 372);
    }
}
