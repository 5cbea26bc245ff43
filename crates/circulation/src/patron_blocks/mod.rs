//! Automated patron blocks: a patron who exceeds a limit on loans, fees/fines or overdue items may not borrow, renew or
//! request.
//!
//! Routes: `/patron-block-conditions` and `/patron-block-limits` (what blocks, and from which value on for each patron
//! group), `/automated-patron-blocks/{userId}` and `/user-summary/{userId}` (computed from open loans and open
//! fees/fines), `/automated-patron-blocks/handlers/…` and `…/synchronization/…`. Reads loans, accounts and the
//! settings; changes of conditions and limits increment the settings version. Check-out, renewal and requests call
//! [`Action::refusals`] with their facts.
//!
//! No counts are stored: each decision counts the current loans and accounts in its transaction, with the patron
//! locked. So two concurrent check-outs cannot exceed a limit together, and no stored count can be wrong.

mod action;
mod event_handlers;
mod facts;
mod route;
mod synchronization;
mod validate;

pub use action::Action;
pub use carrel_loan_rules::patron_blocks::{
    Block, Conditions, Counts, Facts, OpenFee, OpenLoan, automated_blocks,
};
pub use facts::{open_fees_sql, open_loans_sql, read};
pub use synchronization::SYNCHRONIZATION;

use crate::settings::CirculationSettings;
use carrel_platform::Router;
use uuid::Uuid;

/// The conditions and limits of a tenant's settings.
pub fn conditions(settings: &CirculationSettings) -> Conditions {
    Conditions::read(&settings.patron_block_conditions, &settings.patron_block_limits)
}

/// The blocks of a patron: those that follow from the facts, and in a tenant with stand-ins those that a test suite has set.
pub fn blocks_of(
    settings: &CirculationSettings,
    patron: Uuid,
    group: Option<Uuid>,
    counted: Option<&Facts>,
) -> Vec<Block> {
    let mut blocks =
        counted.map(|facts| automated_blocks(facts, &conditions(settings), group)).unwrap_or_default();
    blocks.extend(settings.given_blocks.get(&patron).into_iter().flatten().cloned());
    blocks
}

pub fn connect(router: &mut Router) {
    validate::connect(router);
    route::connect(router);
    event_handlers::connect(router);
    synchronization::connect(router);
}
