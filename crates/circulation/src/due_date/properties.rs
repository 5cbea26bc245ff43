//! What holds for every policy, calendar, date and zone.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::json;

use super::fixtures::weekly;
use super::{Circumstances, NewLoan, due_date_of_new_loan, proposed_for_new_loan};
use crate::calendar::ServicePointHours;
use crate::loan_policy::tests::policy;
use crate::loan_policy::{LoanPolicy, LoanTerms};

const STRATEGIES: [&str; 6] = [
    "CURRENT_DUE_DATE",
    "CURRENT_DUE_DATE_TIME",
    "END_OF_THE_PREVIOUS_OPEN_DAY",
    "END_OF_THE_NEXT_OPEN_DAY",
    "END_OF_THE_CURRENT_SERVICE_POINT_HOURS",
    "BEGINNING_OF_THE_NEXT_OPEN_SERVICE_POINT_HOURS",
];

fn zone() -> impl Strategy<Value = TimeZone> {
    prop::sample::select(vec!["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
        .prop_map(|name| TimeZone::get(name).unwrap())
}

/// A calendar with at least one open weekday.
fn hours() -> impl Strategy<Value = ServicePointHours> {
    let days = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"];
    let times = prop::sample::select(vec![
        ("09:00", "17:00"),
        ("00:00", "23:59"),
        ("00:00", "02:00"),
        ("18:00", "23:59"),
    ]);
    prop::collection::vec((prop::sample::select(days.to_vec()), times), 1..7).prop_map(|mut hours| {
        hours.sort();
        hours.dedup_by_key(|(day, _)| *day);
        weekly(&hours.into_iter().map(|(day, (from, to))| (day, from, to)).collect::<Vec<_>>())
    })
}

fn rolling(duration: i64, interval: &str, strategy: &str) -> LoanPolicy {
    policy(json!({"loansPolicy": {
        "profileId": "Rolling", "closedLibraryDueDateManagementId": strategy,
        "period": {"duration": duration, "intervalId": interval}
    }}))
}

// Seconds of 2023 to 2026, which hold all changes of clocks in the zones above.
fn loan_date() -> impl Strategy<Value = Timestamp> {
    (1_672_531_200i64..1_798_761_600).prop_map(|second| Timestamp::from_second(second).unwrap())
}

fn interval() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["Minutes", "Hours", "Days", "Weeks", "Months"])
}

fn terms(policy: &LoanPolicy) -> LoanTerms<'_> {
    LoanTerms { policy, schedule: None, alternate_renewal_schedule: None }
}

proptest! {
    #[test]
    fn a_loan_is_never_due_before_its_loan_date(duration in 1i64..60, interval in interval(), loan_date in loan_date()) {
        let policy = rolling(duration, interval, "CURRENT_DUE_DATE");
        let loan = NewLoan { loan_date, hold_is_pending: false };
        prop_assert!(proposed_for_new_loan(&terms(&policy), &loan).unwrap() > loan_date);
    }

    #[test]
    fn only_the_strategy_that_goes_back_a_day_makes_a_loan_due_before_its_loan_date(
        duration in 1i64..30, interval in interval(), loan_date in loan_date(), zone in zone(), hours in hours(), strategy in 0usize..6
    ) {
        let policy = rolling(duration, interval, STRATEGIES[strategy]);
        let loan = NewLoan { loan_date, hold_is_pending: false };
        let here = Circumstances { now: loan_date, zone: &zone, calendar: &hours, patron_expires: None };
        if let Ok(due) = due_date_of_new_loan(&terms(&policy), &loan, &here) {
            prop_assert!(due.at >= loan_date || STRATEGIES[strategy] == "END_OF_THE_PREVIOUS_OPEN_DAY");
        }
    }

    #[test]
    fn no_loan_is_due_on_a_closed_day_where_the_strategy_says_so(
        duration in 1i64..60, interval in interval(), loan_date in loan_date(), zone in zone(), hours in hours(), strategy in 2usize..4
    ) {
        let policy = rolling(duration, interval, STRATEGIES[strategy]);
        let loan = NewLoan { loan_date, hold_is_pending: false };
        let here = Circumstances { now: loan_date, zone: &zone, calendar: &hours, patron_expires: None };
        let due = due_date_of_new_loan(&terms(&policy), &loan, &here).unwrap().at.to_zoned(zone.clone());
        prop_assert!(hours.opening_of(due.date()).open, "{due}");
        prop_assert_eq!(due.strftime("%H:%M:%S").to_string(), "23:59:59");
    }

    #[test]
    fn short_loans_are_due_within_open_hours_or_as_they_end(
        duration in 1i64..48, loan_date in loan_date(), zone in zone(), hours in hours(), strategy in 4usize..6
    ) {
        let policy = rolling(duration, "Hours", STRATEGIES[strategy]);
        let loan = NewLoan { loan_date, hold_is_pending: false };
        let here = Circumstances { now: loan_date, zone: &zone, calendar: &hours, patron_expires: None };
        if let Ok(due) = due_date_of_new_loan(&terms(&policy), &loan, &here) {
            let just_before = (due.at - SignedDuration::from_millis(1)).to_zoned(zone.clone());
            let at = due.at.to_zoned(zone.clone());
            let open_at = |moment: &jiff::Zoned| {
                let day = hours.opening_of(moment.date());
                day.open && (day.all_day || day.openings.iter().any(|hours| {
                    hours.start_time <= moment.time() && moment.time() < hours.end_time
                }))
            };
            prop_assert!(open_at(&at) || open_at(&just_before), "{}", at);
        }
    }

    #[test]
    fn nothing_is_due_after_the_account_expires(
        duration in 1i64..60, interval in interval(), loan_date in loan_date(), zone in zone(), hours in hours(), strategy in 0usize..6, left in 1i64..5000
    ) {
        let policy = rolling(duration, interval, STRATEGIES[strategy]);
        let loan = NewLoan { loan_date, hold_is_pending: false };
        let expires = loan_date + SignedDuration::from_mins(left);
        let here = Circumstances { now: loan_date, zone: &zone, calendar: &hours, patron_expires: Some(expires) };
        if let Ok(due) = due_date_of_new_loan(&terms(&policy), &loan, &here) {
            prop_assert!(due.at <= expires);
        }
    }
}
