//! The rule of refunds: payments are refunded to the patron first, then transfers to the accounts that received them.

use crate::actions::{
    Account, AccountChange, ActionKind, EXCEEDS_REFUNDABLE, NewAction, PastAction, Refusal, requested_amount,
    split,
};
use carrel_records::Money;

const PATRON: &str = "patron";

/// The decision.
#[derive(Debug, PartialEq, Eq)]
pub struct Refund {
    pub amount: Money,
    pub changes: Vec<AccountChange>,
    pub actions: Vec<NewAction>,
}

/// The recipient of a refund.
#[derive(Debug, PartialEq, Eq)]
struct Recipient {
    /// `patron`, or the name of the account transferred to.
    name: String,
    /// The total that was paid or transferred.
    settled: Money,
    /// The part of it that was not refunded before.
    refundable: Money,
}

/// The amount and the amount that could still be refunded afterwards.
pub fn check(amount: Option<&str>, past: &[PastAction]) -> Result<(Money, Money), Refusal> {
    let amount = requested_amount(amount)?;
    let refundable = refundable(past);
    if amount > refundable { Err(EXCEEDS_REFUNDABLE) } else { Ok((amount, refundable - amount)) }
}

/// The total of payments and transfers that was not refunded.
pub fn refundable(past: &[PastAction]) -> Money {
    past.iter()
        .map(|action| match action.kind {
            ActionKind::Refund => Money::ZERO - action.amount,
            _ => action.amount,
        })
        .sum()
}

/// Divides the amount among the accounts, and in each among the recipients.
pub fn refund(amount: Option<&str>, accounts: &[Account], past: &[PastAction]) -> Result<Refund, Refusal> {
    let (amount, _) = check(amount, past)?;
    let recipients: Vec<Vec<Recipient>> = accounts.iter().map(|account| recipients(account, past)).collect();
    let refundable: Vec<Money> =
        recipients.iter().map(|of_account| of_account.iter().map(|it| it.refundable).sum()).collect();
    let parts = split(amount, &refundable);
    // After refunds recorded by hand, less may be refundable than the sums of all actions suggest.
    if parts.iter().copied().sum::<Money>() != amount {
        return Err(EXCEEDS_REFUNDABLE);
    }
    let mut refund = Refund { amount, changes: Vec::new(), actions: Vec::new() };
    for ((account, recipients), part) in accounts.iter().zip(&recipients).zip(parts) {
        if part.is_positive() {
            refund_account(account, recipients, part, &mut refund);
        }
    }
    Ok(refund)
}

fn refund_account(account: &Account, recipients: &[Recipient], amount: Money, refund: &mut Refund) {
    let (patron, transfers) = recipients.split_at(1);
    let to_patron = amount.min(patron[0].refundable);
    let limits: Vec<Money> = transfers.iter().map(|recipient| recipient.refundable).collect();
    let mut shares = vec![to_patron];
    shares.extend(split(amount - to_patron, &limits));

    let transferred: Money = transfers.iter().map(|recipient| recipient.settled).sum();
    let is_full = |index: usize| match index {
        0 => to_patron == patron[0].settled,
        _ => amount - to_patron == transferred,
    };
    let mut balance = account.remaining;
    let mut last = ActionKind::Refund.partial_result();
    for kind in [ActionKind::Credit, ActionKind::Refund] {
        for (index, (recipient, share)) in recipients.iter().zip(&shares).enumerate() {
            if !share.is_positive() {
                continue;
            }
            let information = match kind {
                ActionKind::Credit => format!("Refund to {}", recipient.name),
                _ => format!("Refunded to {}", recipient.name),
            };
            if kind == ActionKind::Refund {
                balance += *share;
            }
            last = kind.result(is_full(index));
            refund.actions.push(NewAction {
                account: account.id,
                result: last.to_owned(),
                amount: *share,
                balance,
                transaction_information: Some(information),
            });
        }
    }
    refund.changes.push(AccountChange {
        account: account.id,
        remaining: balance,
        payment_status: last.to_owned(),
        is_closed: false,
    });
}

/// The patron, and each account that received a transfer in the order of the first transfer.
fn recipients(account: &Account, past: &[PastAction]) -> Vec<Recipient> {
    let mut recipients =
        vec![Recipient { name: PATRON.to_owned(), settled: Money::ZERO, refundable: Money::ZERO }];
    let of_account = || past.iter().filter(|action| action.account == account.id);
    for action in of_account() {
        let name = match action.kind {
            ActionKind::Pay => PATRON,
            ActionKind::Transfer => action.payment_method.as_deref().unwrap_or_default(),
            _ => continue,
        };
        let index = recipients.iter().position(|recipient| recipient.name == name).unwrap_or_else(|| {
            recipients.push(Recipient {
                name: name.to_owned(),
                settled: Money::ZERO,
                refundable: Money::ZERO,
            });
            recipients.len() - 1
        });
        recipients[index].settled += action.amount;
        recipients[index].refundable += action.amount;
    }
    for action in of_account().filter(|action| action.kind == ActionKind::Refund) {
        let information = action.transaction_information.as_deref().unwrap_or_default();
        let name = information.strip_prefix("Refunded to ").unwrap_or(PATRON);
        let mut left = action.amount;
        // First from the recipient that it names; the rest from the others.
        let first = recipients.iter().position(|recipient| recipient.name == name).unwrap_or(0);
        for index in std::iter::once(first).chain(0..recipients.len()) {
            let part = left.min(recipients[index].refundable);
            recipients[index].refundable -= part;
            left -= part;
        }
    }
    recipients
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use uuid::Uuid;

    const ACCOUNT: Uuid = Uuid::from_u128(1);

    fn cents(cents: i64) -> Money {
        Money::of_cents(cents)
    }

    fn account(remaining: i64) -> Account {
        Account {
            id: ACCOUNT,
            user_id: None,
            loan_id: None,
            amount: cents(1000),
            remaining: cents(remaining),
            is_closed: remaining == 0,
            document: Value::Null,
        }
    }

    fn past(kind: ActionKind, amount: i64, name: &str) -> PastAction {
        let (method, information) = match kind {
            ActionKind::Refund => ("Overpaid".to_owned(), Some(format!("Refunded to {name}"))),
            _ => (name.to_owned(), None),
        };
        PastAction {
            account: ACCOUNT,
            kind,
            amount: cents(amount),
            payment_method: Some(method),
            transaction_information: information,
        }
    }

    fn lines(refund: &Refund) -> Vec<(String, i64, i64, String)> {
        let number = |money: Money| money.to_string().replace('.', "").parse().expect("cents");
        refund
            .actions
            .iter()
            .map(|action| {
                let information = action.transaction_information.clone().unwrap_or_default();
                (action.result.clone(), number(action.amount), number(action.balance), information)
            })
            .collect()
    }

    #[test]
    fn payments_are_refunded_before_transfers_and_each_credit_comes_first() {
        let past = [past(ActionKind::Pay, 400, "Cash"), past(ActionKind::Transfer, 600, "Bursar")];
        let refund = refund(Some("5.00"), &[account(0)], &past).expect("five of ten");
        let line = |result: &str, amount, balance, information: &str| {
            (result.to_owned(), amount, balance, information.to_owned())
        };
        assert_eq!(
            lines(&refund),
            [
                line("Credited fully", 400, 0, "Refund to patron"),
                line("Credited partially", 100, 0, "Refund to Bursar"),
                line("Refunded fully", 400, 400, "Refunded to patron"),
                line("Refunded partially", 100, 500, "Refunded to Bursar"),
            ]
        );
        assert_eq!(refund.changes[0].remaining, cents(500));
        assert_eq!(refund.changes[0].payment_status, "Refunded partially");
        assert!(!refund.changes[0].is_closed, "what was refunded is owed again");
    }

    #[test]
    fn what_was_refunded_before_is_not_refunded_again() {
        let past = [
            past(ActionKind::Pay, 400, "Cash"),
            past(ActionKind::Transfer, 600, "Bursar"),
            past(ActionKind::Refund, 400, "patron"),
        ];
        let again = refund(Some("6"), &[account(400)], &past).expect("the rest");
        let recipients: Vec<String> = lines(&again).into_iter().map(|line| line.3).collect();
        assert_eq!(recipients, ["Refund to Bursar", "Refunded to Bursar"]);
        assert_eq!(refund(Some("6.01"), &[account(400)], &past), Err(EXCEEDS_REFUNDABLE));
    }

    #[test]
    fn an_account_that_nobody_paid_has_nothing_to_refund() {
        assert_eq!(refund(Some("1"), &[account(1000)], &[]), Err(EXCEEDS_REFUNDABLE));
    }
}
