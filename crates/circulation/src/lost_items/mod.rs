//! Lost items: declared lost by staff or aged to lost by a job, billed, found again, or lost and paid.
//!
//! `declare_lost`, `aging` and `billing` are the ways in which an item becomes lost, with the charges (`charge`,
//! `actual_cost`); `reversal` reverses the fees of an item that is found, renewed, or lost in another way; `closing`
//! ends the loan of a lost item whose fees are settled. Every change locks the item first, then the loan, then its
//! fees/fines.

mod actual_cost;
mod aging;
mod billing;
mod charge;
mod closing;
mod declare_lost;
pub mod reversal;
mod staff;

use crate::document::text_at;
use crate::settings::CirculationSettings;
use carrel_loan_rules::lost_item_policy::LostItemPolicy;
use carrel_platform::{Router, TransactionListeners};
use carrel_records::{ItemStatus, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

pub use actual_cost::expiry::EXPIRY as ACTUAL_COST_EXPIRY;
pub use aging::AGING;
pub use billing::BILLING;

pub fn connect(router: &mut Router) {
    declare_lost::connect(router);
    aging::connect(router);
    billing::connect(router);
    closing::connect(router);
    actual_cost::connect(router);
}

pub fn listen(listeners: &mut TransactionListeners) {
    listeners.connect(closing::close_when_settled);
}

/// Statuses of items that are lost and whose fees are not settled.
const LOST: [ItemStatus; 2] = [ItemStatus::DeclaredLost, ItemStatus::AgedToLost];

/// Whether fees for the loss of an item in this status may have to be refunded.
pub fn may_have_fees(item_status: &ItemStatus) -> bool {
    item_status.is_lost() || *item_status == ItemStatus::LostAndPaid
}

/// Earlier than all dates of loans: the first of January of the year 1.
const BEGINNING: Timestamp = Timestamp::constant(-62_135_596_800, 0);

/// The lost item fee policy of a loan; if it is unknown, one that charges nothing.
pub fn policy_of(loan: &Map<String, Value>, settings: &CirculationSettings) -> LostItemPolicy {
    let id = Uuid::parse_str(text_at(loan, "lostItemPolicyId")).ok();
    let stored = id.and_then(|id| settings.lost_item_policies.get(&id));
    stored.map(|policy| LostItemPolicy::read(policy)).unwrap_or_default()
}

/// When the item of a loan was last lost.
pub fn lost_date(loan: &Map<String, Value>) -> Option<Timestamp> {
    let dates = ["declaredLostDate", "agedToLostDelayedBilling/agedToLostDate"];
    dates.into_iter().filter_map(|path| time::parse(text_at(loan, path))).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_item_that_got_lost_twice_was_lost_the_second_time() {
        let loan = json!({"declaredLostDate": "2026-05-09T10:00:00Z",
            "agedToLostDelayedBilling": {"agedToLostDate": "2026-05-01T10:00:00Z"}});
        let loan = loan.as_object().expect("an object");
        assert_eq!(lost_date(loan), time::parse("2026-05-09T10:00:00Z"));
        assert_eq!(lost_date(&Map::new()), None);
    }
}
