//! What the actions on fees/fines have in common: pay, waive, transfer, refund and cancel, for one account or several.
//!
//! An action locks its accounts, decides by their current balances, and stores the changed accounts, the records of the
//! action and the events in the same transaction, so that no two actions spend the same amount. Dependent modules are
//! notified in that transaction of the settled fees of a loan ([`crate::loan_fees_closed`]).

mod account;
mod answer;
mod kind;
mod request;
mod split;
mod store;

pub use account::{Account, AccountChange, NewAction};
pub use answer::{answer_action, answer_check};
pub use kind::{ActionKind, PastAction};
pub use request::{ActionRequest, Scope};
pub use split::split;
pub use store::{
    LOCK_ITEMS, PAST_ACTIONS, find_accounts, lock_accounts, read_past_actions, store, write_actions,
};

use carrel_records::Money;

/// Why an action is refused: FOLIO's text.
pub type Refusal = &'static str;

pub const INVALID_AMOUNT: Refusal = "Invalid amount entered";
pub const NOT_POSITIVE: Refusal = "Amount must be positive";
pub const ALREADY_CLOSED: Refusal = "Fee/fine is already closed";
pub const EXCEEDS_REMAINING: Refusal = "Requested amount exceeds remaining amount";
pub const EXCEEDS_REFUNDABLE: Refusal =
    "Refund amount must be greater than zero and less than or equal to Selected amount";

/// The amount that a client sent as text.
pub fn requested_amount(text: Option<&str>) -> Result<Money, Refusal> {
    let amount: Money = text.unwrap_or_default().parse().map_err(|_| INVALID_AMOUNT)?;
    if amount.is_positive() { Ok(amount) } else { Err(NOT_POSITIVE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requested_amount_is_a_positive_number() {
        assert_eq!(requested_amount(Some("2.50")), Ok(Money::of_cents(250)));
        assert_eq!(requested_amount(Some("0.00")), Err(NOT_POSITIVE));
        assert_eq!(requested_amount(Some("-1")), Err(NOT_POSITIVE));
        assert_eq!(requested_amount(Some("much")), Err(INVALID_AMOUNT));
        assert_eq!(requested_amount(None), Err(INVALID_AMOUNT));
    }
}
