//! Overdue fines: the amount that a patron owes for an item that is returned or renewed after its due date.
//!
//! The overdue minutes are counted, those of closed hours only if the policy says so; within the grace period there is
//! no fine; otherwise started intervals are charged, up to the policy's maximum. Amounts are decimal.

mod minutes;
mod policy;
#[cfg(test)]
mod properties;

pub use policy::{FineRate, OverdueFinePolicy};

use crate::loan_policy::Period;
use crate::opening_hours::OpeningDays;
use carrel_records::Money;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A loan that is returned or renewed.
#[derive(Debug, Clone, Copy)]
pub struct OverdueLoan<'a> {
    pub due: Timestamp,
    /// When the item was returned, or the loan is renewed.
    pub until: Timestamp,
    /// A recall has changed the due date.
    pub was_recalled: bool,
    /// The grace period of the loan policy.
    pub grace_period: Option<&'a Period>,
}

/// The opening hours of the primary service point of the item's location.
#[derive(Clone, Copy)]
pub struct PrimaryServicePoint<'a> {
    pub calendar: &'a dyn OpeningDays,
    pub zone: &'a TimeZone,
}

impl OverdueLoan<'_> {
    /// Whether it is overdue by at least a millisecond.
    pub fn is_overdue(&self) -> bool {
        self.due.as_millisecond() < self.until.as_millisecond()
    }

    /// The fine by the policy: never negative, at most the policy's maximum if that is above zero. Without a service
    /// point all minutes count.
    pub fn fine(&self, policy: &OverdueFinePolicy, at: Option<PrimaryServicePoint<'_>>) -> Money {
        if !self.is_overdue() {
            return Money::ZERO;
        }
        let minutes = match at {
            Some(desk) if !policy.counts_closed_hours() => {
                minutes::open_between(desk.calendar, desk.zone, self.due, self.until)
            }
            _ => minutes::between(self.due, self.until),
        };
        policy.fine_for(self.after_grace_period(policy, minutes), self.was_recalled)
    }

    /// Within the grace period no minute counts, after it all minutes do.
    fn after_grace_period(&self, policy: &OverdueFinePolicy, minutes: u64) -> u64 {
        let applies = !(self.was_recalled && policy.ignores_grace_period_of_recalls());
        let grace = self.grace_period.filter(|_| applies).map_or(0, |period| period.elapsed().as_mins());
        if i64::try_from(minutes).is_ok_and(|minutes| minutes <= grace) { 0 } else { minutes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::due_date::fixtures::{at, weekdays};
    use crate::loan_policy::Interval;
    use serde_json::{Value, json};

    fn policy(differs: Value) -> OverdueFinePolicy {
        let mut policy = json!({
            "overdueFine": {"quantity": 0.25, "intervalId": "hour"}, "maxOverdueFine": 0,
            "overdueRecallFine": {"quantity": 1, "intervalId": "day"}, "maxOverdueRecallFine": 3,
            "countClosed": true, "gracePeriodRecall": false,
        });
        for (key, value) in differs.as_object().expect("an object") {
            policy[key] = value.clone();
        }
        OverdueFinePolicy::read(&policy)
    }

    fn loan(due: &str, until: &str) -> OverdueLoan<'static> {
        OverdueLoan { due: at(due), until: at(until), was_recalled: false, grace_period: None }
    }

    fn money(text: &str) -> Money {
        text.parse().expect("an amount")
    }

    /// From Monday, noon, until a later moment.
    fn since_monday_noon(until: &str) -> OverdueLoan<'static> {
        loan("2024-05-06T12:00:00Z", until)
    }

    #[test]
    fn fines_by_policy_and_time() {
        let table = [
            ("not overdue", json!({}), "2024-05-06T12:00:00Z", "0"),
            ("less than a minute", json!({}), "2024-05-06T12:00:59Z", "0"),
            ("a started hour counts", json!({}), "2024-05-06T12:01:00Z", "0.25"),
            ("just an hour", json!({}), "2024-05-06T13:00:59Z", "0.25"),
            ("an hour and a minute", json!({}), "2024-05-06T13:01:00Z", "0.50"),
            ("no maximum", json!({}), "2024-06-06T12:00:00Z", "186"),
            ("a maximum", json!({"maxOverdueFine": 10.5}), "2024-06-06T12:00:00Z", "10.50"),
            ("no quantity", json!({"overdueFine": {"intervalId": "hour"}}), "2024-06-06T12:00:00Z", "0"),
            ("no interval", json!({"overdueFine": {"quantity": 1}}), "2024-06-06T12:00:00Z", "0"),
            ("maximum absent", json!({"maxOverdueFine": null}), "2024-06-06T12:00:00Z", "0"),
            ("open until 17, from 9", json!({"countClosed": false}), "2024-05-07T10:00:00Z", "1.50"),
            ("closed since noon", json!({"countClosed": false}), "2024-05-06T11:00:00Z", "0"),
            ("over a weekend", json!({"countClosed": false}), "2024-05-13T00:00:00Z", "9.25"),
            ("closed absent: not counted", json!({"countClosed": null}), "2024-05-13T00:00:00Z", "9.25"),
        ];
        let (calendar, zone) = (weekdays(), TimeZone::UTC);
        let desk = PrimaryServicePoint { calendar: &calendar, zone: &zone };
        for (name, differs, until, expected) in table {
            let fine = since_monday_noon(until).fine(&policy(differs), Some(desk));
            assert_eq!(fine, money(expected), "{name}");
        }
    }

    #[test]
    fn without_a_primary_service_point_all_minutes_count() {
        let fine =
            since_monday_noon("2024-05-13T12:00:00Z").fine(&policy(json!({"countClosed": false})), None);
        assert_eq!(fine, money("42"));
    }

    #[test]
    fn every_interval_has_its_minutes() {
        let table = [
            ("minute", "525600"),
            ("hour", "8760"),
            ("day", "365"),
            ("week", "53"),
            ("month", "12"),
            ("year", "1"),
            ("fortnight", "0"),
        ];
        for (interval, expected) in table {
            let policy = policy(json!({"overdueFine": {"quantity": 1, "intervalId": interval}}));
            let fine = loan("2023-01-01T00:00:00Z", "2024-01-01T00:00:00Z").fine(&policy, None);
            assert_eq!(fine, money(expected), "{interval}");
        }
    }

    #[test]
    fn a_grace_period_forgives_all_or_nothing() {
        let grace = Period::of(2, Interval::Hours);
        let with_grace = |until| OverdueLoan { grace_period: Some(&grace), ..since_monday_noon(until) };
        assert_eq!(with_grace("2024-05-06T14:00:59Z").fine(&policy(json!({})), None), Money::ZERO);
        assert_eq!(with_grace("2024-05-06T14:01:00Z").fine(&policy(json!({})), None), money("0.75"));
    }

    #[test]
    fn a_recalled_loan_has_its_own_rate_and_maximum_and_may_have_no_grace_period() {
        let grace = Period::of(1, Interval::Weeks);
        let recalled = |until| OverdueLoan {
            was_recalled: true,
            grace_period: Some(&grace),
            ..since_monday_noon(until)
        };
        let ignores_grace = policy(json!({"gracePeriodRecall": true}));
        assert_eq!(recalled("2024-05-07T12:01:00Z").fine(&policy(json!({})), None), Money::ZERO);
        assert_eq!(recalled("2024-05-07T12:01:00Z").fine(&ignores_grace, None), money("2"));
        assert_eq!(recalled("2024-06-06T12:00:00Z").fine(&ignores_grace, None), money("3"));
        let none = policy(json!({"gracePeriodRecall": true, "overdueRecallFine": null}));
        assert_eq!(recalled("2024-05-07T12:01:00Z").fine(&none, None), Money::ZERO);
    }
}
