//! Which status may follow which when an item is marked by hand: a table.

use carrel_records::{Failure, ItemStatus, Refusal};

/// The statuses that an item can be marked as, by the last segment of the path.
pub const MARKS: [(&str, ItemStatus); 9] = [
    ("mark-in-process", ItemStatus::InProcess),
    ("mark-in-process-non-requestable", ItemStatus::InProcessNonRequestable),
    ("mark-intellectual-item", ItemStatus::IntellectualItem),
    ("mark-long-missing", ItemStatus::LongMissing),
    ("mark-missing", ItemStatus::Missing),
    ("mark-restricted", ItemStatus::Restricted),
    ("mark-unavailable", ItemStatus::Unavailable),
    ("mark-unknown", ItemStatus::Unknown),
    ("mark-withdrawn", ItemStatus::Withdrawn),
];

/// From these an item may be marked as missing.
const BEFORE_MISSING: [ItemStatus; 13] = [
    ItemStatus::Available,
    ItemStatus::AwaitingDelivery,
    ItemStatus::AwaitingPickup,
    ItemStatus::IntellectualItem,
    ItemStatus::InTransit,
    ItemStatus::InProcess,
    ItemStatus::InProcessNonRequestable,
    ItemStatus::LongMissing,
    ItemStatus::Paged,
    ItemStatus::Restricted,
    ItemStatus::Unavailable,
    ItemStatus::Unknown,
    ItemStatus::Withdrawn,
];

/// Refuses a mark that the current status does not allow.
pub fn refuse_if_status_does_not_allow(present: &ItemStatus, mark: &ItemStatus) -> Result<(), Failure> {
    let allowed = match mark {
        ItemStatus::Missing => BEFORE_MISSING.contains(present),
        ItemStatus::Withdrawn => {
            *present != ItemStatus::Withdrawn
                && (BEFORE_MISSING.contains(present)
                    || matches!(present, ItemStatus::Missing | ItemStatus::LostAndPaid))
        }
        mark => present != mark && *present != ItemStatus::InProcess,
    };
    if allowed {
        return Ok(());
    }
    Err(Refusal::new(format!("Item is not allowed to be marked as {mark}"))
        .with("status.name", present.as_str())
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::items::statuses;

    fn refused_from(mark: &str) -> Vec<String> {
        statuses()
            .into_iter()
            .filter(|present| {
                refuse_if_status_does_not_allow(&present.as_str().into(), &mark.into()).is_err()
            })
            .collect()
    }

    #[test]
    fn each_mark_is_refused_from_its_statuses() {
        for (mark, from) in [
            (
                "Missing",
                vec![
                    "Aged to lost",
                    "Checked out",
                    "Claimed returned",
                    "Declared lost",
                    "Lost and paid",
                    "Missing",
                    "On order",
                    "Order closed",
                ],
            ),
            (
                "Withdrawn",
                vec![
                    "Aged to lost",
                    "Checked out",
                    "Claimed returned",
                    "Declared lost",
                    "On order",
                    "Order closed",
                    "Withdrawn",
                ],
            ),
            ("In process", vec!["In process"]),
            ("In process (non-requestable)", vec!["In process", "In process (non-requestable)"]),
            ("Intellectual item", vec!["In process", "Intellectual item"]),
            ("Long missing", vec!["In process", "Long missing"]),
            ("Restricted", vec!["In process", "Restricted"]),
            ("Unavailable", vec!["In process", "Unavailable"]),
            ("Unknown", vec!["In process", "Unknown"]),
        ] {
            assert_eq!(refused_from(mark), from, "{mark}");
        }
    }
}
