//! A loan in the form of the circulation API: the stored record without internal fields, with its related records.

use crate::desk::{ItemAtDesk, Patron};
use crate::settings::{CirculationSettings, ServicePoint};
use carrel_records::ItemStatus;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// The related records that are shown with the loan.
pub struct LoanContext<'a> {
    pub item: Option<&'a ItemAtDesk>,
    /// Status of the item after the action.
    pub item_status: Option<&'a ItemStatus>,
    pub patron: Option<&'a Patron>,
    pub amount_remaining: f64,
    /// Renewals of loans with billed reminders are blocked by the overdue fine policy.
    pub reminders_block_renewal: Option<bool>,
}

/// The extended loan.
pub fn extended(stored: &Map<String, Value>, beside: &LoanContext, settings: &CirculationSettings) -> Value {
    let mut loan = stored.clone();
    loan.remove("itemStatus");
    loan.remove("agedToLostDelayedBilling");
    for flag in ["dueDateChangedByHold", "dueDateChangedByNearExpireUser"] {
        if loan.get(flag) == Some(&Value::Bool(false)) {
            loan.remove(flag);
        }
    }
    let id_at = |loan: &Map<String, Value>, key: &str| {
        loan.get(key).and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok())
    };
    if let Some(item) = beside.item {
        loan.insert("item".into(), item.summary(settings, beside.item_status.unwrap_or(&item.status)));
    }
    if let Some(patron) = beside.patron {
        loan.insert("borrower".into(), patron.summary());
    }
    for (key, shown) in
        [("checkoutServicePointId", "checkoutServicePoint"), ("checkinServicePointId", "checkinServicePoint")]
    {
        if let Some(point) = id_at(&loan, key).and_then(|id| settings.service_points.get(&id)) {
            loan.insert(shown.into(), service_point(point));
        }
    }
    if let Some(group) = id_at(&loan, "patronGroupIdAtCheckout")
        && let Some(named) = settings.patron_groups.get(&group)
    {
        loan.insert("patronGroupAtCheckout".into(), json!({"id": group, "name": named.name}));
    }
    loan.remove("patronGroupIdAtCheckout");
    let loan_policy = id_at(&loan, "loanPolicyId").and_then(|id| settings.loan_policies.get(&id));
    loan.insert("loanPolicy".into(), json!({"name": loan_policy.and_then(|policy| policy.name.as_ref())}));
    for (key, shown, policies) in [
        ("overdueFinePolicyId", "overdueFinePolicy", &settings.overdue_fine_policies),
        ("lostItemPolicyId", "lostItemPolicy", &settings.lost_item_policies),
    ] {
        let policy = id_at(&loan, key).and_then(|id| policies.get(&id));
        loan.insert(shown.into(), json!({"name": policy.and_then(|policy| policy.get("name"))}));
    }
    loan.insert("feesAndFines".into(), json!({"amountRemainingToPay": beside.amount_remaining}));
    if let Some(blocked) = beside.reminders_block_renewal
        && loan.get("reminders").is_some_and(|reminders| reminders["lastFeeBilled"]["number"].is_number())
        && let Some(reminders) = loan.get_mut("reminders").and_then(Value::as_object_mut)
    {
        reminders.insert("renewalBlocked".into(), blocked.into());
    }
    Value::Object(loan)
}

/// A service point in the form in which loans contain it; absent fields are null.
fn service_point(point: &ServicePoint) -> Value {
    json!({
        "name": point.name,
        "code": point.code,
        "discoveryDisplayName": point.discovery_display_name,
        "description": point.description,
        "shelvingLagTime": point.shelving_lag_time,
        "pickupLocation": point.pickup_location == Some(true),
    })
}

/// The extended loan without the properties that an action does not show.
pub fn without(mut loan: Value, properties: &[&str]) -> Value {
    if let Some(loan) = loan.as_object_mut() {
        loan.retain(|property, _| !properties.contains(&property.as_str()));
    }
    loan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Named;

    const DESK: Uuid = Uuid::from_u128(1);
    const GROUP: Uuid = Uuid::from_u128(2);

    fn shown(loan: Value) -> Value {
        let mut settings = CirculationSettings::blank();
        settings.service_points.insert(DESK, ServicePoint { name: "Desk".into(), ..ServicePoint::default() });
        settings.patron_groups.insert(GROUP, Named { name: "staff".into(), ..Named::default() });
        let patron = Patron { barcode: Some("card".into()), ..Patron::default() };
        let beside = LoanContext {
            item: None,
            item_status: None,
            patron: Some(&patron),
            amount_remaining: 1.5,
            reminders_block_renewal: Some(true),
        };
        extended(loan.as_object().expect("an object"), &beside, &settings)
    }

    #[test]
    fn internal_fields_are_not_shown_and_absent_ones_are_null() {
        let loan = json!({"id": "1", "itemStatus": "Aged to lost", "patronGroupIdAtCheckout": GROUP,
            "checkoutServicePointId": DESK, "dueDateChangedByHold": false,
            "agedToLostDelayedBilling": {"agedToLostDate": "2024-05-01"}});
        assert_eq!(
            shown(loan),
            json!({
                "id": "1", "checkoutServicePointId": DESK,
                "checkoutServicePoint": {"name": "Desk", "code": null, "discoveryDisplayName": null,
                    "description": null, "shelvingLagTime": null, "pickupLocation": false},
                "patronGroupAtCheckout": {"id": GROUP, "name": "staff"},
                "borrower": {"firstName": null, "lastName": null, "middleName": null, "barcode": "card",
                    "preferredFirstName": null, "patronGroup": null},
                "loanPolicy": {"name": null}, "overdueFinePolicy": {"name": null},
                "lostItemPolicy": {"name": null}, "feesAndFines": {"amountRemainingToPay": 1.5},
            })
        );
    }

    #[test]
    fn a_billed_reminder_shows_whether_it_blocks_renewal() {
        assert!(shown(json!({"reminders": {}}))["reminders"].get("renewalBlocked").is_none());
        let billed = json!({"reminders": {"lastFeeBilled": {"number": 1}}});
        assert_eq!(shown(billed)["reminders"]["renewalBlocked"], true);
    }
}
