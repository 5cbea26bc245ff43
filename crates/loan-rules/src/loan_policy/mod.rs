//! Loan policy: for how long an item may be checked out, renewed, and kept when other patrons request it.
//!
//! The routes `/loan-policy-storage/loan-policies` and `/fixed-due-date-schedule-storage/…` store the records; this
//! module parses and validates them, and gives the due-date rules typed settings. Stored policies come from many
//! versions of FOLIO, so any setting may be absent.

mod fixed_due_date_schedule;
mod period;
mod validate;

use carrel_records::Refusal;
use serde::Deserialize;

pub use fixed_due_date_schedule::{FixedDueDateSchedule, Schedule};
pub use period::{Interval, Period, PeriodFault};
pub use validate::{check_policy, check_schedule};

/// What the rules read of a loan policy record.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LoanPolicy {
    pub id: Option<String>,
    pub name: Option<String>,
    pub loanable: Option<bool>,
    pub loans_policy: Option<LoansPolicy>,
    pub renewable: Option<bool>,
    pub renewals_policy: Option<RenewalsPolicy>,
    pub request_management: Option<RequestManagement>,
}

/// Settings of a new loan.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LoansPolicy {
    pub profile_id: Option<String>,
    pub period: Option<Period>,
    pub closed_library_due_date_management_id: Option<String>,
    pub grace_period: Option<Period>,
    pub opening_time_offset: Option<Period>,
    pub fixed_due_date_schedule_id: Option<String>,
    pub item_limit: Option<u32>,
    pub for_use_at_location: Option<bool>,
    pub hold_shelf_expiry_period_for_use_at_location: Option<Period>,
}

/// Settings of renewals.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RenewalsPolicy {
    pub unlimited: Option<bool>,
    pub number_allowed: Option<f64>,
    pub renew_from_id: Option<String>,
    pub different_period: Option<bool>,
    pub period: Option<Period>,
    pub alternate_fixed_due_date_schedule_id: Option<String>,
}

/// Settings that apply when the item is requested.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestManagement {
    pub recalls: Option<Recalls>,
    pub holds: Option<Holds>,
}

/// Settings of recalled loans.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Recalls {
    pub alternate_grace_period: Option<Period>,
    pub minimum_guaranteed_loan_period: Option<Period>,
    pub recall_return_interval: Option<Period>,
    pub allow_recalls_to_extend_overdue_loans: Option<bool>,
    pub alternate_recall_return_interval: Option<Period>,
}

/// Settings of loans for which a hold waits.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Holds {
    pub alternate_checkout_loan_period: Option<Period>,
    pub renew_items_with_request: Option<bool>,
    pub alternate_renewal_loan_period: Option<Period>,
}

/// The profile of a loan policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile<'a> {
    /// A period from the loan date.
    Rolling,
    /// A date of the fixed due date schedule.
    Fixed,
    /// An unknown profile; its text is shown to staff.
    Unknown(&'a str),
}

/// A loan policy together with its schedules, for the due-date rules.
#[derive(Debug, Clone, Copy)]
pub struct LoanTerms<'a> {
    pub policy: &'a LoanPolicy,
    /// The record with the id `loansPolicy.fixedDueDateScheduleId`.
    pub schedule: Option<&'a FixedDueDateSchedule>,
    /// The record with the id `renewalsPolicy.alternateFixedDueDateScheduleId`.
    pub alternate_renewal_schedule: Option<&'a FixedDueDateSchedule>,
}

impl LoanPolicy {
    /// Whether items may be checked out at all; absent means no.
    pub fn is_loanable(&self) -> bool {
        self.loanable == Some(true)
    }

    /// Whether loans may be renewed; absent means no.
    pub fn is_renewable(&self) -> bool {
        self.renewable == Some(true)
    }

    /// The profile of the loan period; letter case does not matter.
    pub fn profile(&self) -> Profile<'_> {
        // FOLIO quirk: without loan settings the profile is empty, without a profile it is "null".
        let Some(loans) = &self.loans_policy else { return Profile::Unknown("") };
        match loans.profile_id.as_deref().unwrap_or("null") {
            id if id.eq_ignore_ascii_case("Rolling") => Profile::Rolling,
            id if id.eq_ignore_ascii_case("Fixed") => Profile::Fixed,
            id => Profile::Unknown(id),
        }
    }

    /// The loan period, if the policy has one.
    pub fn loan_period(&self) -> Option<&Period> {
        self.loans_policy.as_ref()?.period.as_ref()
    }

    /// Whether renewals have a different period or schedule.
    pub fn renews_differently(&self) -> bool {
        self.renewals_policy.as_ref().and_then(|renewals| renewals.different_period) == Some(true)
    }

    /// Whether the number of renewals reached the limit; a policy without renewals has no limit to reach.
    pub fn renewal_limit_is_reached(&self, renewals_so_far: i64) -> bool {
        let renewals = self.renewals_policy.as_ref();
        let unlimited = renewals.and_then(|renewals| renewals.unlimited) == Some(true);
        self.is_renewable() && !unlimited && renewals_so_far >= self.renewal_limit()
    }

    /// How many renewals are allowed; absent means none.
    pub fn renewal_limit(&self) -> i64 {
        self.renewals_policy.as_ref().and_then(|renewals| renewals.number_allowed).unwrap_or(0.0) as i64
    }

    /// Settings of loans for which a hold waits.
    pub fn holds(&self) -> Option<&Holds> {
        self.request_management.as_ref()?.holds.as_ref()
    }

    /// Settings of recalled loans.
    pub fn recalls(&self) -> Option<&Recalls> {
        self.request_management.as_ref()?.recalls.as_ref()
    }

    /// A refusal with the id and name of this policy, like all errors about loan policies.
    pub fn refusal(&self, message: impl Into<String>) -> Refusal {
        let name = |refusal: Refusal, key: &str, value: &Option<String>| match value {
            Some(value) => refusal.with(key, value),
            None => refusal.with_null(key),
        };
        let refusal = name(Refusal::new(message), "loanPolicyId", &self.id);
        name(refusal, "loanPolicyName", &self.name)
    }
}

impl<'a> LoanTerms<'a> {
    /// The schedule that limits or determines the due dates of renewals.
    pub fn renewal_schedule(&self) -> Option<&'a FixedDueDateSchedule> {
        if !self.policy.renews_differently() {
            return self.schedule;
        }
        match self.policy.profile() {
            Profile::Fixed => self.alternate_renewal_schedule,
            Profile::Rolling | Profile::Unknown(_) => self.alternate_renewal_schedule.or(self.schedule),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::{Value, json};

    pub(crate) use super::fixed_due_date_schedule::tests::schedule;

    pub(crate) fn policy(record: Value) -> LoanPolicy {
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn every_setting_may_be_absent_or_null() {
        let read =
            policy(json!({"name": "Old", "loansPolicy": {"period": null, "newer": 1}, "renewable": null}));
        assert_eq!(read.name.as_deref(), Some("Old"));
        assert!(!read.is_loanable() && !read.is_renewable());
        assert_eq!(read.loan_period(), None);
    }

    #[test]
    fn profiles_are_read_whatever_their_case() {
        let profile = |id| policy(json!({"loansPolicy": {"profileId": id}}));
        assert_eq!(profile("ROLLING").profile(), Profile::Rolling);
        assert_eq!(profile("fixed").profile(), Profile::Fixed);
        assert_eq!(profile("Weekly").profile(), Profile::Unknown("Weekly"));
        assert_eq!(policy(json!({})).profile(), Profile::Unknown(""));
        assert_eq!(policy(json!({"loansPolicy": {}})).profile(), Profile::Unknown("null"));
    }

    #[test]
    fn the_renewal_limit_counts_only_where_renewals_are_limited() {
        let reached = |record, so_far| policy(record).renewal_limit_is_reached(so_far);
        let limited = json!({"renewable": true, "renewalsPolicy": {"numberAllowed": 2.0}});
        assert!(!reached(limited.clone(), 1));
        assert!(reached(limited, 2));
        assert!(reached(json!({"renewable": true}), 0));
        assert!(!reached(json!({"renewable": true, "renewalsPolicy": {"unlimited": true}}), 99));
        assert!(!reached(json!({"renewable": false}), 99));
    }

    #[test]
    fn a_refusal_names_the_policy() {
        let refusal = policy(json!({"id": "a", "name": "Two weeks"})).refusal("no");
        assert_eq!(refusal, Refusal::new("no").with("loanPolicyId", "a").with("loanPolicyName", "Two weeks"));
    }
}
