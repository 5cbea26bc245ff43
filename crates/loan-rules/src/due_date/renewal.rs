//! The due date of a renewed loan, and the refusals of a renewal.

use carrel_records::{Refusal, RefusalCode};
use jiff::Timestamp;

use super::adjustment::adjusted;
use super::new_loan::truncated;
use super::{Circumstances, DueDate, ZONE_OF_LOAN_PERIODS};
use crate::loan_policy::{LoanTerms, Period, PeriodFault, Profile};

/// The inputs of the due date of a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewal {
    /// The current due date.
    pub due_date: Timestamp,
    /// Whether the first request for this item, or for any item of its instance, is a hold.
    pub first_request_is_hold: bool,
}

/// The due date of a renewal, or all refusals in FOLIO's order.
pub fn due_date_of_renewal(
    terms: &LoanTerms,
    renewal: &Renewal,
    circumstances: &Circumstances,
) -> Result<DueDate, Vec<Refusal>> {
    let mut refusals = refusals_of_renewal(terms, renewal.first_request_is_hold);
    let proposed = match proposed_for_renewal(terms, renewal, circumstances.now) {
        Ok(proposed) => {
            refusals.extend(refuse_if_renewal_changes_nothing(terms, renewal.due_date, proposed));
            proposed
        }
        Err(refusal) => {
            refusals.push(refusal);
            return Err(refusals);
        }
    };
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let limit = renewal_limit(terms, circumstances.now);
    adjusted(terms.policy, proposed, limit, circumstances).map_err(|refusal| vec![refusal])
}

/// The refusals of the policy; an override with a due date skips them.
pub fn refusals_of_renewal(terms: &LoanTerms, first_request_is_hold: bool) -> Vec<Refusal> {
    let policy = terms.policy;
    let mut refusals = Vec::new();
    if !policy.is_renewable() {
        refusals.push(policy.refusal("loan is not renewable").code(RefusalCode::LoanNotRenewable));
    }
    if !first_request_is_hold {
        return refusals;
    }
    let holds = policy.holds();
    if holds.and_then(|holds| holds.renew_items_with_request) != Some(true) {
        refusals.push(
            policy
                .refusal(
                    "Items with this loan policy cannot be renewed when there is an active, pending hold request",
                )
                .code(RefusalCode::RenewalBlockedByHoldRequest),
        );
    }
    if policy.profile() == Profile::Fixed {
        if holds.is_some_and(|holds| holds.alternate_renewal_loan_period.is_some()) {
            refusals.push(
                policy
                    .refusal(
                        "Item's loan policy has fixed profile but alternative renewal period for holds is specified",
                    )
                    .code(RefusalCode::FixedLoanPolicyHasAlternateRenewalPeriodForHolds),
            );
        }
        if policy.renews_differently() && renewal_period(terms).is_some() {
            refusals.push(
                policy
                    .refusal("Item's loan policy has fixed profile but renewal period is specified")
                    .code(RefusalCode::FixedLoanPolicyHasRenewalPeriod),
            );
        }
    }
    refusals
}

/// The date by the policy for a renewal made now, before opening hours.
///
/// An override ignores holds.
pub fn proposed_for_renewal(
    terms: &LoanTerms,
    renewal: &Renewal,
    now: Timestamp,
) -> Result<Timestamp, Refusal> {
    match terms.policy.profile() {
        Profile::Rolling => rolled(terms, renewal, now),
        Profile::Fixed => {
            terms.renewal_schedule().and_then(|schedule| schedule.due_date_for(now)).ok_or_else(|| {
                terms
                    .policy
                    .refusal("renewal date falls outside of date ranges in fixed loan policy")
                    .code(RefusalCode::RenewalDateOutsideFixedLoanPolicyDateRanges)
            })
        }
        Profile::Unknown(id) => Err(terms
            .policy
            .refusal(format!("profile \"{id}\" in the loan policy is not recognised"))
            .code(RefusalCode::LoanPolicyProfileNotRecognized)),
    }
}

/// A renewal must move the due date forward, by at least a millisecond.
pub fn refuse_if_renewal_changes_nothing(
    terms: &LoanTerms,
    due_date: Timestamp,
    proposed: Timestamp,
) -> Option<Refusal> {
    (proposed.as_millisecond() <= due_date.as_millisecond()).then(|| {
        terms
            .policy
            .refusal("renewal would not change the due date")
            .code(RefusalCode::RenewalWouldNotChangeDueDate)
    })
}

fn rolled(terms: &LoanTerms, renewal: &Renewal, now: Timestamp) -> Result<Timestamp, Refusal> {
    let policy = terms.policy;
    let renew_from = policy.renewals_policy.as_ref().and_then(|renewals| renewals.renew_from_id.as_deref());
    let from = match renew_from {
        Some("CURRENT_DUE_DATE") => renewal.due_date,
        Some("SYSTEM_DATE") => now,
        _ => {
            return Err(policy
                .refusal("cannot determine when to renew from")
                .code(RefusalCode::LoanPolicyRenewFromNotRecognized));
        }
    };
    let for_hold = policy.holds().and_then(|holds| holds.alternate_renewal_loan_period.as_ref());
    let period = match for_hold {
        Some(for_hold) if renewal.first_request_is_hold => Some(for_hold),
        _ if policy.renews_differently() => renewal_period(terms),
        _ => policy.loan_period(),
    };
    let due = period
        .unwrap_or(&Period::default())
        .after(from, &ZONE_OF_LOAN_PERIODS)
        .map_err(|fault| policy.refusal(fault.in_the_loan_policy()).code(code_of(&fault)))?;
    truncated(due, terms.renewal_schedule(), from).ok_or_else(|| {
        policy
            .refusal("renewal date falls outside of date ranges in the loan policy")
            .code(RefusalCode::RenewalDateOutsideLoanPolicyDateRanges)
    })
}

fn renewal_period<'a>(terms: &LoanTerms<'a>) -> Option<&'a Period> {
    terms.policy.renewals_policy.as_ref()?.period.as_ref()
}

fn renewal_limit(terms: &LoanTerms, now: Timestamp) -> Option<Timestamp> {
    match terms.policy.profile() {
        Profile::Rolling | Profile::Fixed => terms.renewal_schedule()?.due_date_for(now),
        Profile::Unknown(_) => None,
    }
}

fn code_of(fault: &PeriodFault) -> RefusalCode {
    match fault {
        PeriodFault::Incomplete => RefusalCode::LoanPolicyRenewalPeriodNotRecognized,
        PeriodFault::UnknownInterval(_) => RefusalCode::LoanPolicyRenewalPeriodIntervalNotRecognized,
        PeriodFault::InvalidDuration(_) => RefusalCode::LoanPolicyRenewalPeriodDurationInvalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::due_date::fixtures::{at, circumstances, weekdays};
    use crate::loan_policy::tests::{policy, schedule};
    use serde_json::{Value, json};

    const DUE: &str = "2024-05-20T10:00:00Z";
    const NOW: &str = "2024-05-15T08:00:00Z";

    fn weeks(n: i64) -> Value {
        json!({"duration": n, "intervalId": "Weeks"})
    }

    fn rolling(renewals: Value, holds: Value) -> Value {
        json!({
            "renewable": true,
            "loansPolicy": {"profileId": "Rolling", "period": weeks(3), "closedLibraryDueDateManagementId": "CURRENT_DUE_DATE_TIME"},
            "renewalsPolicy": renewals, "requestManagement": {"holds": holds}
        })
    }

    fn fixed(renewals: Value, holds: Value) -> Value {
        json!({"renewable": true, "loansPolicy": {"profileId": "Fixed", "closedLibraryDueDateManagementId": "CURRENT_DUE_DATE_TIME"},
            "renewalsPolicy": renewals, "requestManagement": {"holds": holds}})
    }

    fn renewed(
        record: Value,
        own: &[[&str; 3]],
        alternate: &[[&str; 3]],
        hold: bool,
    ) -> Result<String, Vec<RefusalCode>> {
        let policy = policy(record);
        let (own, alternate) = (schedule(own), schedule(alternate));
        let named = |schedule| {
            Some(schedule)
                .filter(|schedule: &&crate::loan_policy::FixedDueDateSchedule| !schedule.schedules.is_empty())
        };
        let terms = LoanTerms {
            policy: &policy,
            schedule: named(&own),
            alternate_renewal_schedule: named(&alternate),
        };
        let renewal = Renewal { due_date: at(DUE), first_request_is_hold: hold };
        let hours = weekdays();
        due_date_of_renewal(&terms, &renewal, &circumstances(NOW, &hours))
            .map(|due| due.at.to_string())
            .map_err(|refusals| refusals.iter().filter_map(|refusal| refusal.code).collect())
    }

    /// From, to and due of each span of a schedule.
    type Spans<'a> = &'a [[&'a str; 3]];

    const MAY: [&str; 3] = ["2024-05-01T00:00:00Z", "2024-05-31T23:59:59Z", "2024-06-05T20:00:00Z"];
    const JULY: [&str; 3] = ["2024-05-01T00:00:00Z", "2024-05-31T23:59:59Z", "2024-07-05T20:00:00Z"];
    const LAST_YEAR: [&str; 3] = ["2023-05-01T00:00:00Z", "2023-05-31T23:59:59Z", "2023-06-05T20:00:00Z"];

    #[test]
    fn a_rolling_loan_is_renewed_from_its_due_date_or_from_now() {
        let from_due = || json!({"renewFromId": "CURRENT_DUE_DATE"});
        let from_now = || json!({"renewFromId": "SYSTEM_DATE"});
        let differently =
            || json!({"renewFromId": "CURRENT_DUE_DATE", "differentPeriod": true, "period": weeks(1)});
        let holds = || json!({"renewItemsWithRequest": true, "alternateRenewalLoanPeriod": weeks(2)});
        let table: [(&str, Value, Spans, Spans, bool, &str); 9] = [
            ("from due date", rolling(from_due(), json!({})), &[], &[], false, "2024-06-10T10:00:00Z"),
            ("from now", rolling(from_now(), json!({})), &[], &[], false, "2024-06-05T08:00:00Z"),
            ("own period", rolling(differently(), json!({})), &[], &[], false, "2024-05-27T10:00:00Z"),
            ("hold", rolling(differently(), holds()), &[], &[], true, "2024-06-03T10:00:00Z"),
            (
                "hold period, no hold",
                rolling(differently(), holds()),
                &[],
                &[],
                false,
                "2024-05-27T10:00:00Z",
            ),
            ("limit", rolling(from_due(), json!({})), &[MAY], &[], false, "2024-06-05T20:00:00Z"),
            (
                "alternate limit is not used",
                rolling(from_due(), json!({})),
                &[MAY],
                &[JULY],
                false,
                "2024-06-05T20:00:00Z",
            ),
            (
                "alternate limit",
                rolling(
                    json!({"renewFromId": "CURRENT_DUE_DATE", "differentPeriod": true, "period": weeks(9)}),
                    json!({}),
                ),
                &[MAY],
                &[JULY],
                false,
                "2024-07-05T20:00:00Z",
            ),
            (
                "alternate limit absent",
                rolling(
                    json!({"renewFromId": "CURRENT_DUE_DATE", "differentPeriod": true, "period": weeks(9)}),
                    json!({}),
                ),
                &[MAY],
                &[],
                false,
                "2024-06-05T20:00:00Z",
            ),
        ];
        for (name, record, own, alternate, hold, expected) in table {
            assert_eq!(renewed(record, own, alternate, hold), Ok(expected.to_string()), "{name}");
        }
    }

    #[test]
    fn a_fixed_loan_is_renewed_to_the_date_of_todays_schedule() {
        assert_eq!(
            renewed(fixed(json!({}), json!({})), &[MAY], &[JULY], false),
            Ok("2024-06-05T20:00:00Z".into())
        );
        let differently = json!({"differentPeriod": true});
        assert_eq!(
            renewed(fixed(differently.clone(), json!({})), &[MAY], &[JULY], false),
            Ok("2024-07-05T20:00:00Z".into())
        );
        assert_eq!(
            renewed(fixed(differently, json!({})), &[MAY], &[], false),
            Err(vec![RefusalCode::RenewalDateOutsideFixedLoanPolicyDateRanges])
        );
    }

    #[test]
    fn refusals_are_reported_together_and_in_order() {
        let from_due = || json!({"renewFromId": "CURRENT_DUE_DATE"});
        let mut not_renewable = rolling(json!({}), json!({}));
        not_renewable["renewable"] = json!(false);
        let mut unknown = rolling(from_due(), json!({}));
        unknown["loansPolicy"]["profileId"] = json!("X");
        let period = |period: Value| {
            let mut record = rolling(from_due(), json!({}));
            record["loansPolicy"]["period"] = period;
            record
        };
        let early = ["2024-05-01T00:00:00Z", "2024-05-31T23:59:59Z", DUE];
        let table: [(Value, Spans, bool, &[RefusalCode]); 9] = [
            (
                not_renewable,
                &[],
                true,
                &[
                    RefusalCode::LoanNotRenewable,
                    RefusalCode::RenewalBlockedByHoldRequest,
                    RefusalCode::LoanPolicyRenewFromNotRecognized,
                ],
            ),
            (unknown, &[], false, &[RefusalCode::LoanPolicyProfileNotRecognized]),
            (period(json!(null)), &[], false, &[RefusalCode::LoanPolicyRenewalPeriodNotRecognized]),
            (
                period(json!({"duration": 1, "intervalId": "Years"})),
                &[],
                false,
                &[RefusalCode::LoanPolicyRenewalPeriodIntervalNotRecognized],
            ),
            (period(weeks(0)), &[], false, &[RefusalCode::LoanPolicyRenewalPeriodDurationInvalid]),
            (
                rolling(from_due(), json!({})),
                &[LAST_YEAR],
                false,
                &[RefusalCode::RenewalDateOutsideLoanPolicyDateRanges],
            ),
            (rolling(from_due(), json!({})), &[early], false, &[RefusalCode::RenewalWouldNotChangeDueDate]),
            (fixed(json!({}), json!({})), &[early], false, &[RefusalCode::RenewalWouldNotChangeDueDate]),
            (
                fixed(
                    json!({"period": weeks(1), "differentPeriod": true}),
                    json!({"renewItemsWithRequest": true, "alternateRenewalLoanPeriod": weeks(1)}),
                ),
                &[],
                true,
                &[
                    RefusalCode::FixedLoanPolicyHasAlternateRenewalPeriodForHolds,
                    RefusalCode::FixedLoanPolicyHasRenewalPeriod,
                    RefusalCode::RenewalDateOutsideFixedLoanPolicyDateRanges,
                ],
            ),
        ];
        for (record, own, hold, codes) in table {
            let codes = codes.to_vec();
            assert_eq!(renewed(record.clone(), own, &[], hold), Err(codes), "{record}");
        }
    }

    #[test]
    fn a_loan_is_renewed_with_a_hold_waiting_only_where_the_policy_says_so() {
        let from_due = || json!({"renewFromId": "CURRENT_DUE_DATE"});
        assert_eq!(
            renewed(rolling(from_due(), json!({})), &[], &[], true),
            Err(vec![RefusalCode::RenewalBlockedByHoldRequest])
        );
        let allowed = rolling(from_due(), json!({"renewItemsWithRequest": true}));
        assert_eq!(renewed(allowed, &[], &[], true), Ok("2024-06-10T10:00:00Z".into()));
    }
}
