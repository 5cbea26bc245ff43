//! Overdue fine: what a patron owes for an item that is returned or renewed after its due date.
//!
//! No routes: a part of check-in and renewal. Decided from the loan, the item and the tenant's settings, so that no
//! scan reads more for it; adds an account and the record of its charge to the transaction of the scan, announces the
//! balance, and deletes the scheduled overdue notices of the loan.

mod decide;

pub use decide::{Occasion, OverdueItem, may_be_charged_after_loss, overdue_fine};

use carrel_fees_fines::charge::{Charge, Charged, charge};
use carrel_platform::{Pipeline, RowChange};
use jiff::Timestamp;
use uuid::Uuid;

/// Adds the statements of an overdue fine.
pub fn write(pipeline: &mut Pipeline, fine: &Charge, by: Option<Uuid>, now: Timestamp) -> Charged {
    if let Some(loan) = fine.loan {
        pipeline.change_row(&OVERDUE_NOTICES, vec![loan.into()]);
    }
    charge(pipeline, fine, by, now)
}

/// Notices scheduled for the due date or later are not sent once the fine is charged.
static OVERDUE_NOTICES: RowChange = RowChange {
    one: "DELETE FROM scheduled_notice WHERE loan_id = $1 AND doc->>'triggeringEvent' = 'Due date'
         AND doc->'noticeConfig'->>'timing' IN ('Upon At', 'After')",
    several: "DELETE FROM scheduled_notice WHERE loan_id = ANY ($1::uuid[])
         AND doc->>'triggeringEvent' = 'Due date' AND doc->'noticeConfig'->>'timing' IN ('Upon At', 'After')",
};
