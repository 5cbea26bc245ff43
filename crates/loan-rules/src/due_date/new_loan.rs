//! The due date of a new loan.

use carrel_records::Refusal;
use jiff::Timestamp;

use super::adjustment::adjusted;
use super::{Circumstances, DueDate, ZONE_OF_LOAN_PERIODS};
use crate::loan_policy::{FixedDueDateSchedule, LoanTerms, Period, Profile};

/// The inputs of the due date of a new loan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewLoan {
    pub loan_date: Timestamp,
    /// Whether an unfilled hold waits for this item or for any item of its instance.
    pub hold_is_pending: bool,
}

const OUTSIDE_SCHEDULE: &str = "loan date falls outside of the date ranges in the loan policy";

/// The due date of a new loan, adjusted to opening hours, schedule and patron expiration.
pub fn due_date_of_new_loan(
    terms: &LoanTerms,
    loan: &NewLoan,
    circumstances: &Circumstances,
) -> Result<DueDate, Refusal> {
    let proposed = proposed_for_new_loan(terms, loan)?;
    let limit = limit_at(terms, loan.loan_date);
    // The hours at the loan date count as current, even if the loan is entered later.
    let as_it_began = Circumstances { now: loan.loan_date, ..*circumstances };
    let due = adjusted(terms.policy, proposed, limit, &as_it_began)?;
    let changed_by_hold =
        terms.policy.profile() == Profile::Rolling && alternate_period(terms, loan).is_some();
    Ok(DueDate { changed_by_hold, ..due })
}

/// The date by the policy, before opening hours (mod-circulation `LoanPolicy`, "initial due date").
pub fn proposed_for_new_loan(terms: &LoanTerms, loan: &NewLoan) -> Result<Timestamp, Refusal> {
    let for_hold = alternate_period(terms, loan);
    match terms.policy.profile() {
        Profile::Rolling => rolled(terms, loan, for_hold.or(terms.policy.loan_period())),
        Profile::Fixed if for_hold.is_some() => rolled(terms, loan, for_hold),
        Profile::Fixed => terms
            .schedule
            .and_then(|schedule| schedule.due_date_for(loan.loan_date))
            .ok_or_else(|| terms.policy.refusal(OUTSIDE_SCHEDULE)),
        Profile::Unknown(id) => {
            Err(terms.policy.refusal(format!("profile \"{id}\" in the loan policy is not recognised")))
        }
    }
}

/// The date of the schedule for a moment, which due dates of new and recalled loans must not exceed.
pub(super) fn limit_at(terms: &LoanTerms, moment: Timestamp) -> Option<Timestamp> {
    match terms.policy.profile() {
        Profile::Rolling | Profile::Fixed => terms.schedule?.due_date_for(moment),
        Profile::Unknown(_) => None,
    }
}

/// The earlier of a date and the schedule's date; `None` if the moment is outside the schedule.
pub(super) fn truncated(
    date: Timestamp,
    schedule: Option<&FixedDueDateSchedule>,
    moment: Timestamp,
) -> Option<Timestamp> {
    match schedule {
        None => Some(date),
        Some(schedule) => Some(date.min(schedule.due_date_for(moment)?)),
    }
}

fn alternate_period<'a>(terms: &LoanTerms<'a>, loan: &NewLoan) -> Option<&'a Period> {
    if !loan.hold_is_pending {
        return None;
    }
    terms.policy.holds()?.alternate_checkout_loan_period.as_ref()
}

fn rolled(terms: &LoanTerms, loan: &NewLoan, period: Option<&Period>) -> Result<Timestamp, Refusal> {
    let due = period
        .unwrap_or(&Period::default())
        .after(loan.loan_date, &ZONE_OF_LOAN_PERIODS)
        .map_err(|fault| terms.policy.refusal(fault.in_the_loan_policy()))?;
    truncated(due, terms.schedule, loan.loan_date).ok_or_else(|| terms.policy.refusal(OUTSIDE_SCHEDULE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::due_date::fixtures::{at, circumstances, weekdays};
    use crate::loan_policy::tests::{policy, schedule};
    use serde_json::{Value, json};

    fn three_weeks() -> Value {
        json!({"profileId": "Rolling", "period": {"duration": 3, "intervalId": "Weeks"}})
    }

    fn with_hold_period(loans: Value) -> Value {
        json!({"loansPolicy": loans, "requestManagement": {"holds":
            {"alternateCheckoutLoanPeriod": {"duration": 2, "intervalId": "Days"}}}})
    }

    fn proposed(
        record: Value,
        schedule: Option<&FixedDueDateSchedule>,
        hold_is_pending: bool,
    ) -> Result<Timestamp, String> {
        let policy = policy(record);
        let terms = LoanTerms { policy: &policy, schedule, alternate_renewal_schedule: None };
        let loan = NewLoan { loan_date: at("2024-05-06T10:00:00Z"), hold_is_pending };
        proposed_for_new_loan(&terms, &loan).map_err(|refusal| refusal.message)
    }

    #[test]
    fn a_loan_that_is_entered_days_later_ends_with_the_hours_in_which_it_began() {
        let policy = policy(json!({"loansPolicy": {
            "profileId": "Rolling", "period": {"duration": 2, "intervalId": "Hours"},
            "closedLibraryDueDateManagementId": "END_OF_THE_CURRENT_SERVICE_POINT_HOURS"
        }}));
        let terms = LoanTerms { policy: &policy, schedule: None, alternate_renewal_schedule: None };
        // 2024-05-10 is a Friday; the library closes at 17.
        let loan = NewLoan { loan_date: at("2024-05-10T16:00:00Z"), hold_is_pending: false };
        let hours = weekdays();
        let due = due_date_of_new_loan(&terms, &loan, &circumstances("2024-05-15T10:00:00Z", &hours));
        assert_eq!(due.map(|due| due.at), Ok(at("2024-05-10T17:00:00Z")));
    }

    #[test]
    fn policies_roll_from_the_loan_date_or_name_a_date() {
        let may = schedule(&[["2024-05-01T00:00:00Z", "2024-05-31T23:59:59Z", "2024-06-15T23:59:59Z"]]);
        let early = schedule(&[["2024-05-01T00:00:00Z", "2024-05-31T23:59:59Z", "2024-05-07T23:59:59Z"]]);
        let april = schedule(&[["2024-04-01T00:00:00Z", "2024-04-30T23:59:59Z", "2024-06-15T23:59:59Z"]]);
        let observability = || Err(OUTSIDE_SCHEDULE.to_string());
        let fixed = || json!({"profileId": "Fixed"});
        let rolling = || json!({"loansPolicy": three_weeks()});
        let table = [
            ("rolling", rolling(), None, false, Ok("2024-05-27T10:00:00Z")),
            ("rolling, limit far", rolling(), Some(&may), false, Ok("2024-05-27T10:00:00Z")),
            ("rolling, limit near", rolling(), Some(&early), false, Ok("2024-05-07T23:59:59Z")),
            ("rolling, no limit for the date", rolling(), Some(&april), false, observability()),
            ("fixed", json!({"loansPolicy": fixed()}), Some(&may), false, Ok("2024-06-15T23:59:59Z")),
            ("fixed, no date", json!({"loansPolicy": fixed()}), Some(&april), false, observability()),
            ("fixed, no schedule", json!({"loansPolicy": fixed()}), None, false, observability()),
            ("hold waits", with_hold_period(three_weeks()), None, true, Ok("2024-05-08T10:00:00Z")),
            ("no hold waits", with_hold_period(three_weeks()), None, false, Ok("2024-05-27T10:00:00Z")),
            ("hold, no own period", rolling(), None, true, Ok("2024-05-27T10:00:00Z")),
            (
                "hold, limit near",
                with_hold_period(three_weeks()),
                Some(&early),
                true,
                Ok("2024-05-07T23:59:59Z"),
            ),
            ("fixed, hold waits", with_hold_period(fixed()), Some(&may), true, Ok("2024-05-08T10:00:00Z")),
        ];
        for (name, record, schedule, hold, expected) in table {
            assert_eq!(proposed(record, schedule, hold), expected.map(at), "{name}");
        }
    }

    #[test]
    fn a_policy_that_gives_no_date_is_refused_by_name() {
        let period = |period: Value| json!({"loansPolicy": {"profileId": "Rolling", "period": period}});
        let table = [
            (json!({}), "profile \"\" in the loan policy is not recognised"),
            (
                json!({"loansPolicy": {"profileId": "X"}}),
                "profile \"X\" in the loan policy is not recognised",
            ),
            (period(json!(null)), "the loan period in the loan policy is not recognised"),
            (
                period(json!({"duration": 1, "intervalId": "Y"})),
                "the interval \"Y\" in the loan policy is not recognised",
            ),
            (
                period(json!({"duration": -1, "intervalId": "Days"})),
                "the duration \"-1\" in the loan policy is invalid",
            ),
        ];
        for (record, message) in table {
            assert_eq!(proposed(record, None, false), Err(message.to_string()));
        }
    }

    #[test]
    fn only_a_rolling_loan_tells_that_a_hold_changed_its_due_date() {
        let may = schedule(&[["2024-05-01T00:00:00Z", "2024-05-31T23:59:59Z", "2024-06-15T23:59:59Z"]]);
        let hours = weekdays();
        for (loans, hold_is_pending, expected) in [
            (three_weeks(), true, true),
            (three_weeks(), false, false),
            (json!({"profileId": "Fixed"}), true, false),
        ] {
            let policy = policy(with_hold_period(loans));
            let terms = LoanTerms { policy: &policy, schedule: Some(&may), alternate_renewal_schedule: None };
            let loan = NewLoan { loan_date: at("2024-05-06T10:00:00Z"), hold_is_pending };
            let due = due_date_of_new_loan(&terms, &loan, &circumstances("2024-05-06T10:00:00Z", &hours));
            assert_eq!(due.unwrap().changed_by_hold, expected);
        }
    }

    #[test]
    fn the_month_after_the_last_day_of_january_ends_in_february() {
        let policy = policy(json!({"loansPolicy": {
            "profileId": "Rolling", "period": {"duration": 1, "intervalId": "Months"}}}));
        let terms = LoanTerms { policy: &policy, schedule: None, alternate_renewal_schedule: None };
        let hours = weekdays();
        let loan = NewLoan { loan_date: at("2023-01-31T10:00:00Z"), hold_is_pending: false };
        let due =
            due_date_of_new_loan(&terms, &loan, &circumstances("2023-01-31T10:00:00Z", &hours)).unwrap();
        assert_eq!(due.at, at("2023-02-28T23:59:59Z"));
    }
}
