//! The rule of reversing a fee: payments are refunded, and the rest is canceled.

use crate::actions::{Account, AccountChange, NewAction, PastAction};
use crate::cancel::decide::cancel as cancel_accounts;
use crate::refund::decide::{Refund, refund as refund_accounts, refundable};

/// The refund of everything that was paid or transferred and not refunded before, if there is such an amount.
pub fn refund(account: &Account, past: &[PastAction]) -> Option<Refund> {
    let past: Vec<PastAction> = past.iter().filter(|action| action.account == account.id).cloned().collect();
    let amount = refundable(&past);
    if !amount.is_positive() {
        return None;
    }
    refund_accounts(Some(&amount.to_string()), std::slice::from_ref(account), &past).ok()
}

/// The cancellation of the balance, if there is one.
pub fn cancel(account: &Account, reason: &str) -> Option<(Vec<AccountChange>, Vec<NewAction>)> {
    if !account.remaining.is_positive() {
        return None;
    }
    cancel_accounts(reason, std::slice::from_ref(account)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::ActionKind;
    use carrel_records::Money;
    use serde_json::Value;
    use uuid::Uuid;

    fn account(remaining: i64) -> Account {
        Account {
            id: Uuid::from_u128(1),
            user_id: None,
            loan_id: None,
            amount: Money::of_cents(1000),
            remaining: Money::of_cents(remaining),
            is_closed: remaining == 0,
            document: Value::Null,
        }
    }

    fn past(kind: ActionKind, cents: i64) -> PastAction {
        PastAction {
            account: Uuid::from_u128(1),
            kind,
            amount: Money::of_cents(cents),
            payment_method: Some("Cash".into()),
            transaction_information: None,
        }
    }

    #[test]
    fn what_was_paid_goes_back_and_the_rest_is_cancelled() {
        let back = refund(&account(600), &[past(ActionKind::Pay, 400)]).expect("four of ten were paid");
        assert_eq!((back.amount, back.changes[0].remaining), (Money::of_cents(400), Money::of_cents(1000)));
        let (changes, actions) =
            cancel(&account(1000), "Cancelled item returned").expect("all is owed again");
        assert!(changes[0].is_closed && changes[0].remaining.is_zero());
        assert_eq!(actions[0].result, "Cancelled item returned");
    }

    #[test]
    fn nothing_goes_back_twice() {
        let all = [past(ActionKind::Pay, 400), past(ActionKind::Refund, 400)];
        assert_eq!(refund(&account(1000), &all), None);
        assert_eq!(cancel(&account(0), "Cancelled item returned"), None);
    }
}
