//! Record types of circulation, patron blocks and the calendar.

pub mod calendar;
pub mod loans;
pub mod notices;
pub mod patron_block_events;
pub mod patron_blocks;
pub mod policies;
pub mod requests;

use carrel_records::RecordType;

/// Every record type of this module, those referred to before those that refer.
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
    &requests::REQUEST_PREFERENCE,
    &requests::CANCELLATION_REASON,
    &requests::REQUEST,
    &requests::PRINT_EVENT,
    &requests::TLR_FEATURE_TOGGLE_JOB,
    &notices::PATRON_NOTICE_POLICY,
    &notices::SCHEDULED_NOTICE,
    &notices::STAFF_SLIP,
    &patron_blocks::PATRON_BLOCK_CONDITION,
    &patron_blocks::PATRON_BLOCK_LIMIT,
    &patron_blocks::USER_SUMMARY,
    &patron_blocks::SYNCHRONIZATION_JOB,
    &calendar::CALENDAR,
];

/// What FOLIO tells mod-patron-blocks. Patron blocks are counted from loans and accounts, so these make no
/// tables; their shapes check what is sent to the handlers.
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
    use carrel_records::{RecordType, soundness};

    #[test]
    fn the_declarations_hold_together() {
        assert_eq!(soundness::faults(RECORD_TYPES, &[]), [""; 0]);
        assert_eq!(soundness::faults(EVENT_TYPES, &[]), [""; 0]);
    }

    #[test]
    fn the_declarations_of_all_modules_hold_together() {
        let all: Vec<&RecordType> = [
            carrel_users::records::RECORD_TYPES,
            carrel_inventory::records::RECORD_TYPES,
            carrel_fees_fines::records::RECORD_TYPES,
            carrel_notices::records::RECORD_TYPES,
            RECORD_TYPES,
        ]
        .concat();
        assert_eq!(soundness::faults(&all, &[]), [""; 0]);
        for key in all.iter().flat_map(|record| record.belongs_to) {
            assert!(all.iter().any(|record| record.table == key.to), "{} leads to no table", key.field);
        }
    }
}
