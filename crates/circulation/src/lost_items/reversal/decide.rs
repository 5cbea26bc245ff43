//! The rule for which fees of a loss are reversed.

use carrel_fees_fines::lost_item_fees::{ACTUAL_COST_FEE, LOST_ITEM_FEE, LostItemFee, PROCESSING_FEE};
use carrel_loan_rules::lost_item_policy::LostItemPolicy;
use jiff::Timestamp;
use uuid::Uuid;

/// An actual cost record of the loan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostRecord {
    pub id: Uuid,
    pub is_open: bool,
    pub created: Option<Timestamp>,
    /// The account that was charged for it.
    pub account: Option<Uuid>,
}

/// The fees to reverse.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dropped {
    pub accounts: Vec<Uuid>,
    /// The record that is cancelled.
    pub record: Option<Uuid>,
}

/// Fees of one loss are charged at most this many seconds apart.
const TOGETHER: i64 = 60;

/// The fees to reverse when an item that was lost is found now. `records` begin with the latest loss.
pub fn dropped(
    policy: &LostItemPolicy,
    lost: Option<Timestamp>,
    fees: &[LostItemFee],
    records: &[CostRecord],
    now: Timestamp,
) -> Dropped {
    if !policy.refunds_fees(lost, now) {
        return Dropped::default();
    }
    let mut types = vec![if policy.has_actual_cost { ACTUAL_COST_FEE } else { LOST_ITEM_FEE }];
    if policy.refunds_processing_fee {
        types.push(PROCESSING_FEE);
    }
    let mut accounts = Vec::new();
    if let Some(latest) = latest(fees, &types) {
        accounts.push(latest.id);
        let charged = charged_at(latest, records);
        types.retain(|kind| *kind != latest.kind);
        let together = self::latest(fees, &types)
            .filter(|fee| !fee.is_cancelled() && seconds_between(charged, fee.created) <= TOGETHER);
        accounts.extend(together.map(|fee| fee.id));
    }
    let record = records.iter().find(|record| policy.has_actual_cost && record.is_open);
    Dropped { accounts, record: record.map(|record| record.id) }
}

fn latest<'a>(fees: &'a [LostItemFee], types: &[&str]) -> Option<&'a LostItemFee> {
    let of_types = fees.iter().filter(|fee| types.contains(&fee.kind.as_str()) && fee.created.is_some());
    of_types.max_by_key(|fee| fee.created)
}

/// An actual cost counts as charged when its record was created, together with the processing fee, however much later
/// it was billed.
fn charged_at(fee: &LostItemFee, records: &[CostRecord]) -> Option<Timestamp> {
    let record = records.iter().find(|record| fee.kind == ACTUAL_COST_FEE && record.account == Some(fee.id));
    record.map_or(fee.created, |record| record.created)
}

fn seconds_between(one: Option<Timestamp>, other: Option<Timestamp>) -> i64 {
    match (one, other) {
        (Some(one), Some(other)) => one.duration_since(other).abs().as_secs(),
        _ => i64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrel_records::time;
    use serde_json::{Value, json};

    const NOW: &str = "2026-05-20T10:00:00Z";

    fn at(text: &str) -> Option<Timestamp> {
        time::parse(text)
    }

    fn fee(id: u128, kind: &str, created: &str) -> LostItemFee {
        fee_in("Outstanding", id, kind, created)
    }

    fn fee_in(status: &str, id: u128, kind: &str, created: &str) -> LostItemFee {
        let account = json!({"id": Uuid::from_u128(id), "feeFineType": kind, "paymentStatus": {"name": status},
            "metadata": {"createdDate": created}});
        LostItemFee::read(account).expect("an account")
    }

    fn policy(more: Value) -> LostItemPolicy {
        let mut policy = json!({"returnedLostItemProcessingFee": true,
            "chargeAmountItem": {"chargeType": "anotherCost", "amount": 10}});
        policy.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        LostItemPolicy::read(&policy)
    }

    fn accounts(policy: &LostItemPolicy, fees: &[LostItemFee], records: &[CostRecord]) -> Vec<u128> {
        let lost = at("2026-05-10T10:00:00Z");
        let dropped = dropped(policy, lost, fees, records, at(NOW).expect("a time"));
        dropped.accounts.iter().map(Uuid::as_u128).collect()
    }

    #[test]
    fn the_newest_fee_goes_with_the_processing_fee_that_was_charged_with_it() {
        let fees = [
            fee(1, LOST_ITEM_FEE, "2026-05-01T10:00:00Z"),
            fee(2, PROCESSING_FEE, "2026-05-01T10:00:00Z"),
            fee(3, LOST_ITEM_FEE, "2026-05-10T10:00:00Z"),
            fee(4, PROCESSING_FEE, "2026-05-10T10:00:30Z"),
        ];
        assert_eq!(accounts(&policy(json!({})), &fees, &[]), [4, 3]);
        assert_eq!(accounts(&policy(json!({})), &fees[..3], &[]), [3], "the older one was another loss");
        let keeps = policy(json!({"returnedLostItemProcessingFee": false}));
        assert_eq!(accounts(&keeps, &fees, &[]), [3]);
    }

    #[test]
    fn a_fee_that_was_cancelled_before_stays_as_it_is() {
        let fees = [
            fee(1, LOST_ITEM_FEE, "2026-05-10T10:00:00Z"),
            fee_in("Cancelled as error", 2, PROCESSING_FEE, "2026-05-10T09:59:50Z"),
        ];
        assert_eq!(accounts(&policy(json!({})), &fees, &[]), [1]);
    }

    #[test]
    fn an_actual_cost_billed_later_was_charged_when_the_item_got_lost() {
        let costs = policy(json!({"chargeAmountItem": {"chargeType": "actualCost"}}));
        let fees =
            [fee(1, PROCESSING_FEE, "2026-05-10T10:00:00Z"), fee(2, ACTUAL_COST_FEE, "2026-05-15T10:00:00Z")];
        let billed = CostRecord {
            id: Uuid::from_u128(9),
            is_open: false,
            created: at("2026-05-10T10:00:00Z"),
            account: Some(Uuid::from_u128(2)),
        };
        assert_eq!(accounts(&costs, &fees, std::slice::from_ref(&billed)), [2, 1]);
        assert_eq!(accounts(&costs, &fees, &[]), [2]);
        let open = CostRecord { is_open: true, account: None, ..billed };
        let dropped = dropped(&costs, None, &[], &[open], at(NOW).expect("a time"));
        assert_eq!(dropped.record, Some(Uuid::from_u128(9)));
    }

    #[test]
    fn nothing_goes_back_after_the_interval() {
        let strict = policy(json!({"feesFinesShallRefunded": {"duration": 1, "intervalId": "Days"}}));
        assert_eq!(accounts(&strict, &[fee(1, LOST_ITEM_FEE, NOW)], &[]), [0; 0]);
    }
}
