//! Whether an overdue fine is charged, and how much.

use crate::desk::ItemAtDesk;
use crate::desk::charged_item::charged_item;
use crate::document::text_at;
use crate::lost_items;
use crate::settings::CirculationSettings;
use carrel_circulation_rules::PolicyKind;
use carrel_fees_fines::charge::{Charge, ChargedBy};
use carrel_loan_rules::loan_policy::Period;
use carrel_loan_rules::overdue_fine::{OverdueFinePolicy, OverdueLoan, PrimaryServicePoint};
use carrel_records::time;
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// The name of the automatic type of fees/fines.
const OVERDUE_FINE: &str = "Overdue fine";

/// An overdue item that is returned or renewed.
#[derive(Debug, Clone, Copy)]
pub struct OverdueItem<'a> {
    /// The open loan as stored.
    pub loan: &'a Map<String, Value>,
    /// The item as it was before.
    pub item: &'a ItemAtDesk,
    pub patron_group: Option<Uuid>,
    pub occasion: Occasion,
    /// The member of staff, or the patron in self-service.
    pub by: Option<Uuid>,
    pub now: Timestamp,
}

/// The event up to which overdue time is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    CheckIn {
        returned: Timestamp,
        service_point: Uuid,
        /// The desk has resolved a claim: the item was in the library.
        found_by_library: bool,
    },
    Renewal,
}

/// The overdue fine; `None` if nothing is owed, or if the library has no automatic type or no owner for it.
pub fn overdue_fine(of: &OverdueItem, settings: &CirculationSettings) -> Option<Charge> {
    let (until, service_point) = match of.occasion {
        Occasion::CheckIn { found_by_library: true, .. } => return None,
        Occasion::CheckIn { returned, service_point, .. } => (returned, Some(service_point)),
        Occasion::Renewal => (of.now, None),
    };
    let due = time::parse(text_at(of.loan, "dueDate"))?;
    let was_recalled = of.loan.get("dueDateChangedByRecall") == Some(&Value::Bool(true));
    let loan = OverdueLoan { due, until, was_recalled, grace_period: of.grace_period(settings) };
    if !loan.is_overdue() {
        return None;
    }
    let is_lost = of.item.status.is_lost();
    if is_lost && !may_be_charged_after_loss(of.loan, settings, of.now) {
        return None;
    }
    let policy = settings.overdue_fine_policies.get(&id_at(of.loan, "overdueFinePolicyId")?)?;
    let policy = OverdueFinePolicy::read(policy);
    if of.occasion == Occasion::Renewal && policy.forgives_renewals() {
        return None;
    }
    let primary = of.primary_service_point(settings);
    let calendar = primary.map(|id| settings.calendar(id));
    let desk = calendar.as_ref().map(|calendar| PrimaryServicePoint { calendar, zone: &settings.zone });
    let amount = loan.fine(&policy, desk);
    if !amount.is_positive() {
        return None;
    }
    Some(Charge {
        user: id_at(of.loan, "userId")?,
        amount,
        fee_fine_type: settings.fees.automatic_type(OVERDUE_FINE)?,
        owner: settings.fees.owner_at(primary?)?,
        loan: id_at(of.loan, "id"),
        item: Some(charged_item(of.item, settings)),
        service_point,
        charged_by: of.by.map_or(ChargedBy::System, ChargedBy::Staff),
        comments: None,
        notifies_patron: false,
        more: of.more(),
    })
}

/// Whether an overdue fine may be charged for a lost item that is found or renewed: the lost item fee policy of the
/// loan says so, and its refund period, counted from the loss, is not over.
pub fn may_be_charged_after_loss(
    loan: &Map<String, Value>,
    settings: &CirculationSettings,
    now: Timestamp,
) -> bool {
    lost_items::policy_of(loan, settings).charges_overdue_fine(lost_items::lost_date(loan), now)
}

impl OverdueItem<'_> {
    /// From the loan policy that the rules select now, otherwise from the loan's.
    fn grace_period<'s>(&self, settings: &'s CirculationSettings) -> Option<&'s Period> {
        let inputs = self.item.rule_inputs(self.patron_group);
        let matched = self.patron_group.and_then(|_| settings.matching(&inputs, PolicyKind::Loan).ok());
        let id = matched.map(|matched| matched.id).or_else(|| id_at(self.loan, "loanPolicyId"))?;
        settings.loan_policies.get(&id)?.loans_policy.as_ref()?.grace_period.as_ref()
    }

    fn primary_service_point(&self, settings: &CirculationSettings) -> Option<Uuid> {
        settings.locations.get(&self.item.record.effective_location_id?)?.primary_service_point
    }

    /// The loan's values in the account.
    fn more(&self) -> Map<String, Value> {
        let mut more = Map::new();
        for (name, of_loan) in [
            ("dueDate", "dueDate"),
            ("loanPolicyId", "loanPolicyId"),
            ("overdueFinePolicyId", "overdueFinePolicyId"),
            ("lostItemFeePolicyId", "lostItemPolicyId"),
        ] {
            if let Some(value) = self.loan.get(of_loan) {
                more.insert(name.into(), value.clone());
            }
        }
        if let Occasion::CheckIn { returned, .. } = self.occasion {
            more.insert("returnedDate".into(), time::format(returned).into());
        }
        more
    }
}

fn id_at(loan: &Map<String, Value>, key: &str) -> Option<Uuid> {
    Uuid::parse_str(text_at(loan, key)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{FeeSettings, Location, fees_of};
    use serde_json::json;
    use std::sync::Arc;

    const ID: Uuid = Uuid::from_u128(1);
    const MAIN_DESK: Uuid = Uuid::from_u128(2);
    const STAFF: Uuid = Uuid::from_u128(3);

    /// Settings with a fine of one a day and a lost item fee policy that charges overdue fines.
    fn library() -> CirculationSettings {
        let mut settings = CirculationSettings::blank();
        let policy = json!({"overdueFine": {"quantity": 1.0, "intervalId": "day"}, "maxOverdueFine": 10.0,
            "countClosed": true, "forgiveOverdueFine": false});
        settings.overdue_fine_policies.insert(ID, Arc::new(policy));
        let lost = json!({"lostItemReturned": "Charge",
            "feesFinesShallRefunded": {"duration": 6, "intervalId": "Months"}});
        settings.lost_item_policies.insert(ID, Arc::new(lost));
        let location =
            Location { name: "Stacks".into(), primary_service_point: Some(MAIN_DESK), ..Location::default() };
        settings.locations.insert(ID, location);
        settings.fees = fees_of(json!({"owner": "Main", "servicePointOwner": [{"value": MAIN_DESK}]}));
        settings
    }

    fn item(status: &str) -> ItemAtDesk {
        let mut item = ItemAtDesk { id: ID, status: status.into(), ..ItemAtDesk::default() };
        item.record.effective_location_id = Some(ID);
        item
    }

    fn returned(at: &str) -> Occasion {
        Occasion::CheckIn { returned: moment(at), service_point: STAFF, found_by_library: false }
    }

    fn moment(text: &str) -> Timestamp {
        time::parse(text).expect("a time")
    }

    /// The fine of a loan that was due on 1 May, decided on 6 May at noon.
    fn charge(
        status: &str,
        loan: Value,
        occasion: Occasion,
        settings: &CirculationSettings,
    ) -> Option<Charge> {
        let mut stored = json!({"id": ID, "userId": ID, "dueDate": "2024-05-01T12:00:00.000+00:00",
            "overdueFinePolicyId": ID, "lostItemPolicyId": ID, "loanPolicyId": ID});
        stored.as_object_mut().expect("an object").extend(loan.as_object().expect("an object").clone());
        let of = OverdueItem {
            loan: stored.as_object().expect("an object"),
            item: &item(status),
            patron_group: None,
            occasion,
            by: Some(STAFF),
            now: moment("2024-05-06T12:00:00Z"),
        };
        overdue_fine(&of, settings)
    }

    fn amount(status: &str, loan: Value, occasion: Occasion) -> Option<String> {
        charge(status, loan, occasion, &library()).map(|charge| charge.amount.to_string())
    }

    #[test]
    fn a_check_in_is_charged_until_the_item_came_back_and_a_renewal_until_now() {
        let out = "Checked out";
        assert_eq!(amount(out, json!({}), returned("2024-05-01T12:00:00Z")), None);
        assert_eq!(amount(out, json!({}), returned("2024-05-02T13:00:00Z")).as_deref(), Some("2.00"));
        assert_eq!(amount(out, json!({}), Occasion::Renewal).as_deref(), Some("5.00"));
        let found = Occasion::CheckIn {
            returned: moment("2024-05-06T12:00:00Z"),
            service_point: STAFF,
            found_by_library: true,
        };
        assert_eq!(amount(out, json!({}), found), None);
    }

    #[test]
    fn the_account_names_the_loan_its_policies_and_its_dates() {
        let charge = charge("Checked out", json!({}), returned("2024-05-02T12:00:00Z"), &library());
        let charge = charge.expect("a fine");
        assert_eq!(
            Value::Object(charge.more),
            json!({"dueDate": "2024-05-01T12:00:00.000+00:00", "returnedDate": "2024-05-02T12:00:00.000+00:00",
                "loanPolicyId": ID, "overdueFinePolicyId": ID, "lostItemFeePolicyId": ID})
        );
        assert_eq!((charge.owner, charge.charged_by), ((ID, "Main".into()), ChargedBy::Staff(STAFF)));
        assert_eq!(charge.item.and_then(|item| item.location).as_deref(), Some("Stacks"));
    }

    #[test]
    fn without_owner_type_or_policy_nothing_is_charged() {
        let renewed =
            |loan, settings: &CirculationSettings| charge("Checked out", loan, Occasion::Renewal, settings);
        assert!(renewed(json!({}), &library()).is_some());
        for fees in [
            fees_of(json!({"owner": "Other", "servicePointOwner": [{"value": STAFF}]})),
            fees_of(json!({"owner": "Without service points", "servicePointOwner": null})),
            FeeSettings::default(),
        ] {
            let mut settings = library();
            settings.fees = fees;
            assert!(renewed(json!({}), &settings).is_none());
        }
        assert!(renewed(json!({"overdueFinePolicyId": STAFF}), &library()).is_none());
        assert!(renewed(json!({"userId": null}), &library()).is_none());
        let mut forgiving = library();
        let policy = json!({"overdueFine": {"quantity": 1, "intervalId": "day"}, "maxOverdueFine": 0,
            "forgiveOverdueFine": true});
        forgiving.overdue_fine_policies.insert(ID, Arc::new(policy));
        assert!(renewed(json!({}), &forgiving).is_none());
    }

    #[test]
    fn a_lost_item_is_charged_within_the_refund_period_since_the_latest_loss() {
        let lost = |declared: &str, aged: &str| json!({"declaredLostDate": declared, "agedToLostDelayedBilling": {"agedToLostDate": aged}});
        let late = "2023-01-01T00:00:00Z";
        for status in ["Declared lost", "Aged to lost"] {
            assert!(amount(status, lost("2024-04-01T00:00:00Z", late), Occasion::Renewal).is_some());
            assert!(amount(status, lost(late, late), Occasion::Renewal).is_none());
            assert!(amount(status, json!({}), Occasion::Renewal).is_none());
        }
        assert!(amount("Lost and paid", lost(late, late), Occasion::Renewal).is_some());
    }
}
