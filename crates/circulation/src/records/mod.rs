//! Record types of circulation and patron blocks.

pub mod actual_cost;
pub mod loans;
pub mod notices;
pub mod patron_block_events;
pub mod patron_blocks;
pub mod policies;
pub mod requests;

use carrel_records::RecordType;

/// Every record type of this module; a type comes after those that it refers to.
pub static RECORD_TYPES: &[&RecordType] = &[
    &policies::FIXED_DUE_DATE_SCHEDULE,
    &policies::LOAN_POLICY,
    &policies::REQUEST_POLICY,
    &policies::CIRCULATION_RULES,
    &policies::CIRCULATION_SETTING,
    &loans::LOAN,
    &loans::LOAN_HISTORY_ITEM,
    &loans::CHECK_IN,
    &loans::ACTUAL_COST_RECORD,
    &loans::CHECK_OUT_LOCK,
    &loans::PATRON_ACTION_SESSION,
    &requests::CANCELLATION_REASON,
    &requests::REQUEST,
    &notices::PATRON_NOTICE_POLICY,
    &notices::SCHEDULED_NOTICE,
    &patron_blocks::PATRON_BLOCK_CONDITION,
    &patron_blocks::PATRON_BLOCK_LIMIT,
    &patron_blocks::USER_SUMMARY,
    &patron_blocks::SYNCHRONIZATION_JOB,
];

/// Events that FOLIO sends to mod-patron-blocks. Patron blocks are computed from loans and accounts, so these have no
/// tables; their shapes validate the requests to the handlers.
pub static EVENT_TYPES: &[&RecordType] = &[
    &patron_block_events::FEE_FINE_BALANCE_CHANGED_EVENT,
    &patron_block_events::ITEM_AGED_TO_LOST_EVENT,
    &patron_block_events::ITEM_CHECKED_IN_EVENT,
    &patron_block_events::ITEM_CHECKED_OUT_EVENT,
    &patron_block_events::ITEM_CLAIMED_RETURNED_EVENT,
    &patron_block_events::ITEM_DECLARED_LOST_EVENT,
    &patron_block_events::LOAN_CLOSED_EVENT,
    &patron_block_events::LOAN_DUE_DATE_CHANGED_EVENT,
];

#[cfg(test)]
mod tests {
    use super::{EVENT_TYPES, RECORD_TYPES};
    use carrel_records::soundness;

    #[test]
    fn the_declarations_hold_together() {
        assert_eq!(soundness::faults(RECORD_TYPES, &[]), [""; 0]);
        assert_eq!(soundness::faults(EVENT_TYPES, &[]), [""; 0]);
    }
}
