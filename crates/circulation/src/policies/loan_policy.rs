//! Validation of loan policies and fixed due date schedules.

use super::check_before_saving;
use crate::records::policies::{FIXED_DUE_DATE_SCHEDULE, LOAN_POLICY};
use carrel_loan_rules::loan_policy::{FixedDueDateSchedule, check_policy, check_schedule};
use carrel_platform::Router;
use carrel_platform::record_store::write::Document;
use carrel_records::Refusal;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(super) fn connect(router: &mut Router) {
    check_before_saving(router, &LOAN_POLICY, |document| check(document, check_policy));
    check_before_saving(router, &FIXED_DUE_DATE_SCHEDULE, |document| {
        check::<FixedDueDateSchedule>(document, check_schedule)
    });
}

/// A document that cannot be parsed as a policy is refused by its shape.
fn check<T: DeserializeOwned>(document: &Document, rule: fn(&T) -> Result<(), Refusal>) -> Vec<Refusal> {
    match serde_json::from_value::<T>(Value::Object(document.clone())) {
        Ok(record) => rule(&record).err().into_iter().collect(),
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrel_loan_rules::loan_policy::LoanPolicy;
    use serde_json::json;

    #[test]
    fn a_policy_that_does_not_read_is_left_to_its_shape() {
        let Value::Object(document) = json!({"loanable": "yes"}) else { panic!("an object") };
        assert_eq!(check::<LoanPolicy>(&document, check_policy), []);
    }
}
