//! The words of a request: its type, level and status, and which type fits which item (circulation.md 6.2).

use serde_json::{Map, Value};
use uuid::Uuid;

/// What a patron wants of an item or title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Page,
    Hold,
    Recall,
}

impl Kind {
    /// In the order in which an instance-level request tries them.
    pub const BY_SPEED: [Kind; 3] = [Kind::Page, Kind::Recall, Kind::Hold];

    pub fn text(self) -> &'static str {
        match self {
            Kind::Page => "Page",
            Kind::Hold => "Hold",
            Kind::Recall => "Recall",
        }
    }

    /// Case does not matter.
    pub fn named(text: &str) -> Option<Kind> {
        Kind::BY_SPEED.into_iter().find(|kind| kind.text().eq_ignore_ascii_case(text))
    }

    /// Whether an item of this status can be asked for in this way.
    pub fn fits(self, item_status: &str) -> bool {
        match item_status {
            "Available" => self == Kind::Page,
            "Restricted" => true,
            "Checked out" | "Awaiting pickup" | "Awaiting delivery" | "In transit" | "Paged" | "On order"
            | "In process" => self != Kind::Page,
            "Missing" => self == Kind::Hold,
            "Declared lost"
            | "Claimed returned"
            | "Withdrawn"
            | "Lost and paid"
            | "Aged to lost"
            | "Intellectual item"
            | "In process (non-requestable)"
            | "Long missing"
            | "Unavailable"
            | "Unknown" => false,
            // FOLIO quirk: a status that circulation does not know can be held.
            _ => self == Kind::Hold,
        }
    }
}

pub const NOT_YET_FILLED: &str = "Open - Not yet filled";
pub const AWAITING_PICKUP: &str = "Open - Awaiting pickup";
pub const IN_TRANSIT: &str = "Open - In transit";
pub const AWAITING_DELIVERY: &str = "Open - Awaiting delivery";
pub const FILLED: &str = "Closed - Filled";
pub const CANCELLED: &str = "Closed - Cancelled";
pub const UNFILLED: &str = "Closed - Unfilled";
pub const PICKUP_EXPIRED: &str = "Closed - Pickup expired";

/// Every status, in the order in which refusals list them.
pub const STATUSES: [&str; 8] = [
    NOT_YET_FILLED,
    AWAITING_PICKUP,
    IN_TRANSIT,
    AWAITING_DELIVERY,
    FILLED,
    CANCELLED,
    UNFILLED,
    PICKUP_EXPIRED,
];

/// The status in its own spelling; case does not matter.
pub fn status_named(text: &str) -> Option<&'static str> {
    STATUSES.into_iter().find(|status| status.eq_ignore_ascii_case(text))
}

/// Whether nobody waits any more.
pub fn is_closed(status: &str) -> bool {
    status.starts_with("Closed")
}

/// What a document says at a key, blank text left out.
pub fn text<'a>(document: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    document.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// The id at a key; what is no id names nothing.
pub fn id(document: &Map<String, Value>, key: &str) -> Option<Uuid> {
    text(document, key).and_then(|text| Uuid::parse_str(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_item_can_be_asked_for_depends_on_its_status() {
        let table: [(&str, &[Kind]); 8] = [
            ("Available", &[Kind::Page]),
            ("Restricted", &[Kind::Page, Kind::Recall, Kind::Hold]),
            ("Checked out", &[Kind::Recall, Kind::Hold]),
            ("Paged", &[Kind::Recall, Kind::Hold]),
            ("Missing", &[Kind::Hold]),
            ("Order closed", &[Kind::Hold]),
            ("Aged to lost", &[]),
            ("Unknown", &[]),
        ];
        for (status, kinds) in table {
            let fitting: Vec<Kind> = Kind::BY_SPEED.into_iter().filter(|kind| kind.fits(status)).collect();
            assert_eq!(fitting, kinds, "{status}");
        }
    }

    #[test]
    fn spelling_of_type_and_status_is_forgiving() {
        assert_eq!(Kind::named("hold"), Some(Kind::Hold));
        assert_eq!(status_named("open - not yet filled"), Some(NOT_YET_FILLED));
        assert_eq!(status_named("Open"), None);
    }
}
