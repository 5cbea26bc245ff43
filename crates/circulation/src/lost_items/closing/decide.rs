//! The rule of closing the loan of a lost item.

use carrel_fees_fines::lost_item_fees::{ACTUAL_COST_FEE, LostItemFee};
use jiff::Timestamp;

/// The loan's last actual cost record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastRecord {
    pub status: String,
    pub expires: Option<Timestamp>,
}

/// Whether the item of an open loan is lost and paid: all fees for the loss are settled, and nothing is still to be
/// charged. `is_settled` tells whether a fee is settled; `is_billed` is false while an item aged to lost waits for its
/// bill.
pub fn is_lost_and_paid(
    fees: &[LostItemFee],
    is_settled: impl Fn(&LostItemFee) -> bool,
    record: Option<&LastRecord>,
    is_billed: bool,
    now: Timestamp,
) -> bool {
    if !is_billed || !fees.iter().all(is_settled) {
        return false;
    }
    let Some(record) = record else { return true };
    if ["Cancelled", "Billed"].contains(&record.status.as_str()) {
        return true;
    }
    // FOLIO quirk: a fee that staff charge by hand counts as that of the record.
    let is_charged = fees.iter().any(|fee| fee.kind == ACTUAL_COST_FEE && !fee.is_cancelled());
    is_charged || record.expires.is_some_and(|end| end < now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrel_records::time;
    use serde_json::json;
    use uuid::Uuid;

    fn fee(kind: &str, status: &str) -> LostItemFee {
        let account = json!({"id": Uuid::nil(), "feeFineType": kind, "paymentStatus": {"name": status}});
        LostItemFee::read(account).expect("an account")
    }

    fn closes(fees: &[LostItemFee], record: Option<(&str, Option<&str>)>, is_billed: bool) -> bool {
        let record = record.map(|(status, expires)| LastRecord {
            status: status.into(),
            expires: expires.and_then(time::parse),
        });
        let is_paid = |fee: &LostItemFee| fee.payment_status != "Outstanding";
        let now = time::parse("2026-05-01T10:00:00Z").expect("a time");
        is_lost_and_paid(fees, is_paid, record.as_ref(), is_billed, now)
    }

    #[test]
    fn a_loan_closes_with_its_last_fee() {
        let paid = fee("Lost item fee", "Paid fully");
        assert!(closes(std::slice::from_ref(&paid), None, true));
        assert!(!closes(&[paid.clone(), fee("Lost item processing fee", "Outstanding")], None, true));
        assert!(!closes(&[paid], None, false), "an item that is not billed yet is not paid");
    }

    #[test]
    fn a_loan_stays_open_while_staff_find_out_the_cost() {
        let paid = [fee("Lost item processing fee", "Paid fully")];
        assert!(!closes(&paid, Some(("Open", None)), true));
        assert!(!closes(&paid, Some(("Open", Some("2026-06-01T00:00:00Z"))), true));
        assert!(closes(&paid, Some(("Open", Some("2026-04-01T00:00:00Z"))), true));
        assert!(closes(&paid, Some(("Cancelled", None)), true));
        let charged = [fee(ACTUAL_COST_FEE, "Paid fully")];
        assert!(closes(&charged, Some(("Open", None)), true));
        let dropped = [fee(ACTUAL_COST_FEE, "Cancelled item declared lost")];
        assert!(!closes(&dropped, Some(("Open", None)), true), "a later record waits");
    }
}
