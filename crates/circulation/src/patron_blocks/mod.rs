//! Automated patron blocks: a patron who has too much, owes too much or is too late may not borrow, renew or
//! request.
//!
//! Routes: `/patron-block-conditions` and `/patron-block-limits` (what blocks, and from which value on for each
//! patron group), `/automated-patron-blocks/{userId}` and `/user-summary/{userId}` (counted from open loans and
//! open fees/fines as they are now). Reads loans, item states, accounts and the rulebook; changes of conditions and
//! limits move the stamp. Check-out, renewal and requests ask [`Action::refusals`] with their own facts.

mod action;
mod decide;
mod facts;
mod route;
mod rules;
mod saving;

pub use action::Action;
pub use decide::{Block, Counts, Facts, OpenFee, OpenLoan, automated_blocks};
pub use facts::{open_fees_sql, open_loans_sql, read};
pub use rules::Conditions;

use carrel_platform::Router;

pub fn connect(router: &mut Router) {
    saving::connect(router);
    route::connect(router);
}
