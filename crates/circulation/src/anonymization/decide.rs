//! Whether a closed loan may be anonymized, by the tenant's setting.

use carrel_loan_rules::loan_policy::Interval;
use carrel_records::time;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use uuid::Uuid;

/// A closed loan that still contains its patron.
#[derive(Debug, Clone, Default)]
pub struct ClosedLoan {
    pub id: Uuid,
    pub returned: Option<Timestamp>,
    pub accounts: Vec<Account>,
}

/// A fee/fine of the loan.
#[derive(Debug, Clone, Default)]
pub struct Account {
    pub is_closed: bool,
    /// Dates of the actions that brought its balance to zero.
    pub settled: Vec<Timestamp>,
}

/// What starts an anonymization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// A request of staff.
    ByStaff,
    Scheduled {
        loans: When,
        with_fees: Option<When>,
    },
}

/// When a closed loan is anonymized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Immediately,
    After(i64, Interval),
    Never,
}

impl Rule {
    /// Reads the setting `loan_history`; without it no loan is anonymized.
    pub fn scheduled(setting: Option<&Value>) -> Rule {
        let nothing = Value::Null;
        let setting = setting.unwrap_or(&nothing);
        let when = |kind: &str| {
            let period = &setting[kind];
            match setting["closingType"][kind].as_str() {
                Some("immediately") => When::Immediately,
                Some("interval") => {
                    let interval = period["intervalId"].as_str().and_then(Interval::named);
                    // FOLIO quirk: an interval of an unknown name counts in minutes.
                    When::After(
                        period["duration"].as_i64().unwrap_or(0),
                        interval.unwrap_or(Interval::Minutes),
                    )
                }
                _ => When::Never,
            }
        };
        let apart = setting["treatEnabled"] == Value::Bool(true);
        Rule::Scheduled { loans: when("loan"), with_fees: apart.then(|| when("feeFine")) }
    }

    /// Whether no loan is ever anonymized, so that none must be read.
    pub fn forgets_nothing(&self) -> bool {
        *self == Rule::Scheduled { loans: When::Never, with_fees: None }
    }

    /// Why the loan is not anonymized at `now`; `None` if it may be.
    pub fn keeps(&self, loan: &ClosedLoan, now: Timestamp) -> Option<&'static str> {
        match self {
            Rule::ByStaff => (!loan.accounts.is_empty()).then_some("haveAssociatedFeesAndFines"),
            Rule::Scheduled { with_fees: Some(when), .. } if !loan.accounts.is_empty() => {
                let all_closed = loan.accounts.iter().all(|account| account.is_closed);
                match when {
                    When::Immediately => (!all_closed).then_some("feesAndFinesOpen"),
                    When::After(..) => {
                        let last = loan.accounts.iter().flat_map(|account| &account.settled).max();
                        (!(all_closed && when.has_passed_since(last.copied(), now)))
                            .then_some("intervalAfterFeesAndFinesCloseNotPassed")
                    }
                    When::Never => Some("neverAnonymizeLoansWithFeesAndFines"),
                }
            }
            Rule::Scheduled { loans, .. } => match loans {
                When::Immediately => None,
                When::After(..) => {
                    (!loans.has_passed_since(loan.returned, now)).then_some("loanClosedPeriodNotPassed")
                }
                When::Never => Some("neverAnonymizeLoans"),
            },
        }
    }
}

impl When {
    fn has_passed_since(self, end: Option<Timestamp>, now: Timestamp) -> bool {
        match self {
            When::Immediately => true,
            When::Never => false,
            When::After(count, interval) => end
                .and_then(|end| interval.after(count, end, &TimeZone::UTC))
                .is_some_and(|passed| now > passed),
        }
    }
}

/// Reads accounts from the query's JSON: `[{closed, settled: [date]}]`.
pub fn accounts(listed: &Value) -> Vec<Account> {
    let dates = |account: &Value| {
        let settled = account["settled"].as_array().cloned().unwrap_or_default();
        settled.iter().filter_map(|date| time::parse(date.as_str()?)).collect()
    };
    let listed = listed.as_array().map_or(&[][..], Vec::as_slice);
    listed
        .iter()
        .map(|account| Account { is_closed: account["closed"] == Value::Bool(true), settled: dates(account) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(text: &str) -> Timestamp {
        time::parse(text).expect("a time")
    }

    fn loan(accounts: &[Account]) -> ClosedLoan {
        ClosedLoan {
            id: Uuid::nil(),
            returned: Some(at("2024-05-01T00:00:00Z")),
            accounts: accounts.to_vec(),
        }
    }

    fn open() -> Account {
        Account::default()
    }

    fn settled(date: &str) -> Account {
        Account { is_closed: true, settled: vec![at(date)] }
    }

    #[test]
    fn each_setting_anonymizes_after_its_own_period() {
        let minutes = |count: i64| json!({"duration": count, "intervalId": "Minutes"});
        let table = [
            (json!(null), loan(&[]), Some("neverAnonymizeLoans")),
            (json!({"closingType": {"loan": "immediately"}}), loan(&[]), None),
            (json!({"closingType": {"loan": "immediately"}}), loan(&[open()]), None),
            (json!({"closingType": {"loan": "interval"}, "loan": minutes(59)}), loan(&[]), None),
            (
                json!({"closingType": {"loan": "interval"}, "loan": minutes(60)}),
                loan(&[]),
                Some("loanClosedPeriodNotPassed"),
            ),
            (
                json!({"closingType": {"loan": "never", "feeFine": "immediately"}, "treatEnabled": true}),
                loan(&[open(), settled("2024-05-01")]),
                Some("feesAndFinesOpen"),
            ),
            (
                json!({"closingType": {"loan": "never", "feeFine": "immediately"}, "treatEnabled": true}),
                loan(&[settled("2024-05-01")]),
                None,
            ),
            (
                json!({"closingType": {"loan": "never", "feeFine": "interval"}, "treatEnabled": true,
                    "feeFine": minutes(10)}),
                loan(&[settled("2024-04-01"), settled("2024-05-01T00:55:00Z")]),
                Some("intervalAfterFeesAndFinesCloseNotPassed"),
            ),
            (
                json!({"closingType": {"loan": "immediately", "feeFine": "never"}, "treatEnabled": true}),
                loan(&[settled("2024-04-01")]),
                Some("neverAnonymizeLoansWithFeesAndFines"),
            ),
        ];
        for (setting, loan, expected) in table {
            let rule = Rule::scheduled(Some(&setting));
            assert_eq!(rule.keeps(&loan, at("2024-05-01T01:00:00Z")), expected, "{setting}");
        }
    }

    #[test]
    fn a_request_anonymizes_loans_without_fees_and_fines() {
        let now = at("2024-05-01T01:00:00Z");
        assert_eq!(Rule::ByStaff.keeps(&loan(&[]), now), None);
        assert_eq!(
            Rule::ByStaff.keeps(&loan(&[settled("2024-05-01")]), now),
            Some("haveAssociatedFeesAndFines")
        );
    }
}
