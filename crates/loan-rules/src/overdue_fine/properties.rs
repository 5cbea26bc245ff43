//! Properties of the fine that hold for every policy, calendar and time.

use super::{OverdueFinePolicy, OverdueLoan, PrimaryServicePoint};
use crate::due_date::fixtures::{weekdays, weekly};
use crate::loan_policy::{Interval, Period};
use carrel_records::Money;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::json;

fn policy() -> impl Strategy<Value = OverdueFinePolicy> {
    let interval = prop::sample::select(vec!["minute", "hour", "day", "week", "month", "year"]);
    (0i64..2000, interval, prop::option::of(0i64..5000), any::<bool>(), any::<bool>()).prop_map(
        |(thousandths, interval, maximum, count_closed, ignores_grace)| {
            let rate = json!({"quantity": thousandths as f64 / 1000.0, "intervalId": interval});
            let maximum = maximum.map(|cents| Money::of_cents(cents).to_json());
            OverdueFinePolicy::read(&json!({
                "overdueFine": rate, "overdueRecallFine": rate, "maxOverdueFine": maximum,
                "maxOverdueRecallFine": maximum, "countClosed": count_closed, "gracePeriodRecall": ignores_grace,
            }))
        },
    )
}

// Seconds of 2023 to 2026, which include all clock changes of the zones below.
fn moment() -> impl Strategy<Value = Timestamp> {
    (1_672_531_200i64..1_798_761_600).prop_map(|second| Timestamp::from_second(second).unwrap())
}

fn zone() -> impl Strategy<Value = TimeZone> {
    prop::sample::select(vec!["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
        .prop_map(|name| TimeZone::get(name).unwrap())
}

proptest! {
    #[test]
    fn a_fine_is_never_negative_never_above_the_maximum_and_grows_with_time(
        policy in policy(),
        due in moment(),
        first in 0i64..100_000_000,
        second in 0i64..100_000_000,
        was_recalled in any::<bool>(),
        grace in 0i64..100,
        at_night in any::<bool>(),
        zone in zone(),
    ) {
        let grace = Period::of(grace, Interval::Hours);
        let calendar = if at_night { weekly(&[("SATURDAY", "00:00", "03:30")]) } else { weekdays() };
        let desk = PrimaryServicePoint { calendar: &calendar, zone: &zone };
        let fine = |seconds: i64| {
            let until = due + SignedDuration::from_secs(seconds);
            OverdueLoan { due, until, was_recalled, grace_period: Some(&grace) }.fine(&policy, Some(desk))
        };
        let (sooner, later) = (fine(first.min(second)), fine(first.max(second)));
        prop_assert!(Money::ZERO <= sooner && sooner <= later, "{sooner} {later}");
        if let Some(maximum) = policy.max_overdue_fine.filter(|maximum| maximum.is_positive()) {
            prop_assert!(later <= maximum);
        }
        prop_assert_eq!(fine(0), Money::ZERO);
    }
}
