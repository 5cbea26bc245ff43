//! The typed event that the fees/fines of a loan are settled, for dependent modules: a lost item whose fees are settled
//! becomes lost and paid, in the transaction of the payment.

use crate::actions::Account;
use carrel_platform::Changes;
use carrel_records::Failure;
use uuid::Uuid;

/// Fees/fines of a loan that this transaction closes with a balance of zero. Their items are locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoanFeesClosed {
    pub loan: Uuid,
    /// The closed accounts; in the database they are still open.
    pub accounts: Vec<Uuid>,
}

impl LoanFeesClosed {
    /// One event for each loan that has a closed account among these.
    pub(crate) fn of(accounts: &[Account]) -> Vec<LoanFeesClosed> {
        let mut events: Vec<LoanFeesClosed> = Vec::new();
        for account in accounts.iter().filter(|account| account.is_closed && account.remaining.is_zero()) {
            let Some(loan) = account.loan_id else { continue };
            match events.iter_mut().find(|event| event.loan == loan) {
                Some(event) => event.accounts.push(account.id),
                None => events.push(LoanFeesClosed { loan, accounts: vec![account.id] }),
            }
        }
        events
    }
}

/// Runs the listeners of dependent modules.
pub(crate) async fn announce(changes: &mut Changes<'_>, events: Vec<LoanFeesClosed>) -> Result<(), Failure> {
    let tenant = changes.tenant;
    for mut event in events {
        tenant.listeners.announce(changes, &mut event).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_loan_with_a_settled_fee_is_announced_once() {
        let loan = Uuid::from_u128(9);
        let account = |number: u128, status: &str, remaining: f64, loan: Option<Uuid>| {
            let document = json!({"id": Uuid::from_u128(number), "loanId": loan, "remaining": remaining,
                "status": {"name": status}});
            Account::read(document).expect("an account")
        };
        let accounts = [
            account(1, "Closed", 0.0, Some(loan)),
            account(2, "Closed", 0.0, Some(loan)),
            account(3, "Open", 4.0, Some(loan)),
            account(4, "Closed", 0.0, None),
        ];
        let settled = vec![Uuid::from_u128(1), Uuid::from_u128(2)];
        assert_eq!(LoanFeesClosed::of(&accounts), [LoanFeesClosed { loan, accounts: settled }]);
    }
}
