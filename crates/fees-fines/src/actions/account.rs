//! An account in the decisions about actions, and its changes.

use carrel_records::Money;
use serde_json::Value;
use uuid::Uuid;

/// A fee/fine of a patron.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    pub id: Uuid,
    pub user_id: Option<Uuid>,
    pub loan_id: Option<Uuid>,
    /// The amount charged.
    pub amount: Money,
    pub remaining: Money,
    pub is_closed: bool,
    /// The whole stored document.
    pub document: Value,
}

impl Account {
    /// Reads a stored document; `None` without an id.
    pub fn read(document: Value) -> Option<Account> {
        let id = |name: &str| document[name].as_str().and_then(|id| Uuid::parse_str(id).ok());
        let money = |name: &str| Money::read(&document[name]).unwrap_or_default();
        Some(Account {
            id: id("id")?,
            user_id: id("userId"),
            loan_id: id("loanId"),
            amount: money("amount"),
            remaining: money("remaining"),
            is_closed: document["status"]["name"]
                .as_str()
                .is_some_and(|name| name.eq_ignore_ascii_case("Closed")),
            document,
        })
    }
}

/// The change of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountChange {
    pub account: Uuid,
    pub remaining: Money,
    pub payment_status: String,
    pub is_closed: bool,
}

/// The record of an action, without the values that all records of a request share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAction {
    pub account: Uuid,
    /// The result, such as `Paid partially`, or the reason of a cancellation.
    pub result: String,
    pub amount: Money,
    /// The balance after the action.
    pub balance: Money,
    /// Replaces the value that the client sent.
    pub transaction_information: Option<String>,
}
