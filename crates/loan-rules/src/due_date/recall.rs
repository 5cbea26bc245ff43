//! The due date of a loan whose item is recalled by another patron.

use carrel_records::Refusal;
use jiff::Timestamp;

use super::adjustment::adjusted;
use super::new_loan::limit_at;
use super::{Circumstances, DueDate, ZONE_OF_LOAN_PERIODS};
use crate::loan_policy::{LoanTerms, Period, Recalls};

/// The inputs of the due date of a recalled loan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecalledLoan {
    pub loan_date: Timestamp,
    pub due_date: Timestamp,
    /// The loan's `dueDateChangedByRecall`.
    pub already_recalled: bool,
}

/// When the recall affects the loan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecallMoment {
    /// The item is on loan and the recall is placed, moved or edited.
    OnLoan,
    /// The item is being checked out while the recall already waits.
    AtCheckOut,
}

/// The due date after a recall; `None` if an earlier recall already changed it.
///
/// With a date, the loan counts as changed by recall, even if the date stays the same, and its reminders start again
/// (mod-circulation `LoanPolicy`, "recall").
pub fn due_date_after_recall(
    terms: &LoanTerms,
    loan: &RecalledLoan,
    moment: RecallMoment,
    circumstances: &Circumstances,
) -> Result<Option<DueDate>, Vec<Refusal>> {
    if loan.already_recalled {
        return Ok(None);
    }
    let proposed = proposed(terms, loan, circumstances.now)?;
    // FOLIO quirk: for an item on loan, the schedule for the new due date applies, not the one for the loan date.
    let limit = match moment {
        RecallMoment::OnLoan => limit_at(terms, proposed),
        RecallMoment::AtCheckOut => limit_at(terms, loan.loan_date),
    };
    adjusted(terms.policy, proposed, limit, circumstances).map(Some).map_err(|refusal| vec![refusal])
}

fn proposed(terms: &LoanTerms, loan: &RecalledLoan, now: Timestamp) -> Result<Timestamp, Vec<Refusal>> {
    let none = Recalls::default();
    let recalls = terms.policy.recalls().unwrap_or(&none);
    let may_extend = recalls.allow_recalls_to_extend_overdue_loans == Some(true);
    let overdue = loan.due_date < now;

    let (setting, interval) = match &recalls.alternate_recall_return_interval {
        Some(alternate) if overdue && may_extend => ("alternateRecallReturnInterval", Some(alternate)),
        _ => ("recallReturnInterval", recalls.recall_return_interval.as_ref()),
    };
    let candidate = date_by(terms, setting, interval, now);
    let guarantee = recalls.minimum_guaranteed_loan_period.as_ref();
    let guaranteed = date_by(terms, "minimumGuaranteedLoanPeriod", guarantee, loan.loan_date);
    let (candidate, guaranteed) = match (candidate, guaranteed) {
        (Ok(candidate), Ok(guaranteed)) => (candidate.unwrap_or(now), guaranteed),
        (candidate, guaranteed) => return Err(candidate.err().into_iter().chain(guaranteed.err()).collect()),
    };

    if !may_extend && (overdue || candidate > loan.due_date) {
        return Ok(loan.due_date);
    }
    Ok(guaranteed.map_or(candidate, |guaranteed| candidate.max(guaranteed)))
}

fn date_by(
    terms: &LoanTerms,
    setting: &str,
    period: Option<&Period>,
    from: Timestamp,
) -> Result<Option<Timestamp>, Refusal> {
    period
        .map(|period| period.after(from, &ZONE_OF_LOAN_PERIODS))
        .transpose()
        .map_err(|fault| terms.policy.refusal(fault.in_recall_setting(setting)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::due_date::fixtures::{at, circumstances, weekdays};
    use crate::loan_policy::tests::{policy, schedule};
    use serde_json::{Value, json};

    const LOANED: &str = "2024-05-01T10:00:00Z";

    fn recalled(recalls: Value, due: &str, now: &str) -> Result<Option<Timestamp>, Vec<String>> {
        let policy = policy(json!({
            "loansPolicy": {"profileId": "Rolling", "closedLibraryDueDateManagementId": "CURRENT_DUE_DATE_TIME"},
            "requestManagement": {"recalls": recalls}
        }));
        let terms = LoanTerms { policy: &policy, schedule: None, alternate_renewal_schedule: None };
        let loan = RecalledLoan { loan_date: at(LOANED), due_date: at(due), already_recalled: false };
        let hours = weekdays();
        due_date_after_recall(&terms, &loan, RecallMoment::OnLoan, &circumstances(now, &hours))
            .map(|due| due.map(|due| due.at))
            .map_err(|refusals| refusals.into_iter().map(|refusal| refusal.message).collect())
    }

    #[test]
    fn a_recall_shortens_the_loan_but_not_below_the_guarantee() {
        let days = |n: i64| json!({"duration": n, "intervalId": "Days"});
        let (due, now) = ("2024-05-22T10:00:00Z", "2024-05-03T08:00:00Z");
        let overdue = "2024-05-25T08:00:00Z";
        let table = [
            ("no settings", json!({}), now, "2024-05-03T08:00:00Z"),
            ("return interval", json!({"recallReturnInterval": days(7)}), now, "2024-05-10T08:00:00Z"),
            (
                "guarantee is later",
                json!({"recallReturnInterval": days(1), "minimumGuaranteedLoanPeriod": days(14)}),
                now,
                "2024-05-15T10:00:00Z",
            ),
            (
                "guarantee is earlier",
                json!({"recallReturnInterval": days(7), "minimumGuaranteedLoanPeriod": days(5)}),
                now,
                "2024-05-10T08:00:00Z",
            ),
            ("candidate later than due", json!({"recallReturnInterval": days(30)}), now, due),
            (
                "candidate later, may extend",
                json!({"recallReturnInterval": days(30), "allowRecallsToExtendOverdueLoans": true}),
                now,
                "2024-06-02T08:00:00Z",
            ),
            ("overdue", json!({"recallReturnInterval": days(7)}), overdue, due),
            (
                "overdue, may extend",
                json!({"recallReturnInterval": days(7), "allowRecallsToExtendOverdueLoans": true}),
                overdue,
                "2024-06-01T08:00:00Z",
            ),
            (
                "overdue, may extend by its own interval",
                json!({"recallReturnInterval": days(7), "allowRecallsToExtendOverdueLoans": true,
                    "alternateRecallReturnInterval": days(2)}),
                overdue,
                "2024-05-27T08:00:00Z",
            ),
            (
                "not overdue, own interval does not count",
                json!({"recallReturnInterval": days(7), "allowRecallsToExtendOverdueLoans": true,
                    "alternateRecallReturnInterval": days(2)}),
                now,
                "2024-05-10T08:00:00Z",
            ),
        ];
        for (name, recalls, now, expected) in table {
            assert_eq!(recalled(recalls, due, now), Ok(Some(at(expected))), "{name}");
        }
    }

    #[test]
    fn faults_in_both_settings_are_reported_together() {
        let recalls = json!({
            "recallReturnInterval": {"duration": 1, "intervalId": "Years"},
            "minimumGuaranteedLoanPeriod": {"duration": 0, "intervalId": "Days"}
        });
        assert_eq!(
            recalled(recalls, "2024-05-22T10:00:00Z", "2024-05-03T08:00:00Z"),
            Err(vec![
                "the interval \"Years\" in \"recallReturnInterval\" is not recognized".into(),
                "the duration \"0\" in \"minimumGuaranteedLoanPeriod\" is invalid".into()
            ])
        );
    }

    #[test]
    fn a_loan_is_recalled_once() {
        let policy = policy(json!({}));
        let terms = LoanTerms { policy: &policy, schedule: None, alternate_renewal_schedule: None };
        let loan = RecalledLoan {
            loan_date: at(LOANED),
            due_date: at("2024-05-22T10:00:00Z"),
            already_recalled: true,
        };
        let hours = weekdays();
        let again = circumstances("2024-05-03T08:00:00Z", &hours);
        assert_eq!(due_date_after_recall(&terms, &loan, RecallMoment::OnLoan, &again), Ok(None));
    }

    #[test]
    fn the_schedule_that_limits_a_recall_depends_on_when_it_meets_the_loan() {
        let terms_of_may = schedule(&[
            ["2024-04-30T00:00:00Z", "2024-05-03T23:59:59Z", "2024-05-10T23:59:59Z"],
            ["2024-05-04T00:00:00Z", "2024-05-31T23:59:59Z", "2024-06-10T23:59:59Z"],
        ]);
        let policy = policy(json!({
            "loansPolicy": {"profileId": "Rolling", "closedLibraryDueDateManagementId": "END_OF_THE_NEXT_OPEN_DAY"},
            "requestManagement": {"recalls": {"recallReturnInterval": {"duration": 8, "intervalId": "Days"}}}
        }));
        let terms =
            LoanTerms { policy: &policy, schedule: Some(&terms_of_may), alternate_renewal_schedule: None };
        let loan = RecalledLoan {
            loan_date: at(LOANED),
            due_date: at("2024-05-22T10:00:00Z"),
            already_recalled: false,
        };
        let hours = weekdays();
        let here = circumstances("2024-05-03T08:00:00Z", &hours);
        let due = |moment| due_date_after_recall(&terms, &loan, moment, &here).unwrap().unwrap().at;
        // Saturday May 11 moves to Monday; the schedule of the loan date ends on Friday May 10.
        assert_eq!(due(RecallMoment::OnLoan), at("2024-05-13T23:59:59Z"));
        assert_eq!(due(RecallMoment::AtCheckOut), at("2024-05-10T23:59:59Z"));
    }
}
