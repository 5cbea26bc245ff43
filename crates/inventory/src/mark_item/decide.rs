//! Which status may follow which when an item is marked by hand: a table.

use carrel_records::{Failure, Refusal};

/// The statuses that an item can be marked as, by the last segment of the path.
pub const MARKS: [(&str, &str); 9] = [
    ("mark-in-process", "In process"),
    ("mark-in-process-non-requestable", "In process (non-requestable)"),
    ("mark-intellectual-item", "Intellectual item"),
    ("mark-long-missing", "Long missing"),
    ("mark-missing", "Missing"),
    ("mark-restricted", "Restricted"),
    ("mark-unavailable", "Unavailable"),
    ("mark-unknown", "Unknown"),
    ("mark-withdrawn", "Withdrawn"),
];

/// From these an item may be marked as missing.
const BEFORE_MISSING: [&str; 13] = [
    "Available",
    "Awaiting delivery",
    "Awaiting pickup",
    "Intellectual item",
    "In transit",
    "In process",
    "In process (non-requestable)",
    "Long missing",
    "Paged",
    "Restricted",
    "Unavailable",
    "Unknown",
    "Withdrawn",
];

/// Refuses a mark that the current status does not allow.
pub fn refuse_if_status_does_not_allow(present: &str, mark: &str) -> Result<(), Failure> {
    let allowed = match mark {
        "Missing" => BEFORE_MISSING.contains(&present),
        "Withdrawn" => {
            present != "Withdrawn"
                && (BEFORE_MISSING.contains(&present) || ["Missing", "Lost and paid"].contains(&present))
        }
        mark => present != mark && present != "In process",
    };
    if allowed {
        return Ok(());
    }
    Err(Refusal::new(format!("Item is not allowed to be marked as {mark}"))
        .with("status.name", present)
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::items::statuses;

    fn refused_from(mark: &str) -> Vec<String> {
        statuses()
            .into_iter()
            .filter(|present| refuse_if_status_does_not_allow(present, mark).is_err())
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
