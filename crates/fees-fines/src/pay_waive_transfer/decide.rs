//! The rule of payments, waivers and transfers.

use crate::actions::{
    ALREADY_CLOSED, Account, AccountChange, ActionKind, EXCEEDS_REMAINING, NewAction, Refusal,
    requested_amount, split,
};
use carrel_records::Money;

/// The decision.
#[derive(Debug, PartialEq, Eq)]
pub struct Settlement {
    pub amount: Money,
    /// The balance of all accounts together afterwards.
    pub remaining: Money,
    pub changes: Vec<AccountChange>,
    pub actions: Vec<NewAction>,
}

/// The amount and the balance of all accounts afterwards, or the first refusal in FOLIO's order.
pub fn check(amount: Option<&str>, accounts: &[Account]) -> Result<(Money, Money), Refusal> {
    let amount = requested_amount(amount)?;
    if accounts.iter().any(|account| account.is_closed && account.remaining.is_zero()) {
        return Err(ALREADY_CLOSED);
    }
    let owed: Money = accounts.iter().map(|account| account.remaining).sum();
    if amount > owed { Err(EXCEEDS_REMAINING) } else { Ok((amount, owed - amount)) }
}

/// Divides the amount among the accounts and settles each part; an account without a part stays unchanged.
pub fn settle(kind: ActionKind, amount: Option<&str>, accounts: &[Account]) -> Result<Settlement, Refusal> {
    let (amount, remaining) = check(amount, accounts)?;
    let owed: Vec<Money> = accounts.iter().map(|account| account.remaining).collect();
    let mut settlement = Settlement { amount, remaining, changes: Vec::new(), actions: Vec::new() };
    for (account, part) in accounts.iter().zip(split(amount, &owed)) {
        if part.is_zero() {
            continue;
        }
        let balance = account.remaining - part;
        let result = kind.result(balance.is_zero());
        settlement.changes.push(AccountChange {
            account: account.id,
            remaining: balance,
            payment_status: result.to_owned(),
            is_closed: account.is_closed || balance.is_zero(),
        });
        settlement.actions.push(NewAction {
            account: account.id,
            result: result.to_owned(),
            amount: part,
            balance,
            transaction_information: None,
        });
    }
    Ok(settlement)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::{INVALID_AMOUNT, NOT_POSITIVE};
    use serde_json::Value;
    use uuid::Uuid;

    fn account(number: u128, cents: i64, is_closed: bool) -> Account {
        Account {
            id: Uuid::from_u128(number),
            user_id: None,
            loan_id: None,
            amount: Money::of_cents(cents),
            remaining: Money::of_cents(cents),
            is_closed,
            document: Value::Null,
        }
    }

    #[test]
    fn refusals_come_in_the_order_of_the_module() {
        let closed = [account(1, 0, true)];
        for (amount, expected) in [
            (Some("much"), Err(INVALID_AMOUNT)),
            (Some("0"), Err(NOT_POSITIVE)),
            (Some("1"), Err(ALREADY_CLOSED)),
        ] {
            assert_eq!(check(amount, &closed), expected, "{amount:?}");
        }
        assert_eq!(check(Some("1.01"), &[account(1, 100, false)]), Err(EXCEEDS_REMAINING));
    }

    #[test]
    fn a_part_leaves_the_account_open_and_the_whole_closes_it() {
        let accounts = [account(1, 300, false)];
        let part = settle(ActionKind::Pay, Some("1.00"), &accounts).expect("one of three is paid");
        assert_eq!(part.changes[0].payment_status, "Paid partially");
        assert!(!part.changes[0].is_closed);
        assert_eq!(part.actions[0].balance, Money::of_cents(200));
        let whole = settle(ActionKind::Waive, Some("3"), &accounts).expect("three of three are waived");
        assert_eq!(whole.changes[0].payment_status, "Waived fully");
        assert!(whole.changes[0].is_closed);
    }

    #[test]
    fn an_account_that_gets_no_part_has_no_action() {
        let accounts = [account(1, 100, false), account(2, 100, false)];
        let settlement = settle(ActionKind::Transfer, Some("0.01"), &accounts).expect("a cent");
        assert_eq!((settlement.actions.len(), settlement.changes.len()), (1, 1));
        assert_eq!(settlement.remaining, Money::of_cents(199));
    }
}
