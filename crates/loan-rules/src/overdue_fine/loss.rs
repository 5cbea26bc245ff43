//! Whether the overdue fine of an item that was lost is charged once the item is found.

use crate::loan_policy::{Interval, Period};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;

/// What the lost item fee policy says about an item that is found.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FoundItemTerms {
    /// `Charge` or `Remove`, in any letter case.
    pub lost_item_returned: Option<String>,
    /// How long after the loss lost item fees are refunded; without it, always.
    pub fees_fines_shall_refunded: Option<Period>,
}

impl FoundItemTerms {
    /// Reads a stored policy; of one that cannot be read nothing is charged.
    pub fn read(policy: &Value) -> FoundItemTerms {
        FoundItemTerms::deserialize(policy).unwrap_or_default()
    }

    /// Whether the overdue fine is charged: the policy says so, and the lost item fees are still refunded, so that
    /// nobody pays for both. `lost` is when the item was declared lost or aged to lost.
    pub fn charge_overdue_fine(&self, lost: Option<Timestamp>, now: Timestamp) -> bool {
        let charges =
            self.lost_item_returned.as_deref().is_some_and(|text| text.eq_ignore_ascii_case("charge"));
        charges && self.lost_fees_are_refunded(lost, now)
    }

    /// Whether lost item fees are refunded for an item that is found now, up to the last moment of the period.
    pub fn lost_fees_are_refunded(&self, lost: Option<Timestamp>, now: Timestamp) -> bool {
        let Some(period) = &self.fees_fines_shall_refunded else { return true };
        let Some(duration) = period.duration.filter(|duration| *duration != 0) else { return true };
        // FOLIO quirk: an interval that it does not know, years among them, counts in minutes.
        let interval = period.interval_id.as_deref().and_then(Interval::named).unwrap_or(Interval::Minutes);
        lost.and_then(|lost| interval.after(duration, lost, &TimeZone::UTC))
            .is_some_and(|end| now.as_millisecond() <= end.as_millisecond())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::due_date::fixtures::at;
    use serde_json::json;

    #[test]
    fn the_fine_of_a_found_item_is_charged_within_the_refund_period() {
        let weeks = |duration: i64| json!({"duration": duration, "intervalId": "Weeks"});
        let table = [
            (json!({}), "2024-05-01T00:00:00Z", false),
            (json!({"lostItemReturned": "Remove"}), "2024-05-01T00:00:00Z", false),
            (json!({"lostItemReturned": "Charge"}), "2034-05-01T00:00:00Z", true),
            (
                json!({"lostItemReturned": "charge", "feesFinesShallRefunded": weeks(0)}),
                "2034-05-01T00:00:00Z",
                true,
            ),
            (
                json!({"lostItemReturned": "Charge", "feesFinesShallRefunded": weeks(1)}),
                "2024-05-08T00:00:00Z",
                true,
            ),
            (
                json!({"lostItemReturned": "Charge", "feesFinesShallRefunded": weeks(1)}),
                "2024-05-08T00:00:01Z",
                false,
            ),
            (
                json!({"lostItemReturned": "Charge", "feesFinesShallRefunded": {"duration": 1, "intervalId": "Years"}}),
                "2024-05-01T00:02:00Z",
                false,
            ),
        ];
        for (policy, now, expected) in table {
            let terms = FoundItemTerms::read(&policy);
            assert_eq!(
                terms.charge_overdue_fine(Some(at("2024-05-01T00:00:00Z")), at(now)),
                expected,
                "{policy}"
            );
        }
    }

    #[test]
    fn without_a_date_of_loss_no_refund_period_lasts() {
        let terms = FoundItemTerms::read(
            &json!({"lostItemReturned": "Charge", "feesFinesShallRefunded": {"duration": 1, "intervalId": "Weeks"}}),
        );
        assert!(!terms.charge_overdue_fine(None, at("2024-05-01T00:00:00Z")));
    }
}
