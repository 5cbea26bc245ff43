//! Reminder fees: a patron with an overdue item gets reminders by a schedule, and each reminder may have a fee.

use crate::loan_policy::Interval;
use crate::opening_hours::OpeningDays;
use carrel_records::Money;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;

/// `reminderFeesPolicy` of an overdue fine policy.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReminderFeesPolicy {
    /// Reminders may become due on closed days.
    count_closed: Option<bool>,
    reminder_schedule: Vec<Reminder>,
}

/// One reminder of the schedule.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Reminder {
    /// Time since the due date, or since the previous reminder.
    interval: i64,
    /// day, week or minute; also in plural and any letter case.
    time_unit_id: String,
    pub reminder_fee: Money,
    /// Email, Print or None.
    pub notice_format: Option<String>,
    pub notice_template_id: Option<String>,
}

/// Days on which a service point is open, in the tenant's zone.
#[derive(Clone, Copy)]
pub struct OpenDays<'a> {
    pub calendar: &'a dyn OpeningDays,
    pub zone: &'a TimeZone,
}

impl ReminderFeesPolicy {
    /// The policy in a stored overdue fine policy; `None` without reminders.
    pub fn of(overdue_fine_policy: &Value) -> Option<ReminderFeesPolicy> {
        let policy = ReminderFeesPolicy::deserialize(overdue_fine_policy.get("reminderFeesPolicy")?).ok()?;
        (!policy.reminder_schedule.is_empty()).then_some(policy)
    }

    /// The reminder after the given number of sent ones.
    pub fn reminder_after(&self, sent: u64) -> Option<&Reminder> {
        self.reminder_schedule.get(usize::try_from(sent).ok()?)
    }

    /// When the first reminder is sent, by the due date of the loan.
    pub fn first_due(&self, due: Timestamp, days: OpenDays<'_>) -> Option<Timestamp> {
        Some(self.due_after(self.reminder_after(0)?, due, days))
    }

    /// When a reminder after one sent now is sent, truncated to the hour.
    pub fn next_due(&self, reminder: &Reminder, now: Timestamp, days: OpenDays<'_>) -> Timestamp {
        let due = self.due_after(reminder, now, days);
        Timestamp::from_second(due.as_second().div_euclid(3600) * 3600).unwrap_or(due)
    }

    /// On a closed day, reminders wait for the next open one, unless closed days count. If no later day is open, the
    /// date stays.
    fn due_after(&self, reminder: &Reminder, from: Timestamp, days: OpenDays<'_>) -> Timestamp {
        let due = reminder.unit().after(reminder.interval.max(0), from, &TimeZone::UTC).unwrap_or(from);
        if self.count_closed == Some(true) {
            return due;
        }
        let date = due.to_zoned(days.zone.clone()).date();
        let Some(around) = days.calendar.surrounding(date) else { return due };
        if around.requested().open || !around.next().open {
            return due;
        }
        let closed = (around.next().date - date).get_days();
        Interval::Days.after(closed.into(), due, &TimeZone::UTC).unwrap_or(due)
    }
}

impl OpenDays<'_> {
    /// Whether it is open at some hour of this day.
    pub fn is_open_on(&self, moment: Timestamp) -> bool {
        self.calendar.on(moment.to_zoned(self.zone.clone()).date()).open
    }
}

impl Reminder {
    /// FOLIO quirk: an unknown unit counts in minutes.
    fn unit(&self) -> Interval {
        let plural = self.time_unit_id.strip_suffix(['s', 'S']).unwrap_or(&self.time_unit_id);
        Interval::named_in_any_case(&format!("{plural}s")).unwrap_or(Interval::Minutes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::due_date::fixtures::{at, weekdays};
    use serde_json::json;

    fn policy(count_closed: bool) -> ReminderFeesPolicy {
        let policy = json!({"reminderFeesPolicy": {"countClosed": count_closed, "reminderSchedule": [
            {"interval": 1, "timeUnitId": "day", "reminderFee": 1.5, "noticeFormat": "Email"},
            {"interval": 2, "timeUnitId": "WEEKS", "reminderFee": 0},
            {"interval": 30, "timeUnitId": "minute", "reminderFee": 2.15},
        ]}});
        ReminderFeesPolicy::of(&policy).expect("a policy with reminders")
    }

    fn on_weekdays<T>(ask: impl FnOnce(OpenDays<'_>) -> T) -> T {
        ask(OpenDays { calendar: &weekdays(), zone: &TimeZone::UTC })
    }

    #[test]
    fn a_policy_without_schedule_reminds_of_nothing() {
        for policy in [json!({}), json!({"reminderFeesPolicy": {}}), json!({"reminderFeesPolicy": null})] {
            assert_eq!(ReminderFeesPolicy::of(&policy), None);
        }
    }

    #[test]
    fn the_first_reminder_follows_the_due_date_on_an_open_day() {
        let table = [
            ("an open day", false, "2024-05-06T22:00:00Z", "2024-05-07T22:00:00Z"),
            ("a Saturday", false, "2024-05-10T22:10:00Z", "2024-05-13T22:10:00Z"),
            ("a Saturday that counts", true, "2024-05-10T22:10:00Z", "2024-05-11T22:10:00Z"),
            ("after the last calendar", false, "2050-01-01T00:00:00Z", "2050-01-02T00:00:00Z"),
        ];
        for (name, count_closed, due, expected) in table {
            let first = on_weekdays(|days| policy(count_closed).first_due(at(due), days));
            assert_eq!(first, Some(at(expected)), "{name}");
        }
    }

    #[test]
    fn the_next_reminder_follows_the_last_one_cut_to_the_hour() {
        let policy = policy(false);
        let next = |sent, now| {
            on_weekdays(|days| Some(policy.next_due(policy.reminder_after(sent)?, at(now), days)))
        };
        assert_eq!(next(1, "2024-05-06T10:59:59Z"), Some(at("2024-05-20T10:00:00Z")));
        assert_eq!(next(2, "2024-05-06T10:29:59Z"), Some(at("2024-05-06T10:00:00Z")));
        assert_eq!(next(3, "2024-05-06T10:29:59Z"), None);
    }

    #[test]
    fn days_are_those_of_the_tenants_zone() {
        let zone = TimeZone::get("America/New_York").expect("a zone");
        let days = OpenDays { calendar: &weekdays(), zone: &zone };
        assert!(!days.is_open_on(at("2024-05-06T03:00:00Z")), "Sunday evening");
        assert!(days.is_open_on(at("2024-05-11T03:00:00Z")), "Friday evening");
    }
}
