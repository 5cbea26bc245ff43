//! The rule of billing items that have aged to lost.

use crate::document::text_at;
use crate::loans::find::LoanAtDesk;
use carrel_loan_rules::LoanStatus;
use carrel_records::{ItemStatus, time};
use jiff::Timestamp;
use serde_json::{Map, Value};

/// Whether the loan is to be billed now: its item is still lost, and it has not been billed.
pub fn is_due(loan: &LoanAtDesk, now: Timestamp) -> bool {
    let billing = loan.document.get("agedToLostDelayedBilling");
    let date = time::parse(text_at(&loan.document, "agedToLostDelayedBilling/dateLostItemShouldBeBilled"));
    loan.item_status() == ItemStatus::AgedToLost
        && LoanStatus::of(&loan.document) == Some(LoanStatus::Open)
        && billing.is_some_and(|billing| billing["lostItemHasBeenBilled"] == false)
        && date.is_some_and(|date| date <= now)
}

/// The loan after billing.
pub fn billed(loan: &Map<String, Value>) -> Map<String, Value> {
    let mut changed = loan.clone();
    // FOLIO quirk: the action is empty, so that the history does not show the item as aged a second time.
    changed.insert("action".into(), "".into());
    if let Some(billing) = changed.get_mut("agedToLostDelayedBilling").and_then(Value::as_object_mut) {
        billing.insert("lostItemHasBeenBilled".into(), true.into());
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn loan(status: &str, billing: Value) -> LoanAtDesk {
        let document =
            json!({"status": {"name": "Open"}, "itemStatus": status, "agedToLostDelayedBilling": billing});
        LoanAtDesk { document: document.as_object().expect("an object").clone(), ..LoanAtDesk::default() }
    }

    #[test]
    fn a_loan_is_billed_once_and_not_before_its_date() {
        let now = time::parse("2026-05-10T10:00:00Z").expect("a time");
        let unbilled =
            |date: &str| json!({"lostItemHasBeenBilled": false, "dateLostItemShouldBeBilled": date});
        assert!(is_due(&loan("Aged to lost", unbilled("2026-05-10T10:00:00Z")), now));
        assert!(!is_due(&loan("Aged to lost", unbilled("2026-05-10T10:00:01Z")), now));
        assert!(!is_due(&loan("Checked out", unbilled("2026-05-01T10:00:00Z")), now));
        let due = loan("Aged to lost", unbilled("2026-05-01T10:00:00Z"));
        let billed = LoanAtDesk { document: billed(&due.document), ..LoanAtDesk::default() };
        assert!(!is_due(&billed, now));
        assert_eq!(billed.document["action"], "");
    }
}
