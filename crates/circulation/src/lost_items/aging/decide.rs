//! The rule of aging to lost.

use crate::document::text_at;
use crate::loans::find::LoanAtDesk;
use carrel_loan_rules::LoanStatus;
use carrel_loan_rules::lost_item_policy::LostItemPolicy;
use carrel_records::{ItemStatus, time};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// Statuses of items that do not age to lost.
pub const NEVER_AGES: [ItemStatus; 3] =
    [ItemStatus::ClaimedReturned, ItemStatus::AgedToLost, ItemStatus::DeclaredLost];

/// Whether the loan's item is lost by now.
pub fn ages(loan: &LoanAtDesk, policy: &LostItemPolicy, now: Timestamp) -> bool {
    let statuses = [loan.item_status(), text_at(&loan.document, "itemStatus").into()];
    let due = time::parse(text_at(&loan.document, "dueDate"));
    LoanStatus::of(&loan.document) == Some(LoanStatus::Open)
        && !statuses.iter().any(|status| NEVER_AGES.contains(status))
        && due.is_some_and(|due| policy.is_aged_to_lost(is_recalled(&loan.document), due, now))
}

fn is_recalled(loan: &Map<String, Value>) -> bool {
    loan.get("dueDateChangedByRecall") == Some(&Value::Bool(true))
}

/// The loan of an item that becomes lost now, to be billed later.
pub fn aged(loan: &Map<String, Value>, policy: &LostItemPolicy, now: Timestamp) -> Map<String, Value> {
    let mut changed = loan.clone();
    changed.insert("action".into(), "itemAgedToLost".into());
    changed.remove("actionComment");
    changed.insert("itemStatus".into(), (&ItemStatus::AgedToLost).into());
    let billed = policy.billing_date(is_recalled(loan), now);
    let mut billing =
        loan.get("agedToLostDelayedBilling").and_then(Value::as_object).cloned().unwrap_or_default();
    billing.insert("lostItemHasBeenBilled".into(), false.into());
    billing.insert("dateLostItemShouldBeBilled".into(), time::format(billed).into());
    billing.insert("agedToLostDate".into(), time::format(now).into());
    changed.insert("agedToLostDelayedBilling".into(), json!(billing));
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        time::parse(text).expect("a time")
    }

    fn loan(more: Value) -> LoanAtDesk {
        let mut document = json!({"status": {"name": "Open"}, "dueDate": "2026-05-01T10:00:00Z",
            "itemStatus": "Checked out", "actionComment": "old", "own": 1});
        document.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        LoanAtDesk { document: document.as_object().expect("an object").clone(), ..LoanAtDesk::default() }
    }

    fn policy() -> LostItemPolicy {
        let weeks = |duration: i64| json!({"duration": duration, "intervalId": "Weeks"});
        LostItemPolicy::read(&json!({"itemAgedLostOverdue": weeks(2), "patronBilledAfterAgedLost": weeks(1),
            "recalledItemAgedLostOverdue": weeks(1)}))
    }

    #[test]
    fn only_open_loans_age_and_recalled_ones_sooner() {
        let now = at("2026-05-10T10:00:00Z");
        let late = at("2026-06-10T10:00:00Z");
        assert!(!ages(&loan(json!({})), &policy(), now));
        assert!(ages(&loan(json!({})), &policy(), late));
        assert!(ages(&loan(json!({"dueDateChangedByRecall": true})), &policy(), now));
        assert!(!ages(&loan(json!({"status": {"name": "Closed"}})), &policy(), late));
        for status in NEVER_AGES {
            assert!(!ages(&loan(json!({"itemStatus": status})), &policy(), late), "{status}");
        }
        assert!(!ages(&loan(json!({})), &LostItemPolicy::default(), late));
    }

    #[test]
    fn the_patron_is_billed_later() {
        let stored = loan(json!({}));
        let changed = aged(&stored.document, &policy(), at("2026-05-20T10:00:00Z"));
        assert_eq!(
            changed["agedToLostDelayedBilling"],
            json!({"lostItemHasBeenBilled": false, "agedToLostDate": "2026-05-20T10:00:00.000+00:00",
                "dateLostItemShouldBeBilled": "2026-05-27T10:00:00.000+00:00"})
        );
        assert_eq!(
            (&changed["action"], &changed["itemStatus"]),
            (&json!("itemAgedToLost"), &json!("Aged to lost"))
        );
        assert!(!changed.contains_key("actionComment"));
        assert_eq!(changed["own"], 1);
    }
}
