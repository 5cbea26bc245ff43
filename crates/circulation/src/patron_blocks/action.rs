//! The actions that automated blocks refuse, and their refusals.

use super::{Block, Facts, blocks_of};
use crate::desk::Patron;
use crate::desk::override_blocks::{MayOverride, PATRON_BLOCK};
use crate::settings::CirculationSettings;
use carrel_records::{Refusal, RefusalCode};

/// An action that blocks can refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Borrowing,
    Renewing,
    Requesting,
}

impl Action {
    fn is_blocked_by(self, block: &Block) -> bool {
        match self {
            Action::Borrowing => block.borrowing,
            Action::Renewing => block.renewals,
            Action::Requesting => block.requests,
        }
    }

    /// Whether a limit applies to the action, so that loans and fees/fines must be counted.
    pub fn is_limited(self, settings: &CirculationSettings) -> bool {
        let flag = match self {
            Action::Borrowing => "blockBorrowing",
            Action::Renewing => "blockRenewals",
            Action::Requesting => "blockRequests",
        };
        !settings.patron_block_limits.is_empty()
            && settings.patron_block_conditions.iter().any(|condition| condition[flag] == true)
    }

    /// One refusal for each limit that the patron exceeds.
    pub fn refusals(
        self,
        counted: Option<&Facts>,
        patron: &Patron,
        settings: &CirculationSettings,
        may: &MayOverride,
    ) -> Vec<Refusal> {
        blocks_of(settings, patron.id, patron.patron_group, counted)
            .into_iter()
            .filter(|block| self.is_blocked_by(block))
            .map(|block| {
                let refusal = Refusal::new(block.message).code(RefusalCode::UserIsBlockedAutomatically);
                PATRON_BLOCK.mark(refusal, may)
            })
            .collect()
    }
}
