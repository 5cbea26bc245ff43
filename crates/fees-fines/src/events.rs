//! Events of fees/fines, under the names of mod-feesfines.

use carrel_platform::{Pipeline, outbox};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

const BALANCE_CHANGED: &str = "feesfines.FEE_FINE_BALANCE_CHANGED";
const LOAN_RELATED_FEE_FINE_CLOSED: &str = "feesfines.LOAN_RELATED_FEE_FINE_CLOSED";

/// An account was created or changed; the event contains its balance.
pub fn balance_changed(pipeline: &mut Pipeline, account: &Value, now: Timestamp) {
    announce_balance(pipeline, account, &account["remaining"], now);
}

/// A deleted account has no balance.
pub fn account_deleted(pipeline: &mut Pipeline, id: Uuid, now: Timestamp) {
    announce_balance(pipeline, &json!({"id": id}), &json!(0.0), now);
}

fn announce_balance(pipeline: &mut Pipeline, account: &Value, balance: &Value, now: Timestamp) {
    let mut payload = json!({"feeFineId": account["id"], "balance": balance});
    for (name, property) in [("userId", "userId"), ("feeFineTypeId", "feeFineId"), ("loanId", "loanId")] {
        if let Some(value) = account.get(property).filter(|value| !value.is_null()) {
            payload[name] = value.clone();
        }
    }
    let key = account["id"].as_str().unwrap_or_default().to_owned();
    outbox::announce(pipeline, BALANCE_CHANGED, key, payload.to_string(), now);
}

/// A fee/fine of a loan was completely settled, or staff decided not to charge one.
pub fn loan_related_fee_fine_closed(pipeline: &mut Pipeline, loan: Uuid, now: Timestamp) {
    let payload = json!({"loanId": loan});
    outbox::announce(pipeline, LOAN_RELATED_FEE_FINE_CLOSED, loan.to_string(), payload.to_string(), now);
}
