//! The rule of cancellation.

use crate::actions::{ALREADY_CLOSED, Account, AccountChange, ActionKind, NewAction, Refusal};
use carrel_records::Money;

/// Payment statuses with the reason of a cancellation.
const REASONS: [&str; 4] = [
    ActionKind::Cancel.full_result(),
    "Cancelled item returned",
    "Cancelled item renewed",
    "Cancelled item declared lost",
];

/// The recorded reason; `None` if the client's is unknown.
pub fn reason(sent: Option<&str>) -> Option<&'static str> {
    match sent {
        None => Some(REASONS[0]),
        Some(sent) => REASONS.into_iter().find(|reason| *reason == sent),
    }
}

/// Closes the accounts with a balance of zero.
pub fn cancel(reason: &str, accounts: &[Account]) -> Result<(Vec<AccountChange>, Vec<NewAction>), Refusal> {
    if accounts.iter().any(|account| account.is_closed) {
        return Err(ALREADY_CLOSED);
    }
    let changes = accounts.iter().map(|account| AccountChange {
        account: account.id,
        remaining: Money::ZERO,
        payment_status: reason.to_owned(),
        is_closed: true,
    });
    let actions = accounts.iter().map(|account| NewAction {
        account: account.id,
        result: reason.to_owned(),
        // FOLIO quirk: the whole charge, even if a part of it was paid.
        amount: account.amount,
        balance: Money::ZERO,
        transaction_information: None,
    });
    Ok((changes.collect(), actions.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use uuid::Uuid;

    fn account(is_closed: bool) -> Account {
        Account {
            id: Uuid::from_u128(1),
            user_id: None,
            loan_id: None,
            amount: Money::of_cents(1000),
            remaining: Money::of_cents(400),
            is_closed,
            document: Value::Null,
        }
    }

    #[test]
    fn a_cancelled_account_is_closed_and_owes_nothing() {
        let (changes, actions) = cancel("Cancelled as error", &[account(false)]).expect("an open account");
        assert_eq!((changes[0].remaining, changes[0].is_closed), (Money::ZERO, true));
        assert_eq!((actions[0].amount, actions[0].balance), (Money::of_cents(1000), Money::ZERO));
    }

    #[test]
    fn a_closed_account_is_not_cancelled() {
        assert_eq!(cancel("Cancelled as error", &[account(false), account(true)]), Err(ALREADY_CLOSED));
    }

    #[test]
    fn only_known_reasons_are_recorded() {
        assert_eq!(reason(None), Some("Cancelled as error"));
        assert_eq!(reason(Some("Cancelled item returned")), Some("Cancelled item returned"));
        assert_eq!(reason(Some("Paid fully")), None);
    }
}
