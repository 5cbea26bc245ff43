//! Blocks that staff can override, and the permissions for it.

use carrel_platform::http::Caller;
use carrel_records::{Refusal, RefusalCode};
use serde::Deserialize;

/// `overrideBlocks` of a check-out, renewal or request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OverrideBlocks {
    pub patron_block: Option<Empty>,
    pub item_limit_block: Option<Empty>,
    pub item_not_loanable_block: Option<WithDueDate>,
    pub renewal_block: Option<Empty>,
    pub renewal_due_date_required_block: Option<WithDueDate>,
    pub comment: Option<String>,
}

/// An override without parameters.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Empty {}

/// An override with a due date, if the policy does not give one.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WithDueDate {
    pub due_date: Option<String>,
}

/// A block that can be overridden: its name in refusals, and the permission for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    pub name: &'static str,
    pub permission: &'static str,
}

/// A block of the patron, manual or automated.
pub const PATRON_BLOCK: Block =
    Block { name: "patronBlock", permission: "circulation.override-patron-block.post" };
/// The item limit of the loan policy is reached.
pub const ITEM_LIMIT_BLOCK: Block =
    Block { name: "itemLimitBlock", permission: "circulation.override-item-limit-block.post" };
/// The item is not loanable by its loan policy.
pub const ITEM_NOT_LOANABLE_BLOCK: Block =
    Block { name: "itemNotLoanableBlock", permission: "circulation.override-item-not-loanable-block.post" };
/// The loan cannot be renewed; its new due date is known.
pub const RENEWAL_BLOCK: Block =
    Block { name: "renewalBlock", permission: "circulation.override-renewal-block.post" };
/// The loan cannot be renewed; an override must contain the due date.
pub const RENEWAL_DUE_DATE_REQUIRED_BLOCK: Block =
    Block { name: "renewalDueDateRequiredBlock", permission: "circulation.override-renewal-block.post" };

/// The caller's override permissions.
#[derive(Debug, Clone, Default)]
pub struct MayOverride(Vec<&'static str>);

impl MayOverride {
    pub fn of(caller: &Caller) -> MayOverride {
        let all = [PATRON_BLOCK, ITEM_LIMIT_BLOCK, ITEM_NOT_LOANABLE_BLOCK, RENEWAL_BLOCK];
        MayOverride(all.iter().map(|block| block.permission).filter(|name| caller.may(name)).collect())
    }
    /// All permissions, for tests and for callers within the program.
    pub fn all() -> MayOverride {
        MayOverride(
            [PATRON_BLOCK, ITEM_LIMIT_BLOCK, ITEM_NOT_LOANABLE_BLOCK, RENEWAL_BLOCK]
                .map(|b| b.permission)
                .to_vec(),
        )
    }
    /// The permissions that the caller lacks for the block.
    pub fn missing(&self, block: Block) -> Vec<&'static str> {
        if self.0.contains(&block.permission) { Vec::new() } else { vec![block.permission] }
    }
}

impl Block {
    /// Marks a refusal as one that can be overridden, with the permissions that the caller lacks.
    pub fn mark(self, refusal: Refusal, may: &MayOverride) -> Refusal {
        refusal.overridable(self.name, may.missing(self))
    }

    /// The refusal of an override without permission.
    pub fn refuse_override(self, may: &MayOverride) -> Option<Refusal> {
        let missing = may.missing(self);
        (!missing.is_empty()).then(|| {
            Refusal::new("Insufficient override permissions")
                .code(RefusalCode::InsufficientOverridePermissions)
                .overridable(self.name, missing)
        })
    }
}
