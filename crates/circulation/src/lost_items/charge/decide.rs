//! The rule for the charges of a loss.

use super::ChargingFacts;
use carrel_fees_fines::lost_item_fees::{ACTUAL_COST_FEE, LOST_ITEM_FEE, PROCESSING_FEE};
use carrel_loan_rules::lost_item_policy::{Loss, LostItemPolicy};
use carrel_records::Money;
use uuid::Uuid;

/// The charges for a lost item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charging {
    /// Id and name of the type, and the amount.
    pub fees: Vec<((Uuid, String), Money)>,
    pub actual_cost: Option<ActualCost>,
    /// Id and name.
    pub owner: (Uuid, String),
}

/// A fee whose amount staff determine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActualCost {
    /// Id and name of the type; `None` if there is no automatic one and records are not checked.
    pub fee_type: Option<(Uuid, String)>,
}

/// Why a loss cannot be charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unchargeable {
    /// The fees at the item's permanent location have no owner.
    NoOwner,
    /// There is no automatic type of this name.
    NoType(&'static str),
}

/// The charges; `None` if the policy charges nothing for the loss. `type_named` returns id and name of the automatic
/// type with a name.
pub fn decide(
    policy: &LostItemPolicy,
    loss: Loss,
    facts: &ChargingFacts,
    type_named: impl Fn(&str) -> Option<(Uuid, String)>,
) -> Result<Option<Charging>, Unchargeable> {
    if policy.charges_nothing(loss) {
        return Ok(None);
    }
    let owner = facts.owner.clone().ok_or(Unchargeable::NoOwner)?;
    let type_of = |name: &'static str| type_named(name).ok_or(Unchargeable::NoType(name));
    let mut charging = Charging { fees: Vec::new(), actual_cost: None, owner };
    if policy.has_actual_cost {
        let fee_type = match type_of(ACTUAL_COST_FEE) {
            Err(_) if facts.unchecked_records => None,
            fee_type => Some(fee_type?),
        };
        charging.actual_cost = Some(ActualCost { fee_type });
    }
    for (name, amount) in [(LOST_ITEM_FEE, policy.set_cost), (PROCESSING_FEE, policy.processing_fee(loss))] {
        if let Some(amount) = amount {
            charging.fees.push((type_of(name)?, amount));
        }
    }
    Ok(Some(charging))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn facts() -> ChargingFacts {
        ChargingFacts { owner: Some((Uuid::nil(), "Main".into())), ..ChargingFacts::default() }
    }

    fn named(name: &str) -> Option<(Uuid, String)> {
        Some((Uuid::nil(), name.to_owned()))
    }

    fn policy(cost: Value) -> LostItemPolicy {
        LostItemPolicy::read(&json!({"chargeAmountItem": cost, "lostItemProcessingFee": 5,
            "chargeAmountItemPatron": true, "chargeAmountItemSystem": false}))
    }

    #[test]
    fn a_set_cost_and_the_processing_fee_are_two_charges() {
        let policy = policy(json!({"chargeType": "anotherCost", "amount": 10}));
        let charging = decide(&policy, Loss::DeclaredLost, &facts(), named).expect("an owner").expect("fees");
        let names: Vec<_> =
            charging.fees.iter().map(|((_, name), amount)| (name.as_str(), amount.to_string())).collect();
        assert_eq!(names, [(LOST_ITEM_FEE, "10.00".into()), (PROCESSING_FEE, "5.00".into())]);
        assert_eq!(charging.actual_cost, None);
        let aged = decide(&policy, Loss::AgedToLost, &facts(), named).expect("an owner").expect("a fee");
        assert_eq!(aged.fees.len(), 1, "the processing of items aged to lost is free");
    }

    #[test]
    fn what_staff_find_out_is_a_record_not_an_account() {
        let policy = policy(json!({"chargeType": "actualCost", "amount": 10}));
        let charging =
            decide(&policy, Loss::AgedToLost, &facts(), named).expect("an owner").expect("a record");
        assert!(charging.actual_cost.is_some() && charging.fees.is_empty());
    }

    #[test]
    fn an_actual_cost_without_type_is_stored_only_where_records_are_not_checked() {
        let policy = policy(json!({"chargeType": "actualCost", "amount": 10}));
        let without_type = |facts: &ChargingFacts| decide(&policy, Loss::AgedToLost, facts, |_| None);
        assert_eq!(without_type(&facts()), Err(Unchargeable::NoType(ACTUAL_COST_FEE)));
        let charging = without_type(&ChargingFacts { unchecked_records: true, ..facts() });
        let charging = charging.expect("an owner").expect("a record");
        assert_eq!(charging.actual_cost, Some(ActualCost { fee_type: None }));
    }

    #[test]
    fn a_loss_without_owner_or_type_is_not_charged() {
        let policy = policy(json!({"chargeType": "anotherCost", "amount": 10}));
        let nobody = ChargingFacts { owner: None, ..facts() };
        assert_eq!(decide(&policy, Loss::DeclaredLost, &nobody, named), Err(Unchargeable::NoOwner));
        assert_eq!(
            decide(&policy, Loss::DeclaredLost, &facts(), |_| None),
            Err(Unchargeable::NoType(LOST_ITEM_FEE))
        );
        assert_eq!(decide(&LostItemPolicy::default(), Loss::DeclaredLost, &nobody, named), Ok(None));
    }
}
