//! Record types of fees, fines and manual blocks.

pub mod accounts;
pub mod blocks;
pub mod charges;
pub mod policies;

use carrel_records::RecordType;

/// Every record type of this module; a type comes after those that it refers to.
pub static RECORD_TYPES: &[&RecordType] = &[
    &accounts::ACCOUNT,
    &accounts::FEEFINEACTION,
    &charges::OWNER,
    &charges::FEEFINE,
    &charges::PAYMENT,
    &charges::REFUND,
    &charges::WAIVE,
    &charges::TRANSFER,
    &charges::TRANSFER_CRITERIA,
    &charges::COMMENT,
    &policies::OVERDUE_FINE_POLICY,
    &policies::LOST_ITEM_FEE_POLICY,
    &blocks::MANUALBLOCK,
    &blocks::MANUAL_BLOCK_TEMPLATE,
];

#[cfg(test)]
mod tests {
    use super::RECORD_TYPES;

    #[test]
    fn the_declarations_hold_together() {
        assert_eq!(carrel_records::soundness::faults(RECORD_TYPES, &[]), [""; 0]);
    }
}
