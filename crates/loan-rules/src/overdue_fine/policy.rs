//! The settings of the overdue fine policy for overdue fines.

use carrel_records::{Money, UnitPrice};
use serde::Deserialize;
use serde_json::Value;

/// The settings of an overdue fine policy record. Any property may be absent.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OverdueFinePolicy {
    pub overdue_fine: Option<FineRate>,
    pub max_overdue_fine: Option<Money>,
    pub overdue_recall_fine: Option<FineRate>,
    pub max_overdue_recall_fine: Option<Money>,
    pub count_closed: Option<bool>,
    pub forgive_overdue_fine: Option<bool>,
    pub grace_period_recall: Option<bool>,
}

/// An amount for each started interval.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FineRate {
    pub quantity: Option<UnitPrice>,
    /// minute, hour, day, week, month or year.
    pub interval_id: Option<String>,
}

impl OverdueFinePolicy {
    /// Parses a stored record; an invalid one charges nothing.
    pub fn read(record: &Value) -> OverdueFinePolicy {
        OverdueFinePolicy::deserialize(record).unwrap_or_default()
    }

    /// Minutes at which the service point is closed count as well.
    pub fn counts_closed_hours(&self) -> bool {
        self.count_closed == Some(true)
    }

    /// A renewal is not charged.
    pub fn forgives_renewals(&self) -> bool {
        self.forgive_overdue_fine == Some(true)
    }

    /// Recalled loans have no grace period.
    pub fn ignores_grace_period_of_recalls(&self) -> bool {
        self.grace_period_recall == Some(true)
    }

    /// The fine for this many minutes. Quantity, interval and maximum are all required; a maximum of zero means none.
    pub(super) fn fine_for(&self, minutes: u64, was_recalled: bool) -> Money {
        let (rate, maximum) = if was_recalled {
            (&self.overdue_recall_fine, self.max_overdue_recall_fine)
        } else {
            (&self.overdue_fine, self.max_overdue_fine)
        };
        let Some((quantity, interval)) = rate.as_ref().and_then(FineRate::complete) else {
            return Money::ZERO;
        };
        let Some(maximum) = maximum else { return Money::ZERO };
        let fine = quantity.times(minutes.div_ceil(interval)).max(Money::ZERO);
        if maximum.is_positive() { fine.min(maximum) } else { fine }
    }
}

impl FineRate {
    /// The amount and the minutes of the interval.
    fn complete(&self) -> Option<(UnitPrice, u64)> {
        Some((self.quantity?, minutes_of(self.interval_id.as_deref()?)?))
    }
}

fn minutes_of(interval: &str) -> Option<u64> {
    Some(match interval {
        "minute" => 1,
        "hour" => 60,
        "day" => 24 * 60,
        "week" => 7 * 24 * 60,
        "month" => 31 * 24 * 60,
        "year" => 365 * 24 * 60,
        _ => return None,
    })
}
