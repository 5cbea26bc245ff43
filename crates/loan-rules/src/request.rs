//! Request types, levels and statuses, and the types that are possible for each item status.

use carrel_records::{ItemStatus, text_enum};
use serde_json::{Map, Value};
use uuid::Uuid;

text_enum! {
    /// The type of a request.
    pub enum RequestType {
        Page = "Page",
        Hold = "Hold",
        Recall = "Recall",
    }
}

impl RequestType {
    /// The order in which instance-level requests try the types: the fastest first.
    pub const FASTEST_FIRST: [RequestType; 3] = [RequestType::Page, RequestType::Recall, RequestType::Hold];

    /// Whether an item of this status can be requested with this type.
    pub fn is_possible_for(self, item_status: &ItemStatus) -> bool {
        match item_status {
            ItemStatus::Available => self == RequestType::Page,
            ItemStatus::Restricted => true,
            ItemStatus::CheckedOut
            | ItemStatus::AwaitingPickup
            | ItemStatus::AwaitingDelivery
            | ItemStatus::InTransit
            | ItemStatus::Paged
            | ItemStatus::OnOrder
            | ItemStatus::InProcess => self != RequestType::Page,
            ItemStatus::Missing => self == RequestType::Hold,
            ItemStatus::DeclaredLost
            | ItemStatus::ClaimedReturned
            | ItemStatus::Withdrawn
            | ItemStatus::LostAndPaid
            | ItemStatus::AgedToLost
            | ItemStatus::IntellectualItem
            | ItemStatus::InProcessNonRequestable
            | ItemStatus::LongMissing
            | ItemStatus::Unavailable
            | ItemStatus::Unknown => false,
            // FOLIO quirk: an item with an unknown status can be requested by a hold.
            ItemStatus::OrderClosed | ItemStatus::Other(_) => self == RequestType::Hold,
        }
    }
}

text_enum! {
    /// The status of a request, in the order in which refusals list them.
    pub enum RequestStatus {
        NotYetFilled = "Open - Not yet filled",
        AwaitingPickup = "Open - Awaiting pickup",
        InTransit = "Open - In transit",
        AwaitingDelivery = "Open - Awaiting delivery",
        Filled = "Closed - Filled",
        Cancelled = "Closed - Cancelled",
        Unfilled = "Closed - Unfilled",
        PickupExpired = "Closed - Pickup expired",
    }
}

impl RequestStatus {
    pub fn is_closed(self) -> bool {
        match self {
            RequestStatus::NotYetFilled
            | RequestStatus::AwaitingPickup
            | RequestStatus::InTransit
            | RequestStatus::AwaitingDelivery => false,
            RequestStatus::Filled
            | RequestStatus::Cancelled
            | RequestStatus::Unfilled
            | RequestStatus::PickupExpired => true,
        }
    }
}

text_enum! {
    /// Whether a request is for one item or for any item of an instance.
    pub enum RequestLevel {
        Item = "Item",
        Title = "Title",
    }
}

text_enum! {
    /// How the requested item gets to the patron.
    pub enum FulfillmentPreference {
        HoldShelf = "Hold Shelf",
        Delivery = "Delivery",
    }
}

/// The status of a stored request; `None` where it has none.
pub fn status(document: &Map<String, Value>) -> Option<RequestStatus> {
    text(document, "status").and_then(RequestStatus::parse)
}

/// The type of a request; case does not matter.
pub fn kind(document: &Map<String, Value>) -> Option<RequestType> {
    text(document, "requestType").and_then(RequestType::parse_ignoring_case)
}

/// The level of a request.
pub fn level(document: &Map<String, Value>) -> Option<RequestLevel> {
    text(document, "requestLevel").and_then(RequestLevel::parse)
}

/// The text at a key; `None` if it is blank.
pub fn text<'a>(document: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    document.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// The id at a key; `None` if it is absent or malformed.
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
            let fitting: Vec<RequestType> = RequestType::FASTEST_FIRST
                .into_iter()
                .filter(|kind| kind.is_possible_for(&status.into()))
                .collect();
            assert_eq!(fitting, kinds, "{status}");
        }
    }

    #[test]
    fn spelling_of_type_and_status_is_forgiving() {
        assert_eq!(RequestType::parse_ignoring_case("hold"), Some(RequestType::Hold));
        let status = RequestStatus::parse_ignoring_case;
        assert_eq!(status("open - not yet filled"), Some(RequestStatus::NotYetFilled));
        assert_eq!(status("Open"), None);
    }
}
