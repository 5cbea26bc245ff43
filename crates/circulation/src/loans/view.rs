//! A loan as clients of circulation see it: the stored record without what is ours, with what they show beside
//! it (circulation.md 0).

use crate::desk::{ItemAtDesk, Patron};
use crate::rulebook::{Rulebook, ServicePoint};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// What is shown beside the loan.
pub struct Beside<'a> {
    pub item: Option<&'a ItemAtDesk>,
    /// Status of the item as it is after the action at hand.
    pub item_status: Option<&'a str>,
    pub patron: Option<&'a Patron>,
    pub amount_remaining: f64,
    /// Renewals of loans with billed reminders are blocked by the overdue fine policy.
    pub reminders_block_renewal: Option<bool>,
}

/// The extended loan.
pub fn extended(stored: &Map<String, Value>, beside: &Beside, book: &Rulebook) -> Value {
    let mut loan = stored.clone();
    loan.remove("itemStatus");
    if let Some(billing) = loan.get_mut("agedToLostDelayedBilling").and_then(Value::as_object_mut) {
        billing.retain(|key, _| key == "agedToLostDate");
        if billing.is_empty() {
            loan.remove("agedToLostDelayedBilling");
        }
    }
    for flag in ["dueDateChangedByHold", "dueDateChangedByNearExpireUser"] {
        if loan.get(flag) == Some(&Value::Bool(false)) {
            loan.remove(flag);
        }
    }
    let id_at = |loan: &Map<String, Value>, key: &str| {
        loan.get(key).and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok())
    };
    if let Some(item) = beside.item {
        loan.insert("item".into(), item.summary(book, beside.item_status.unwrap_or(&item.status)));
    }
    if let Some(patron) = beside.patron {
        loan.insert("borrower".into(), patron.summary());
    }
    for (key, shown) in
        [("checkoutServicePointId", "checkoutServicePoint"), ("checkinServicePointId", "checkinServicePoint")]
    {
        if let Some(point) = id_at(&loan, key).and_then(|id| book.service_points.get(&id)) {
            loan.insert(shown.into(), service_point(point));
        }
    }
    if let Some(group) = id_at(&loan, "patronGroupIdAtCheckout")
        && let Some(named) = book.patron_groups.get(&group)
    {
        loan.insert("patronGroupAtCheckout".into(), json!({"id": group, "name": named.name}));
    }
    loan.remove("patronGroupIdAtCheckout");
    if let Some(id) = id_at(&loan, "loanPolicyId") {
        let name = book.loan_policies.get(&id).and_then(|policy| policy.name.clone());
        loan.insert("loanPolicy".into(), json!({"name": name}));
    }
    for (key, shown, policies) in [
        ("overdueFinePolicyId", "overdueFinePolicy", &book.overdue_fine_policies),
        ("lostItemPolicyId", "lostItemPolicy", &book.lost_item_policies),
    ] {
        if let Some(id) = id_at(&loan, key) {
            let name = policies.get(&id).and_then(|policy| policy.get("name").cloned());
            loan.insert(shown.into(), json!({"name": name}));
        }
    }
    loan.insert("feesAndFines".into(), json!({"amountRemainingToPay": beside.amount_remaining}));
    if let Some(blocked) = beside.reminders_block_renewal
        && let Some(reminders) = loan.get_mut("reminders").and_then(Value::as_object_mut)
    {
        reminders.insert("renewalBlocked".into(), blocked.into());
    }
    Value::Object(loan)
}

fn service_point(point: &ServicePoint) -> Value {
    let mut shown = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            shown.insert(key.to_owned(), value);
        }
    };
    put("name", Some(point.name.as_str().into()));
    put("code", point.code.clone().map(Into::into));
    put("discoveryDisplayName", point.discovery_display_name.clone().map(Into::into));
    put("description", point.description.clone().map(Into::into));
    put("shelvingLagTime", point.shelving_lag_time.map(Into::into));
    put("pickupLocation", point.pickup_location.map(Into::into));
    Value::Object(shown)
}
