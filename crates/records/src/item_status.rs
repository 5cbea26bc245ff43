//! The status of an item, by which the desk decides what may be done with it.

use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// The status of an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum ItemStatus {
    AgedToLost,
    #[default]
    Available,
    AwaitingDelivery,
    AwaitingPickup,
    CheckedOut,
    ClaimedReturned,
    DeclaredLost,
    InProcess,
    InProcessNonRequestable,
    InTransit,
    IntellectualItem,
    LongMissing,
    LostAndPaid,
    Missing,
    OnOrder,
    OrderClosed,
    Paged,
    Restricted,
    Unavailable,
    Unknown,
    Withdrawn,
    /// A text that is not FOLIO's. Only a tenant whose storage does not check values has such items.
    Other(String),
}

impl ItemStatus {
    /// FOLIO's statuses.
    pub const LISTED: [ItemStatus; 21] = [
        ItemStatus::AgedToLost,
        ItemStatus::Available,
        ItemStatus::AwaitingDelivery,
        ItemStatus::AwaitingPickup,
        ItemStatus::CheckedOut,
        ItemStatus::ClaimedReturned,
        ItemStatus::DeclaredLost,
        ItemStatus::InProcess,
        ItemStatus::InProcessNonRequestable,
        ItemStatus::InTransit,
        ItemStatus::IntellectualItem,
        ItemStatus::LongMissing,
        ItemStatus::LostAndPaid,
        ItemStatus::Missing,
        ItemStatus::OnOrder,
        ItemStatus::OrderClosed,
        ItemStatus::Paged,
        ItemStatus::Restricted,
        ItemStatus::Unavailable,
        ItemStatus::Unknown,
        ItemStatus::Withdrawn,
    ];

    pub fn as_str(&self) -> &str {
        match self {
            ItemStatus::AgedToLost => "Aged to lost",
            ItemStatus::Available => "Available",
            ItemStatus::AwaitingDelivery => "Awaiting delivery",
            ItemStatus::AwaitingPickup => "Awaiting pickup",
            ItemStatus::CheckedOut => "Checked out",
            ItemStatus::ClaimedReturned => "Claimed returned",
            ItemStatus::DeclaredLost => "Declared lost",
            ItemStatus::InProcess => "In process",
            ItemStatus::InProcessNonRequestable => "In process (non-requestable)",
            ItemStatus::InTransit => "In transit",
            ItemStatus::IntellectualItem => "Intellectual item",
            ItemStatus::LongMissing => "Long missing",
            ItemStatus::LostAndPaid => "Lost and paid",
            ItemStatus::Missing => "Missing",
            ItemStatus::OnOrder => "On order",
            ItemStatus::OrderClosed => "Order closed",
            ItemStatus::Paged => "Paged",
            ItemStatus::Restricted => "Restricted",
            ItemStatus::Unavailable => "Unavailable",
            ItemStatus::Unknown => "Unknown",
            ItemStatus::Withdrawn => "Withdrawn",
            ItemStatus::Other(text) => text,
        }
    }

    /// The item is lost, and its fees are not settled.
    pub fn is_lost(&self) -> bool {
        matches!(self, ItemStatus::DeclaredLost | ItemStatus::AgedToLost)
    }
}

impl From<&str> for ItemStatus {
    fn from(text: &str) -> Self {
        let listed = ItemStatus::LISTED.into_iter().find(|status| status.as_str() == text);
        listed.unwrap_or_else(|| ItemStatus::Other(text.to_owned()))
    }
}

impl fmt::Display for ItemStatus {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.pad(self.as_str())
    }
}

impl Serialize for ItemStatus {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl From<&ItemStatus> for Value {
    fn from(status: &ItemStatus) -> Value {
        status.as_str().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_is_read_from_its_text_and_others_are_kept() {
        for status in ItemStatus::LISTED {
            assert_eq!(ItemStatus::from(status.as_str()), status);
        }
        assert_eq!(ItemStatus::from("At the baker's").as_str(), "At the baker's");
    }
}
