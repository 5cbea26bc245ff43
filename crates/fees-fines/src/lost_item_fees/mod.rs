//! Fees/fines of lost items: their types, and their reversal when the item is found.
//!
//! Circulation calls these functions in the transaction that finds the item, with the item locked. Reads accounts and
//! their actions; changes accounts; adds the records of refunds and cancellations, and their events.

mod decide;
mod facts;

pub use facts::{LossFees, LostItemFee, lock_fees};

use crate::actions::{ActionRequest, Scope, write_actions};
use carrel_platform::http::Caller;
use carrel_platform::{Pipeline, Tenant};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

/// A set cost.
pub const LOST_ITEM_FEE: &str = "Lost item fee";
/// A cost that staff determine.
pub const ACTUAL_COST_FEE: &str = "Lost item fee (actual cost)";
pub const PROCESSING_FEE: &str = "Lost item processing fee";

/// The types of all fees for lost items.
pub const TYPES: [&str; 3] = [LOST_ITEM_FEE, ACTUAL_COST_FEE, PROCESSING_FEE];

/// The reason for reversing the fees for a lost item, the user and the service point.
#[derive(Debug, Clone)]
pub struct Reversal {
    /// The payment status of the cancelled account, such as `Cancelled item returned`.
    pub reason: &'static str,
    pub service_point: Option<Uuid>,
    /// The name of the user, for display.
    pub source: Option<String>,
}

/// Adds the statements that refund payments and transfers for these accounts and cancel the rest; returns the records
/// of both. Listeners are not called: the transaction changes the loan itself.
pub fn reverse(
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    caller: &Caller,
    now: Timestamp,
    fees: &LossFees,
    accounts: &[Uuid],
    reversal: &Reversal,
) -> Result<Vec<Value>, Failure> {
    let mut records = Vec::new();
    for fee in fees.fees.iter().filter(|fee| accounts.contains(&fee.id)) {
        let mut account = fee.account.clone();
        if let Some(refund) = decide::refund(&account, &fees.past) {
            let request = request(reversal, Some("Lost item found"));
            let stored = (std::slice::from_ref(&account), &refund.changes[..], &refund.actions[..]);
            let written = write_actions(pipeline, tenant, caller, now, &request, stored)?;
            records.extend(written.records);
            account = written.accounts.into_iter().next().unwrap_or(account);
        }
        if let Some((changes, actions)) = decide::cancel(&account, reversal.reason) {
            let stored = (std::slice::from_ref(&account), &changes[..], &actions[..]);
            let written = write_actions(pipeline, tenant, caller, now, &request(reversal, None), stored)?;
            records.extend(written.records);
        }
    }
    Ok(records)
}

fn request(reversal: &Reversal, payment_method: Option<&str>) -> ActionRequest {
    ActionRequest {
        scope: Scope::Single,
        accounts: Vec::new(),
        amount: None,
        comments: None,
        transaction_information: None,
        service_point: reversal.service_point.map(|id| id.to_string()),
        user_name: reversal.source.clone(),
        payment_method: payment_method.map(str::to_owned),
        notifies_patron: true,
        cancellation_reason: Some(reversal.reason.to_owned()),
    }
}
