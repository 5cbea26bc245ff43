//! Properties that hold for every policy, calendar, date and zone.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::json;

use super::fixtures::weekly;
use super::{
    Circumstances, NewLoan, RecallMoment, RecalledLoan, Renewal, due_date_after_recall, due_date_of_new_loan,
    due_date_of_renewal, proposed_for_new_loan,
};
use crate::loan_policy::tests::{policy, schedule};
use crate::loan_policy::{LoanPolicy, LoanTerms};
use crate::opening_hours::ServicePointHours;

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

// Seconds of 2023 to 2026, which include all clock changes of the zones above.
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

    #[test]
    fn renewed_and_recalled_loans_are_not_due_on_a_closed_day_either(
        duration in 1i64..60, interval in interval(), now in loan_date(), zone in zone(), hours in hours(), strategy in 2usize..4, left in -5000i64..5000
    ) {
        let period = json!({"duration": duration, "intervalId": interval});
        let policy = policy(json!({
            "renewable": true,
            "loansPolicy": {"profileId": "Rolling", "period": period,
                "closedLibraryDueDateManagementId": STRATEGIES[strategy]},
            "renewalsPolicy": {"unlimited": true, "renewFromId": "SYSTEM_DATE"},
            "requestManagement": {"recalls": {"recallReturnInterval": period, "allowRecallsToExtendOverdueLoans": true}}
        }));
        let here = Circumstances { now, zone: &zone, calendar: &hours, patron_expires: None };
        let due_date = now + SignedDuration::from_mins(left);
        let renewal = Renewal { due_date, first_request_is_hold: false };
        let renewed = due_date_of_renewal(&terms(&policy), &renewal, &here).ok();
        let loan = RecalledLoan { loan_date: now, due_date, already_recalled: false };
        let recalled = due_date_after_recall(&terms(&policy), &loan, RecallMoment::OnLoan, &here).unwrap();
        prop_assert!(recalled.is_some());
        for due in [renewed, recalled].into_iter().flatten() {
            let due = due.at.to_zoned(zone.clone());
            prop_assert!(hours.opening_of(due.date()).open, "{due}");
            prop_assert_eq!(due.strftime("%H:%M:%S").to_string(), "23:59:59");
        }
    }

    #[test]
    fn moving_to_the_next_open_day_does_not_leave_the_schedule(
        duration in 1i64..60, loan_date in loan_date(), zone in zone(), hours in hours(), until in 30i64..60
    ) {
        let policy = rolling(duration, "Days", "END_OF_THE_NEXT_OPEN_DAY");
        let last = loan_date + SignedDuration::from_hours(24 * until);
        let span = [loan_date - SignedDuration::from_hours(1), last, last].map(|moment| moment.to_string());
        let spans = schedule(&[span.each_ref().map(String::as_str)]);
        let terms = LoanTerms { schedule: Some(&spans), ..terms(&policy) };
        let loan = NewLoan { loan_date, hold_is_pending: false };
        let here = Circumstances { now: loan_date, zone: &zone, calendar: &hours, patron_expires: None };
        let due = due_date_of_new_loan(&terms, &loan, &here).unwrap().at.to_zoned(zone.clone());
        prop_assert!(due.date() <= last.to_zoned(zone.clone()).date(), "{due}");
        prop_assert!(hours.opening_of(due.date()).open, "{due}");
    }

    #[test]
    fn a_loan_of_months_ends_on_its_day_of_the_month_or_on_the_last_one(
        months in 1i64..30, loan_date in loan_date()
    ) {
        let policy = rolling(months, "Months", "CURRENT_DUE_DATE_TIME");
        let loan = NewLoan { loan_date, hold_is_pending: false };
        let due = proposed_for_new_loan(&terms(&policy), &loan).unwrap().to_zoned(TimeZone::UTC);
        let began = loan_date.to_zoned(TimeZone::UTC);
        let months_later = i64::from(due.year() - began.year()) * 12 + i64::from(due.month() - began.month());
        prop_assert_eq!(months_later, months);
        prop_assert_eq!(due.day(), began.day().min(due.days_in_month()));
        prop_assert_eq!(due.time(), began.time());
    }

    #[test]
    fn a_day_ends_a_second_before_midnight_also_when_the_clocks_change(
        duration in 1i64..60, loan_date in loan_date(), zone in zone()
    ) {
        let policy = rolling(duration, "Days", "CURRENT_DUE_DATE");
        let hours = weekly(&[("MONDAY", "09:00", "17:00")]);
        let loan = NewLoan { loan_date, hold_is_pending: false };
        let here = Circumstances { now: loan_date, zone: &zone, calendar: &hours, patron_expires: None };
        let proposed = proposed_for_new_loan(&terms(&policy), &loan).unwrap().to_zoned(zone.clone());
        let due = due_date_of_new_loan(&terms(&policy), &loan, &here).unwrap().at.to_zoned(zone.clone());
        prop_assert_eq!(due.date(), proposed.date());
        prop_assert_eq!(due.strftime("%H:%M:%S").to_string(), "23:59:59");
        let midnight = due.date().tomorrow().unwrap().to_zoned(zone.clone()).unwrap();
        prop_assert_eq!(midnight.timestamp().as_second() - due.timestamp().as_second(), 1);
    }
}
