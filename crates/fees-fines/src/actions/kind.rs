//! Kinds of actions by the names of their results.

use carrel_records::Money;
use uuid::Uuid;

/// A kind of action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionKind {
    Pay,
    Waive,
    Transfer,
    /// Money is returned and owed again.
    Refund,
    /// Precedes each refund and changes no balance.
    Credit,
    Cancel,
}

impl ActionKind {
    pub const ALL: [ActionKind; 6] = [
        ActionKind::Pay,
        ActionKind::Waive,
        ActionKind::Transfer,
        ActionKind::Refund,
        ActionKind::Credit,
        ActionKind::Cancel,
    ];

    /// The result if nothing remains.
    pub const fn full_result(self) -> &'static str {
        match self {
            ActionKind::Pay => "Paid fully",
            ActionKind::Waive => "Waived fully",
            ActionKind::Transfer => "Transferred fully",
            ActionKind::Refund => "Refunded fully",
            ActionKind::Credit => "Credited fully",
            ActionKind::Cancel => "Cancelled as error",
        }
    }

    /// The result if something remains; a cancellation leaves nothing.
    pub const fn partial_result(self) -> &'static str {
        match self {
            ActionKind::Pay => "Paid partially",
            ActionKind::Waive => "Waived partially",
            ActionKind::Transfer => "Transferred partially",
            ActionKind::Refund => "Refunded partially",
            ActionKind::Credit => "Credited partially",
            ActionKind::Cancel => "Cancelled as error",
        }
    }

    pub const fn result(self, is_full: bool) -> &'static str {
        if is_full { self.full_result() } else { self.partial_result() }
    }

    /// The kind of action that has this result.
    pub fn of_result(result: &str) -> Option<ActionKind> {
        ActionKind::ALL.into_iter().find(|kind| [kind.full_result(), kind.partial_result()].contains(&result))
    }
}

/// An earlier action that a refund depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastAction {
    pub account: Uuid,
    pub kind: ActionKind,
    pub amount: Money,
    /// Method of payment, reason, or account transferred to.
    pub payment_method: Option<String>,
    pub transaction_information: Option<String>,
}
