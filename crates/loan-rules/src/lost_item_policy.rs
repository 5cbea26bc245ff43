//! Lost item fee policies: when an overdue item counts as lost, the fees for it, and until when they are refunded.

use crate::loan_policy::{Interval, Period};
use carrel_records::{ItemStatus, Money};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

/// The settings of a lost item fee policy. The default is that of an unknown policy, which charges nothing and under
/// which no item ages to lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LostItemPolicy {
    /// A fee that is the same for every item; always above zero.
    pub set_cost: Option<Money>,
    /// Staff determine the cost of the item.
    pub has_actual_cost: bool,
    /// Above zero; charged as the two flags say.
    processing_fee: Option<Money>,
    charges_processing_fee_when_declared_lost: bool,
    charges_processing_fee_when_aged_to_lost: bool,
    /// The processing fee is refunded with the lost item fee.
    pub refunds_processing_fee: bool,
    /// An item that is found costs its overdue fine.
    charges_overdue_fine_when_found: bool,
    refund_period: Option<Period>,
    aged_to_lost_after: Option<Period>,
    recalled_aged_to_lost_after: Option<Period>,
    billed_after: Option<Period>,
    recalled_billed_after: Option<Period>,
    charging_period: Option<Period>,
}

/// The kind of loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    DeclaredLost,
    AgedToLost,
}

impl Loss {
    /// The status of the lost item, whose text also names the loss.
    pub const fn item_status(self) -> ItemStatus {
        match self {
            Loss::DeclaredLost => ItemStatus::DeclaredLost,
            Loss::AgedToLost => ItemStatus::AgedToLost,
        }
    }
}

impl LostItemPolicy {
    /// Reads a stored policy.
    pub fn read(policy: &Value) -> LostItemPolicy {
        let flag = |name: &str| policy[name].as_bool().unwrap_or(false);
        let amount = |value: &Value| Money::read(value).filter(|amount| amount.is_positive());
        let charge = &policy["chargeAmountItem"];
        let when_found = policy["lostItemReturned"].as_str().unwrap_or_default();
        LostItemPolicy {
            set_cost: amount(&charge["amount"]).filter(|_| charge["chargeType"] == "anotherCost"),
            has_actual_cost: charge["chargeType"] == "actualCost",
            processing_fee: amount(&policy["lostItemProcessingFee"]),
            charges_processing_fee_when_declared_lost: flag("chargeAmountItemPatron"),
            charges_processing_fee_when_aged_to_lost: flag("chargeAmountItemSystem"),
            refunds_processing_fee: flag("returnedLostItemProcessingFee"),
            charges_overdue_fine_when_found: when_found.eq_ignore_ascii_case("charge"),
            refund_period: period(&policy["feesFinesShallRefunded"]),
            aged_to_lost_after: period(&policy["itemAgedLostOverdue"]),
            recalled_aged_to_lost_after: period(&policy["recalledItemAgedLostOverdue"]),
            billed_after: period(&policy["patronBilledAfterAgedLost"]),
            recalled_billed_after: period(&policy["patronBilledAfterRecalledItemAgedLost"]),
            charging_period: period(&policy["lostItemChargeFeeFine"]),
        }
    }

    /// The processing fee of a loss, if one is charged.
    pub fn processing_fee(&self, loss: Loss) -> Option<Money> {
        let is_charged = match loss {
            Loss::DeclaredLost => self.charges_processing_fee_when_declared_lost,
            Loss::AgedToLost => self.charges_processing_fee_when_aged_to_lost,
        };
        self.processing_fee.filter(|_| is_charged)
    }

    /// Whether a lost item has a fee besides the processing fee.
    pub fn has_lost_item_fee(&self) -> bool {
        self.has_actual_cost || self.set_cost.is_some()
    }

    /// Whether the loss costs nothing.
    pub fn charges_nothing(&self, loss: Loss) -> bool {
        !self.has_lost_item_fee() && self.processing_fee(loss).is_none()
    }

    /// The shortest time after the due date in which an item of this policy ages to lost; `None` if none does.
    pub fn shortest_aging(&self) -> Option<jiff::SignedDuration> {
        // A calendar month is up to three days shorter than 31 days.
        let elapsed = |period: &Option<Period>| period.as_ref().map(|period| period.elapsed() * 9 / 10);
        [elapsed(&self.aged_to_lost_after), elapsed(&self.recalled_aged_to_lost_after)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Whether an item with this due date is lost by now; without an interval it never is.
    pub fn is_aged_to_lost(&self, is_recalled: bool, due: Timestamp, now: Timestamp) -> bool {
        let interval = if is_recalled { &self.recalled_aged_to_lost_after } else { &self.aged_to_lost_after };
        interval.as_ref().and_then(|interval| after(interval, due)).is_some_and(|lost| lost <= now)
    }

    /// When the patron is billed for an item that ages to lost now.
    pub fn billing_date(&self, is_recalled: bool, aged: Timestamp) -> Timestamp {
        let interval = if is_recalled { &self.recalled_billed_after } else { &self.billed_after };
        interval.as_ref().and_then(|interval| after(interval, aged)).unwrap_or(aged)
    }

    /// Until when staff may bill the actual cost of a loss; `None` means without limit.
    pub fn charging_ends(&self, lost: Timestamp) -> Option<Timestamp> {
        after(self.charging_period.as_ref()?, lost)
    }

    /// Whether the fees of a loss are refunded if the item is found now; without an interval they always are.
    pub fn refunds_fees(&self, lost: Option<Timestamp>, now: Timestamp) -> bool {
        match (&self.refund_period, lost) {
            (Some(interval), Some(lost)) => {
                after(interval, lost).is_none_or(|end| now.as_millisecond() <= end.as_millisecond())
            }
            _ => true,
        }
    }

    /// Whether the overdue fine of a lost item is charged when the item is found: the policy says so, and the fees of
    /// the loss still go back, so that nobody pays for both. Without a date of the loss no refund period lasts.
    pub fn charges_overdue_fine(&self, lost: Option<Timestamp>, now: Timestamp) -> bool {
        let refunds = self.refund_period.is_none() || (lost.is_some() && self.refunds_fees(lost, now));
        self.charges_overdue_fine_when_found && refunds
    }
}

/// A period above zero.
fn period(value: &Value) -> Option<Period> {
    let duration = value["duration"].as_i64().filter(|duration| *duration > 0)?;
    Some(match value["intervalId"].as_str()? {
        "Years" => Period::of(duration.checked_mul(12)?, Interval::Months),
        name => Period::of(duration, Interval::named(name)?),
    })
}

/// FOLIO counts these periods in UTC, whatever the tenant's time zone is.
fn after(period: &Period, from: Timestamp) -> Option<Timestamp> {
    period.after(from, &TimeZone::UTC).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    fn weeks(duration: i64) -> Value {
        json!({"duration": duration, "intervalId": "Weeks"})
    }

    #[test]
    fn a_fee_is_charged_by_its_type_and_only_above_zero() {
        let cost = |kind: &str, amount: f64| {
            LostItemPolicy::read(&json!({"chargeAmountItem": {"chargeType": kind, "amount": amount}}))
        };
        assert_eq!(cost("anotherCost", 12.5).set_cost, Some(Money::of_cents(1250)));
        assert_eq!(cost("anotherCost", 0.0).set_cost, None);
        assert_eq!(cost("actualCost", 12.5).set_cost, None);
        assert!(cost("actualCost", 0.0).has_lost_item_fee(), "what it costs is found out later");
        assert!(!cost("anotherCost", 0.0).has_lost_item_fee());
        assert!(LostItemPolicy::default().charges_nothing(Loss::DeclaredLost));
    }

    #[test]
    fn the_processing_fee_depends_on_how_the_item_got_lost() {
        let policy = |patron: bool, system: bool| {
            LostItemPolicy::read(&json!({"lostItemProcessingFee": 5, "chargeAmountItemPatron": patron,
                "chargeAmountItemSystem": system}))
        };
        let five = Some(Money::of_cents(500));
        for (patron, system, declared, aged) in
            [(true, false, five, None), (false, true, None, five), (false, false, None, None)]
        {
            let policy = policy(patron, system);
            assert_eq!(policy.processing_fee(Loss::DeclaredLost), declared);
            assert_eq!(policy.processing_fee(Loss::AgedToLost), aged);
            assert_eq!(policy.charges_nothing(Loss::AgedToLost), aged.is_none());
        }
    }

    #[test]
    fn an_item_is_lost_when_its_interval_has_passed_and_never_without_one() {
        let policy = LostItemPolicy::read(&json!({"itemAgedLostOverdue": weeks(1)}));
        let due = at("2026-05-01T10:00:00Z");
        assert!(!policy.is_aged_to_lost(false, due, at("2026-05-08T09:59:59Z")));
        assert!(policy.is_aged_to_lost(false, due, at("2026-05-08T10:00:00Z")));
        assert!(
            !policy.is_aged_to_lost(true, due, at("2030-05-08T10:00:00Z")),
            "recalled items have their own"
        );
        assert!(
            policy.shortest_aging().is_some_and(|shortest| shortest <= jiff::SignedDuration::from_hours(168))
        );
        assert_eq!(LostItemPolicy::default().shortest_aging(), None);
    }

    #[test]
    fn a_year_has_twelve_months_wherever_the_policy_names_it() {
        let years = json!({"duration": 2, "intervalId": "Years"});
        let policy =
            LostItemPolicy::read(&json!({"itemAgedLostOverdue": years, "feesFinesShallRefunded": years,
            "lostItemReturned": "Charge"}));
        let (due, end, later) =
            (at("2026-05-01T10:00:00Z"), at("2028-05-01T10:00:00Z"), at("2028-05-01T10:00:01Z"));
        assert!(!policy.is_aged_to_lost(false, due, at("2028-05-01T09:59:59Z")));
        assert!(policy.is_aged_to_lost(false, due, end));
        assert!(policy.refunds_fees(Some(due), end) && policy.charges_overdue_fine(Some(due), end));
        assert!(!policy.refunds_fees(Some(due), later) && !policy.charges_overdue_fine(Some(due), later));
    }

    #[test]
    fn the_overdue_fine_of_a_found_item_is_charged_within_the_refund_period() {
        let lost = Some(at("2024-05-01T00:00:00Z"));
        let table = [
            (json!({}), lost, "2024-05-01T00:00:00Z", false),
            (json!({"lostItemReturned": "Remove"}), lost, "2024-05-01T00:00:00Z", false),
            (json!({"lostItemReturned": "Charge"}), lost, "2034-05-01T00:00:00Z", true),
            (json!({"lostItemReturned": "Charge"}), None, "2034-05-01T00:00:00Z", true),
            (
                json!({"lostItemReturned": "charge", "feesFinesShallRefunded": weeks(0)}),
                lost,
                "2034-05-01T00:00:00Z",
                true,
            ),
            (
                json!({"lostItemReturned": "Charge", "feesFinesShallRefunded": weeks(1)}),
                lost,
                "2024-05-08T00:00:00Z",
                true,
            ),
            (
                json!({"lostItemReturned": "Charge", "feesFinesShallRefunded": weeks(1)}),
                lost,
                "2024-05-08T00:00:01Z",
                false,
            ),
            (
                json!({"lostItemReturned": "Charge", "feesFinesShallRefunded": weeks(1)}),
                None,
                "2024-05-01T00:00:00Z",
                false,
            ),
        ];
        for (policy, lost, now, expected) in table {
            assert_eq!(
                LostItemPolicy::read(&policy).charges_overdue_fine(lost, at(now)),
                expected,
                "{policy}"
            );
        }
    }

    #[test]
    fn patrons_are_billed_at_once_unless_the_policy_says_later() {
        let policy = LostItemPolicy::read(&json!({"patronBilledAfterAgedLost": weeks(2)}));
        let aged = at("2026-05-01T10:00:00Z");
        assert_eq!(policy.billing_date(false, aged), at("2026-05-15T10:00:00Z"));
        assert_eq!(policy.billing_date(true, aged), aged);
    }

    #[test]
    fn fees_go_back_until_the_end_of_the_interval_and_always_without_one() {
        let policy = LostItemPolicy::read(&json!({"feesFinesShallRefunded": weeks(1)}));
        let lost = Some(at("2026-05-01T10:00:00Z"));
        assert!(policy.refunds_fees(lost, at("2026-05-08T10:00:00Z")));
        assert!(!policy.refunds_fees(lost, at("2026-05-08T10:00:01Z")));
        assert!(LostItemPolicy::default().refunds_fees(lost, at("2036-05-08T10:00:01Z")));
    }
}
