//! The first reminder of a loan is scheduled with the loan, and again when its due date changes.

use crate::document::text_at;
use crate::settings::{CirculationSettings, NoticeEvent};
use carrel_loan_rules::reminder_fee::{OpenDays, Reminder, ReminderFeesPolicy};
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Pipeline, RowChange};
use carrel_records::{metadata, time};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// The triggering event of the scheduled notices.
pub const EVENT: NoticeEvent = NoticeEvent::DueDateWithReminderFee;

/// A scheduled reminder.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduledReminder {
    pub loan: Uuid,
    pub recipient: Uuid,
    pub next_run: Timestamp,
    pub template: Option<String>,
    pub format: Option<String>,
}

/// The reminders of a loan, by its overdue fine policy; `None` if the policy has none.
pub fn policy_of(loan: &Map<String, Value>, settings: &CirculationSettings) -> Option<ReminderFeesPolicy> {
    let policy = settings.overdue_fine_policies.get(&id_at(loan, "overdueFinePolicyId")?)?;
    ReminderFeesPolicy::of(policy)
}

/// Calls `ask` with the open days of the service point where the loan was checked out.
pub fn with_open_days<T>(
    loan: &Map<String, Value>,
    settings: &CirculationSettings,
    ask: impl FnOnce(OpenDays<'_>) -> T,
) -> T {
    let calendar = settings.calendar(id_at(loan, "checkoutServicePointId").unwrap_or_default());
    ask(OpenDays { calendar: &calendar, zone: &settings.zone })
}

/// The first reminder of a new loan, or of one with another due date.
pub fn first_reminder(
    loan: &Map<String, Value>,
    settings: &CirculationSettings,
) -> Option<ScheduledReminder> {
    let policy = policy_of(loan, settings)?;
    let due = time::parse(text_at(loan, "dueDate"))?;
    let next_run = with_open_days(loan, settings, |days| policy.first_due(due, days))?;
    ScheduledReminder::new(loan, policy.reminder_after(0)?, next_run)
}

impl ScheduledReminder {
    /// A reminder of the loan; `None` if the loan lacks an id or a patron.
    pub fn new(
        loan: &Map<String, Value>,
        reminder: &Reminder,
        next_run: Timestamp,
    ) -> Option<ScheduledReminder> {
        Some(ScheduledReminder {
            loan: id_at(loan, "id")?,
            recipient: id_at(loan, "userId")?,
            next_run,
            template: reminder.notice_template_id.clone(),
            format: reminder.notice_format.clone(),
        })
    }

    fn document(&self, id: Uuid, now: Timestamp) -> Value {
        json!({
            "id": id,
            "loanId": self.loan,
            "recipientUserId": self.recipient,
            "triggeringEvent": EVENT.text(),
            "nextRunTime": time::format(self.next_run),
            "noticeConfig": {"timing": "After", "templateId": self.template, "format": self.format,
                "sendInRealTime": true},
            "metadata": metadata::created(None, now),
        })
    }
}

/// Adds the statement that schedules a reminder.
pub fn schedule(pipeline: &mut Pipeline, reminder: &ScheduledReminder, now: Timestamp) {
    let id = Uuid::new_v7(uuid_time(now));
    pipeline.change_row(&NEW, vec![id.into(), (&reminder.document(id, now)).into()]);
}

/// Adds the statements that replace the scheduled reminders by the first one, since the due date has changed.
pub fn reschedule(pipeline: &mut Pipeline, first: &ScheduledReminder, now: Timestamp) {
    pipeline.change_row(&OF_LOAN, vec![first.loan.into()]);
    schedule(pipeline, first, now);
}

static NEW: RowChange = RowChange {
    one: "INSERT INTO scheduled_notice (id, doc) VALUES ($1, $2)",
    several: "INSERT INTO scheduled_notice (id, doc) SELECT * FROM unnest($1::uuid[], $2::jsonb[])",
};

static OF_LOAN: RowChange = RowChange {
    one: "DELETE FROM scheduled_notice WHERE loan_id = $1
         AND doc->>'triggeringEvent' = 'Due date - with reminder fee'",
    several: "DELETE FROM scheduled_notice WHERE loan_id = ANY ($1::uuid[])
         AND doc->>'triggeringEvent' = 'Due date - with reminder fee'",
};

fn id_at(loan: &Map<String, Value>, key: &str) -> Option<Uuid> {
    Uuid::parse_str(text_at(loan, key)).ok()
}
