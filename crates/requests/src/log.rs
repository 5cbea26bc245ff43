//! Entries of the circulation log about requests: placed, edited, cancelled, moved, reordered, expired.

use carrel_audit::circulation_log::{
    Action, Links, LogEntry, LogObject, LoggedItem, LoggedPatron, Source, description,
};
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{self, RequestStatus};
use carrel_records::time;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use uuid::Uuid;

type Document = Map<String, Value>;

/// A new request.
pub fn placed(placed: &Document, overrides: bool, by: Option<Uuid>) -> LogEntry {
    let action = if overrides { Action::CreatedThroughOverride } else { Action::Created };
    entry(placed, action, description::request_placed(kind(placed)), by.into())
}

/// A new version of a request, which may be cancelled.
pub fn edited(old: &Document, new: &Document, by: Option<Uuid>, settings: &CirculationSettings) -> LogEntry {
    if request::status(new) == Some(RequestStatus::Cancelled) {
        let reason = request::id(new, "cancellationReasonId");
        let reason = reason.and_then(|id| settings.cancellation_reasons.get(&id));
        let reason = reason.map(|reason| reason.description.as_deref().unwrap_or(&reason.name));
        return entry(new, Action::Cancelled, description::request_cancelled(kind(old), reason), by.into());
    }
    let text = description::request_edited(&version(old, settings), &version(new, settings));
    entry(new, Action::Edited, text, by.into())
}

/// The loan that a recall shortens; the statement that writes the entry reads the patron's barcode.
pub fn recalled(old: &Document, new: &Document, by: Option<Uuid>, zone: &TimeZone) -> Option<LogEntry> {
    let due = |loan| request::text(loan, "dueDate").and_then(time::parse);
    let id = |key| request::id(old, key);
    Some(LogEntry {
        patron: LoggedPatron { id: id("userId"), barcode: None },
        items: vec![LoggedItem { id: id("itemId"), loan: id("id"), ..LoggedItem::default() }],
        source: by.into(),
        service_point: id("checkoutServicePointId"),
        description: Some(description::due_date_changed(due(new)?, due(old), zone)),
        ..LogEntry::new(LogObject::Loan, Action::RecallRequested)
    })
}

/// A request that is moved to another item.
pub fn moved(old: &Document, new: &Document, by: Option<Uuid>) -> LogEntry {
    let text = description::request_moved(kind(old), snapshot(new, "item"), snapshot(old, "item"));
    entry(new, Action::Moved, text, by.into())
}

/// A request that gets another position in its queue.
pub fn reordered(stored: &Document, position: i64, by: Option<Uuid>) -> LogEntry {
    let old = stored.get("position").and_then(Value::as_i64).unwrap_or(0);
    let text = description::request_reordered(kind(stored), position, old);
    entry(stored, Action::QueuePositionReordered, text, by.into())
}

/// A request that expires.
pub fn expired(old: &Document, new: &Document) -> LogEntry {
    let status = |document| request::text(document, "status").unwrap_or_default();
    let action = match request::status(new) {
        Some(RequestStatus::PickupExpired) => Action::PickupExpired,
        _ => Action::Expired,
    };
    let text = description::request_expired(kind(old), status(new), status(old));
    entry(old, action, text, Source::System)
}

/// Patron and item are those of the snapshots, which are as new as the request.
fn entry(document: &Document, action: Action, description: String, source: Source) -> LogEntry {
    let id = |key| request::id(document, key);
    LogEntry {
        patron: LoggedPatron {
            id: id("requesterId"),
            barcode: snapshot(document, "requester").map(str::to_owned),
        },
        items: vec![LoggedItem {
            id: id("itemId"),
            barcode: snapshot(document, "item").map(str::to_owned),
            holdings: id("holdingsRecordId"),
            instance: id("instanceId"),
            loan: None,
        }],
        source,
        service_point: id("pickupServicePointId"),
        description: Some(description),
        links: Links { request: id("id"), ..Links::default() },
        ..LogEntry::new(LogObject::Request, action)
    }
}

fn version<'a>(document: &'a Document, settings: &'a CirculationSettings) -> description::RequestVersion<'a> {
    let point = request::id(document, "pickupServicePointId").and_then(|id| settings.service_points.get(&id));
    let address =
        request::id(document, "deliveryAddressTypeId").and_then(|id| settings.address_types.get(&id));
    description::RequestVersion {
        kind: kind(document),
        expires: request::text(document, "requestExpirationDate").and_then(time::parse),
        fulfillment: request::text(document, "fulfillmentPreference").unwrap_or_default(),
        pickup_service_point: point.map(|point| point.name.as_str()),
        address_type: address.map(|address| address.name.as_str()),
    }
}

fn kind(document: &Document) -> &str {
    request::text(document, "requestType").unwrap_or_default()
}

/// The barcode in the snapshot of the item or the requester.
fn snapshot<'a>(document: &'a Document, of: &str) -> Option<&'a str> {
    document.get(of)?.get("barcode")?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hold(differs: Value) -> Document {
        let mut document = json!({"id": Uuid::from_u128(1), "requesterId": Uuid::from_u128(2), "requestType": "Hold",
            "status": "Open - Not yet filled", "item": {"barcode": "036"}, "requester": {"barcode": "card"},
            "position": 1});
        document.as_object_mut().expect("an object").extend(differs.as_object().expect("an object").clone());
        document.as_object().expect("an object").clone()
    }

    fn action_and_description(entry: &LogEntry) -> (&'static str, &str) {
        (entry.action.name(), entry.description.as_deref().unwrap_or_default())
    }

    #[test]
    fn a_request_is_named_with_requester_and_item() {
        let entry = placed(&hold(json!({})), false, None);
        assert_eq!(action_and_description(&entry), ("Created", "Type: Hold."));
        assert_eq!(entry.patron.barcode.as_deref(), Some("card"));
        assert_eq!(entry.items[0].barcode.as_deref(), Some("036"));
        assert_eq!(entry.links.request, Some(Uuid::from_u128(1)));
        assert_eq!(placed(&hold(json!({})), true, None).action.name(), "Created through override");
    }

    #[test]
    fn a_new_version_is_an_edit_or_a_cancellation() {
        let settings = CirculationSettings::blank();
        let edit = edited(&hold(json!({})), &hold(json!({"requestType": "Recall"})), None, &settings);
        assert_eq!(
            action_and_description(&edit),
            ("Edited", "Type: Hold. New request type: Recall (from: Hold).")
        );
        let cancelled =
            edited(&hold(json!({})), &hold(json!({"status": RequestStatus::Cancelled})), None, &settings);
        assert_eq!(
            action_and_description(&cancelled),
            ("Cancelled", "Type: Hold. Reason for cancellation: null.")
        );
    }

    #[test]
    fn moves_and_expiry_name_what_was_and_is() {
        let moved = moved(&hold(json!({})), &hold(json!({"item": {"barcode": "037"}})), None);
        assert_eq!(
            action_and_description(&moved),
            ("Moved", "Type: Hold. New item barcode: 037 (from: 036).")
        );
        let entry = reordered(&hold(json!({})), 3, None);
        assert_eq!(
            action_and_description(&entry),
            ("Queue position reordered", "Type: Hold. New queue position: 3 (from: 1).")
        );
        let entry = expired(&hold(json!({})), &hold(json!({"status": "Closed - Unfilled"})));
        assert_eq!(
            action_and_description(&entry),
            ("Expired", "Type: Hold. New request status: Closed - Unfilled (from: Open - Not yet filled).")
        );
        assert_eq!(entry.source, Source::System);
    }
}
