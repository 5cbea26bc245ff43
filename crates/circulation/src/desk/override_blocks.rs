//! Blocks that staff override: which, with what, and whether they may.

use carrel_platform::http::Caller;
use carrel_records::Refusal;
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

/// A block that is overridden by being named.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Empty {}

/// A block whose override names the due date that the policy cannot give.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WithDueDate {
    pub due_date: Option<String>,
}

/// A block that may be overridden: its name in refusals, and the permission that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    pub name: &'static str,
    pub permission: &'static str,
}

/// A block of the patron, manual or automated.
pub const PATRON_BLOCK: Block =
    Block { name: "patronBlock", permission: "circulation.override-patron-block.post" };
/// The loan policy lends no more items of this kind at once.
pub const ITEM_LIMIT_BLOCK: Block =
    Block { name: "itemLimitBlock", permission: "circulation.override-item-limit-block.post" };
/// The loan policy does not lend the item.
pub const ITEM_NOT_LOANABLE_BLOCK: Block =
    Block { name: "itemNotLoanableBlock", permission: "circulation.override-item-not-loanable-block.post" };
/// The loan may not be renewed, though its new due date is known.
pub const RENEWAL_BLOCK: Block =
    Block { name: "renewalBlock", permission: "circulation.override-renewal-block.post" };
/// The loan may not be renewed, and staff must say until when it is all the same.
pub const RENEWAL_DUE_DATE_REQUIRED_BLOCK: Block =
    Block { name: "renewalDueDateRequiredBlock", permission: "circulation.override-renewal-block.post" };

/// Which override permissions the caller has: all that a decision needs to know of him.
#[derive(Debug, Clone, Default)]
pub struct MayOverride(Vec<&'static str>);

impl MayOverride {
    pub fn of(caller: &Caller) -> MayOverride {
        let all = [PATRON_BLOCK, ITEM_LIMIT_BLOCK, ITEM_NOT_LOANABLE_BLOCK, RENEWAL_BLOCK];
        MayOverride(all.iter().map(|block| block.permission).filter(|name| caller.may(name)).collect())
    }
    /// For tests and for ourselves: everything.
    pub fn all() -> MayOverride {
        MayOverride(
            [PATRON_BLOCK, ITEM_LIMIT_BLOCK, ITEM_NOT_LOANABLE_BLOCK, RENEWAL_BLOCK]
                .map(|b| b.permission)
                .to_vec(),
        )
    }
    /// What the caller lacks for the block.
    pub fn missing(&self, block: Block) -> Vec<&'static str> {
        if self.0.contains(&block.permission) { Vec::new() } else { vec![block.permission] }
    }
}

impl Block {
    /// Marks a refusal as one that can be overridden, by whom is reported by the permissions missing.
    pub fn mark(self, refusal: Refusal, may: &MayOverride) -> Refusal {
        refusal.overridable(self.name, may.missing(self))
    }

    /// The refusal of an override by somebody who may not.
    pub fn refuse_override(self, may: &MayOverride) -> Option<Refusal> {
        let missing = may.missing(self);
        (!missing.is_empty()).then(|| {
            Refusal::new("Insufficient override permissions")
                .code("INSUFFICIENT_OVERRIDE_PERMISSIONS")
                .overridable(self.name, missing)
        })
    }
}
