//! Request types, levels and statuses, and which type is possible for which item status (circulation.md 6.2).

use serde_json::{Map, Value};
use uuid::Uuid;

/// The type of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestType {
    Page,
    Hold,
    Recall,
}

impl RequestType {
    /// The order in which instance-level requests try the types: the fastest first.
    pub const FASTEST_FIRST: [RequestType; 3] = [RequestType::Page, RequestType::Recall, RequestType::Hold];

    pub fn text(self) -> &'static str {
        match self {
            RequestType::Page => "Page",
            RequestType::Hold => "Hold",
            RequestType::Recall => "Recall",
        }
    }

    /// Parses a type; case does not matter.
    pub fn parse(text: &str) -> Option<RequestType> {
        RequestType::FASTEST_FIRST.into_iter().find(|kind| kind.text().eq_ignore_ascii_case(text))
    }

    /// Whether an item of this status can be requested with this type.
    pub fn is_possible_for(self, item_status: &str) -> bool {
        match item_status {
            "Available" => self == RequestType::Page,
            "Restricted" => true,
            "Checked out" | "Awaiting pickup" | "Awaiting delivery" | "In transit" | "Paged" | "On order"
            | "In process" => self != RequestType::Page,
            "Missing" => self == RequestType::Hold,
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
            _ => self == RequestType::Hold,
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

/// Parses a status; case does not matter.
pub fn parse_status(text: &str) -> Option<&'static str> {
    STATUSES.into_iter().find(|status| status.eq_ignore_ascii_case(text))
}

/// Whether a status is closed.
pub fn is_closed(status: &str) -> bool {
    status.starts_with("Closed")
}

/// The text at a key; `None` where it is blank.
pub fn text<'a>(document: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    document.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// The id at a key; `None` where it is absent or malformed.
pub fn id(document: &Map<String, Value>, key: &str) -> Option<Uuid> {
    text(document, key).and_then(|text| Uuid::parse_str(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_item_can_be_asked_for_depends_on_its_status() {
        let table: [(&str, &[RequestType]); 8] = [
            ("Available", &[RequestType::Page]),
            ("Restricted", &[RequestType::Page, RequestType::Recall, RequestType::Hold]),
            ("Checked out", &[RequestType::Recall, RequestType::Hold]),
            ("Paged", &[RequestType::Recall, RequestType::Hold]),
            ("Missing", &[RequestType::Hold]),
            ("Order closed", &[RequestType::Hold]),
            ("Aged to lost", &[]),
            ("Unknown", &[]),
        ];
        for (status, kinds) in table {
            let fitting: Vec<RequestType> =
                RequestType::FASTEST_FIRST.into_iter().filter(|kind| kind.is_possible_for(status)).collect();
            assert_eq!(fitting, kinds, "{status}");
        }
    }

    #[test]
    fn spelling_of_type_and_status_is_forgiving() {
        assert_eq!(RequestType::parse("hold"), Some(RequestType::Hold));
        assert_eq!(parse_status("open - not yet filled"), Some(NOT_YET_FILLED));
        assert_eq!(parse_status("Open"), None);
    }
}
