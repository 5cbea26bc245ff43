//! Validation of loan policies and schedules, with the texts of mod-circulation-storage.

use carrel_records::{Refusal, time};
use serde_json::json;

use super::{FixedDueDateSchedule, LoanPolicy, Period, Profile, Schedule};

/// The first reason why a loan policy cannot be saved (mod-circulation-storage `LoanPoliciesAPI`).
pub fn check_policy(policy: &LoanPolicy) -> Result<(), Refusal> {
    refuse_if_alternate_schedule_does_not_fit(policy)
        .or_else(|| refuse_if_schedule_is_missing(policy))
        .or_else(|| refuse_if_fixed_with_alternate_period_for_holds(policy))
        .or_else(|| refuse_if_fixed_with_renewal_period(policy))
        .map_or(Ok(()), Err)
}

/// Why a schedule cannot be saved; of several invalid ranges the last one is reported, as in FOLIO.
pub fn check_schedule(schedule: &FixedDueDateSchedule) -> Result<(), Refusal> {
    schedule.schedules.iter().rev().find_map(refuse_if_dates_are_out_of_order).map_or(Ok(()), Err)
}

fn refuse_if_alternate_schedule_does_not_fit(policy: &LoanPolicy) -> Option<Refusal> {
    let renewals = policy.renewals_policy.as_ref()?;
    let renews_differently = policy.is_renewable() && policy.renews_differently();
    let alternate = renewals.alternate_fixed_due_date_schedule_id.as_deref();
    let missing = renews_differently && policy.profile() == Profile::Fixed && alternate.is_none();
    let superfluous = !renews_differently && alternate.is_some();
    (missing || superfluous).then(|| {
        let alternate = alternate.unwrap_or("null");
        let profile = policy.loans_policy.as_ref().and_then(|loans| loans.profile_id.as_deref());
        Refusal::new(format!(
            "Alternate fixed due date cannot be {alternate} if renewable is {}, different period is {} and profile is {}",
            or_null(policy.renewable),
            or_null(renewals.different_period),
            profile.unwrap_or("null")
        ))
        .with("alternateFixedDueDateScheduleId", alternate)
        .of_storage()
    })
}

fn refuse_if_schedule_is_missing(policy: &LoanPolicy) -> Option<Refusal> {
    let loans = policy.loans_policy.as_ref()?;
    // FOLIO quirk: a policy that is not loanable but has loan settings needs a schedule, whatever its profile.
    let needed = !policy.is_loanable() || policy.profile() == Profile::Fixed;
    (needed && loans.fixed_due_date_schedule_id.is_none()).then(|| {
        Refusal::new(format!(
            "Fixed due date cannot be null if loanable is {} and profile is of type fixed",
            or_null(policy.loanable)
        ))
        .with("fixedDueDateScheduleId", "null")
        .of_storage()
    })
}

fn refuse_if_fixed_with_alternate_period_for_holds(policy: &LoanPolicy) -> Option<Refusal> {
    let holds = policy.holds()?;
    let period = holds.alternate_renewal_loan_period.as_ref()?;
    (is_fixed_and_renewable(policy) && holds.renew_items_with_request == Some(true)).then(|| {
        Refusal::new("Alternate Renewal Loan Period for Holds is not allowed for policies with Fixed profile")
            .with("alternateRenewalLoanPeriod", shown(period))
            .of_storage()
    })
}

fn refuse_if_fixed_with_renewal_period(policy: &LoanPolicy) -> Option<Refusal> {
    let period = policy.renewals_policy.as_ref()?.period.as_ref()?;
    (is_fixed_and_renewable(policy) && policy.renews_differently()).then(|| {
        Refusal::new("Period in RenewalsPolicy is not allowed for policies with Fixed profile")
            .with("period", shown(period))
            .of_storage()
    })
}

fn refuse_if_dates_are_out_of_order(schedule: &Schedule) -> Option<Refusal> {
    let Schedule { from, to, due } = *schedule;
    let (key, date, which) = if from > due {
        ("from", from, "from date after due date")
    } else if from > to {
        ("from", from, "from date after to date")
    } else if to > due {
        ("to", to, "to date after due date")
    } else {
        return None;
    };
    let message = format!("Unable to save fixed loan date. Date range not valid {which}");
    Some(Refusal::new(message).with(key, time::format(date)).of_storage())
}

fn is_fixed_and_renewable(policy: &LoanPolicy) -> bool {
    policy.profile() == Profile::Fixed && policy.is_renewable()
}

fn or_null(flag: Option<bool>) -> String {
    flag.map_or("null".into(), |flag| flag.to_string())
}

fn shown(period: &Period) -> String {
    json!(period).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loan_policy::fixed_due_date_schedule::tests::schedule;
    use crate::loan_policy::tests::policy;
    use serde_json::{Value, json};

    fn refused(record: Value) -> (String, String) {
        let refusal = check_policy(&policy(record)).unwrap_err();
        (refusal.message, refusal.parameters[0].0.clone())
    }

    #[test]
    fn usual_policies_may_be_saved() {
        let week = json!({"duration": 1, "intervalId": "Weeks"});
        for record in [
            json!({"loanable": true, "renewable": true, "loansPolicy": {"profileId": "Rolling", "period": week},
                "renewalsPolicy": {"differentPeriod": true, "period": week}}),
            json!({"loanable": true, "renewable": true, "loansPolicy": {"profileId": "Fixed", "fixedDueDateScheduleId": "s"},
                "renewalsPolicy": {"differentPeriod": true, "alternateFixedDueDateScheduleId": "a"}}),
            json!({"loanable": false, "renewable": false}),
        ] {
            assert_eq!(check_policy(&policy(record.clone())), Ok(()), "{record}");
        }
    }

    #[test]
    fn a_fixed_policy_needs_a_schedule() {
        let expected = |loanable: &str| {
            let message = format!(
                "Fixed due date cannot be null if loanable is {loanable} and profile is of type fixed"
            );
            (message, "fixedDueDateScheduleId".to_string())
        };
        assert_eq!(
            refused(json!({"loanable": true, "loansPolicy": {"profileId": "Fixed"}})),
            expected("true")
        );
        assert_eq!(
            refused(json!({"loanable": false, "loansPolicy": {"profileId": "Rolling"}})),
            expected("false")
        );
    }

    #[test]
    fn an_alternate_schedule_fits_the_renewal_settings() {
        let expected = |rest: &str| {
            (
                format!("Alternate fixed due date cannot be {rest}"),
                "alternateFixedDueDateScheduleId".to_string(),
            )
        };
        assert_eq!(
            refused(json!({"loanable": true, "renewable": true, "renewalsPolicy": {"differentPeriod": true},
                "loansPolicy": {"profileId": "Fixed", "fixedDueDateScheduleId": "s"}})),
            expected("null if renewable is true, different period is true and profile is Fixed")
        );
        assert_eq!(
            refused(json!({"loanable": true, "renewable": false, "loansPolicy": {"profileId": "Rolling"},
                "renewalsPolicy": {"alternateFixedDueDateScheduleId": "a"}})),
            expected("a if renewable is false, different period is null and profile is Rolling")
        );
    }

    #[test]
    fn a_fixed_policy_has_no_periods_of_its_own() {
        let week = json!({"duration": 1, "intervalId": "Weeks"});
        let fixed = |more: Value| {
            let mut record = json!({"loanable": true, "renewable": true,
                "loansPolicy": {"profileId": "Fixed", "fixedDueDateScheduleId": "s"}});
            record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            refused(record)
        };
        assert_eq!(
            fixed(
                json!({"requestManagement": {"holds": {"renewItemsWithRequest": true, "alternateRenewalLoanPeriod": week}}})
            ),
            (
                "Alternate Renewal Loan Period for Holds is not allowed for policies with Fixed profile"
                    .to_string(),
                "alternateRenewalLoanPeriod".to_string()
            )
        );
        assert_eq!(
            fixed(
                json!({"renewalsPolicy": {"differentPeriod": true, "period": week, "alternateFixedDueDateScheduleId": "a"}})
            ),
            (
                "Period in RenewalsPolicy is not allowed for policies with Fixed profile".to_string(),
                "period".to_string()
            )
        );
    }

    #[test]
    fn the_dates_of_a_schedule_follow_one_another() {
        let (one, two, three) = ("2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z");
        let refused =
            |spans: &[[&str; 3]]| check_schedule(&schedule(spans)).err().map(|refusal| refusal.message);
        let text = |which| Some(format!("Unable to save fixed loan date. Date range not valid {which}"));
        assert_eq!(refused(&[[one, two, three], [one, one, one]]), None);
        assert_eq!(refused(&[[two, three, one]]), text("from date after due date"));
        assert_eq!(refused(&[[two, one, three]]), text("from date after to date"));
        assert_eq!(refused(&[[one, three, two]]), text("to date after due date"));
        assert_eq!(
            refused(&[[two, three, one], [two, one, three], [one, two, three]]),
            text("from date after to date")
        );
    }
}
