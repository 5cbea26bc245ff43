//! The log entries of an event.

use crate::circulation_log::{
    Action, Links, LogEntry, LogObject, LoggedItem, LoggedPatron, Source, description,
};
use carrel_records::time;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use uuid::Uuid;

/// The entries of an event, or why there are none.
pub fn entries(event: &Value) -> Result<Vec<LogEntry>, String> {
    let kind = text(event, "logEventType").ok_or("logEventType is missing")?;
    let payload = &event["payload"];
    match kind {
        "CHECK_IN_EVENT" => Ok(check_in(event)),
        "CHECK_OUT_EVENT" => Ok(check_out(event, Action::CheckedOut)),
        "CHECK_OUT_THROUGH_OVERRIDE_EVENT" => Ok(check_out(event, Action::CheckedOutThroughOverride)),
        "LOAN" => loan(payload).map(|entry| vec![entry]),
        "NOTICE" => Ok(vec![notice(payload, Action::Send)]),
        "NOTICE_ERROR" => Ok(vec![notice(payload, Action::SendError)]),
        "FEE_FINE" => fee_fine(payload).map(|entry| vec![entry]),
        "MANUAL_BLOCK_CREATED_EVENT" => Ok(vec![manual_block(payload, Action::Created)]),
        "MANUAL_BLOCK_MODIFIED_EVENT" => Ok(vec![manual_block(payload, Action::Modified)]),
        "MANUAL_BLOCK_DELETED_EVENT" => Ok(vec![manual_block(payload, Action::Deleted)]),
        "REQUEST_CREATED_EVENT" => Ok(vec![request_created(payload, Action::Created)]),
        "REQUEST_CREATED_THROUGH_OVERRIDE_EVENT" => {
            Ok(vec![request_created(payload, Action::CreatedThroughOverride)])
        }
        "REQUEST_UPDATED_EVENT" | "REQUEST_MOVED_EVENT" | "REQUEST_EXPIRED_EVENT" => {
            Ok(vec![request_changed(payload, kind)])
        }
        "REQUEST_REORDERED_EVENT" => Ok(requests_reordered(payload)),
        other => Err(format!("Builder isn't implemented yet for: {other}")),
    }
}

fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

fn id(object: &Value, key: &str) -> Option<Uuid> {
    Uuid::parse_str(text(object, key)?).ok()
}

fn instant(object: &Value, key: &str) -> Option<Timestamp> {
    time::parse(text(object, key)?)
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

fn patron(event: &Value) -> LoggedPatron {
    LoggedPatron { id: id(event, "userId"), barcode: owned(text(event, "userBarcode")) }
}

fn item(event: &Value) -> LoggedItem {
    LoggedItem {
        id: id(event, "itemId"),
        barcode: owned(text(event, "itemBarcode")),
        holdings: id(event, "holdingsRecordId"),
        instance: id(event, "instanceId"),
        loan: id(event, "loanId"),
    }
}

fn named(event: &Value) -> Source {
    text(event, "source").map_or(Source::Unknown, |name| Source::Named(name.to_owned()))
}

fn status_changes<'a>(event: &'a Value, scan: &'a LogEntry) -> impl Iterator<Item = LogEntry> + 'a {
    let requests = event["requests"].as_array().map_or(&[][..], Vec::as_slice);
    requests.iter().map(|request| {
        let names = description::RequestNames {
            kind: text(request, "requestType"),
            pickup_service_point: text(request, "pickUpServicePoint"),
            address_type: text(request, "addressType"),
        };
        let status = |key| text(request, key).unwrap_or_default();
        let text = description::request_status_changed(
            &names,
            status("newRequestStatus"),
            status("oldRequestStatus"),
        );
        LogEntry {
            object: LogObject::Request,
            action: Action::RequestStatusChanged,
            description: Some(text),
            links: Links { request: id(request, "id"), ..Links::default() },
            ..scan.clone()
        }
    })
}

fn check_in(event: &Value) -> Vec<LogEntry> {
    let status = text(event, "itemStatusName").unwrap_or_default();
    let scan = LogEntry {
        patron: patron(event),
        items: vec![item(event)],
        source: named(event),
        service_point: id(event, "servicePointId"),
        description: Some(description::item_checked_in(status, text(event, "destinationServicePoint"))),
        ..LogEntry::new(LogObject::NotApplicable, Action::CheckedIn)
    };
    let zone = text(event, "zoneId").and_then(|name| TimeZone::get(name).ok()).unwrap_or(TimeZone::UTC);
    let times = instant(event, "returnDate").zip(instant(event, "systemReturnDate"));
    let closed = times.filter(|_| event["isLoanClosed"] == Value::Bool(true)).map(|(returned, recorded)| {
        let loan = description::ReturnedLoan {
            item_status: status,
            returned,
            recorded,
            due: instant(event, "dueDate"),
        };
        LogEntry {
            object: LogObject::Loan,
            action: Action::ClosedLoan,
            description: Some(description::loan_closed(&loan, &zone)),
            ..scan.clone()
        }
    });
    let requests: Vec<LogEntry> = status_changes(event, &scan).collect();
    [scan].into_iter().chain(closed).chain(requests).collect()
}

fn check_out(event: &Value, action: Action) -> Vec<LogEntry> {
    let scan = LogEntry {
        patron: patron(event),
        items: vec![item(event)],
        source: named(event),
        service_point: id(event, "servicePointId"),
        description: Some(description::checked_out(text(event, "proxyBarcode"))),
        ..LogEntry::new(LogObject::Loan, action)
    };
    let requests: Vec<LogEntry> = status_changes(event, &scan).collect();
    [scan].into_iter().chain(requests).collect()
}

fn action(payload: &Value) -> Result<Action, String> {
    let name = text(payload, "action").filter(|name| !name.is_empty()).ok_or("Action is empty")?;
    Action::named(name).ok_or_else(|| format!("Builder isn't implemented yet for: {name}"))
}

fn loan(payload: &Value) -> Result<LogEntry, String> {
    let action = action(payload)?;
    let is_of_the_system = matches!(action, Action::Anonymize | Action::AgeToLost);
    Ok(LogEntry {
        patron: if action == Action::Anonymize { LoggedPatron::default() } else { patron(payload) },
        items: vec![item(payload)],
        source: if is_of_the_system { Source::System } else { id(payload, "updatedByUserId").into() },
        service_point: id(payload, "servicePointId").filter(|_| action != Action::AgeToLost),
        description: owned(text(payload, "description")),
        ..LogEntry::new(LogObject::Loan, action)
    })
}

fn notice(payload: &Value, action: Action) -> LogEntry {
    let items = payload["items"].as_array().map_or(&[][..], Vec::as_slice);
    let nothing = Value::Null;
    let first = items.first().unwrap_or(&nothing);
    let trigger = text(first, "triggeringEvent");
    let error = (action == Action::SendError).then(|| text(payload, "errorMessage").unwrap_or("unknown"));
    LogEntry {
        patron: patron(payload),
        items: items.iter().map(item).collect(),
        source: Source::System,
        service_point: id(first, "servicePointId"),
        description: Some(description::notice(text(payload, "templateName"), trigger, error)),
        links: Links {
            request: id(payload, "requestId"),
            fee_fine: id(payload, "accountId"),
            template: id(first, "templateId"),
            notice_policy: id(first, "noticePolicyId"),
        },
        ..LogEntry::new(LogObject::Notice, action)
    }
}

fn fee_fine(payload: &Value) -> Result<LogEntry, String> {
    let action = action(payload)?;
    let amount = |key: &str| match &payload[key] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        number => Some(number.to_string()),
    };
    let what = description::FeeFineAction {
        kind: text(payload, "type"),
        owner: text(payload, "feeFineOwner"),
        amount: amount("amount").and_then(|amount| amount.parse().ok()),
        balance: amount("balance").and_then(|amount| amount.parse().ok()),
        payment_method: text(payload, "paymentMethod"),
        comments: text(payload, "comments"),
        is_automated: payload["automated"] == Value::Bool(true),
    };
    Ok(LogEntry {
        patron: patron(payload),
        items: vec![item(payload)],
        source: named(payload),
        service_point: id(payload, "servicePointId"),
        description: Some(description::fee_fine(action, &what)),
        links: Links { fee_fine: id(payload, "accountId"), ..Links::default() },
        ..LogEntry::new(LogObject::FeeFine, action)
    })
}

/// An entry about a manual block, by its record.
pub fn manual_block(block: &Value, action: Action) -> LogEntry {
    let by = block.pointer("/metadata/updatedByUserId").and_then(Value::as_str);
    LogEntry {
        patron: LoggedPatron { id: id(block, "userId"), barcode: None },
        source: by.and_then(|by| Uuid::parse_str(by).ok()).into(),
        description: Some(description::manual_block(block)),
        ..LogEntry::new(LogObject::ManualBlock, action)
    }
}

fn of_request(request: &Value, updated: &Value, action: Action, description: String) -> LogEntry {
    let by = updated.pointer("/metadata/updatedByUserId").and_then(Value::as_str);
    let barcode = |of: &str| request.get(of).and_then(|of| text(of, "barcode"));
    LogEntry {
        patron: LoggedPatron { id: id(request, "requesterId"), barcode: owned(barcode("requester")) },
        items: vec![LoggedItem { barcode: owned(barcode("item")), ..item(request) }],
        source: by.and_then(|by| Uuid::parse_str(by).ok()).into(),
        service_point: id(request, "pickupServicePointId"),
        description: Some(description),
        links: Links { request: id(request, "id"), ..Links::default() },
        ..LogEntry::new(LogObject::Request, action)
    }
}

fn kind(request: &Value) -> &str {
    text(request, "requestType").unwrap_or_default()
}

fn request_created(payload: &Value, action: Action) -> LogEntry {
    let created = &payload["requests"]["created"];
    of_request(created, created, action, description::request_placed(kind(created)))
}

fn request_changed(payload: &Value, event: &str) -> LogEntry {
    let (old, new) = (&payload["requests"]["original"], &payload["requests"]["updated"]);
    let status = |request| text(request, "status").unwrap_or_default();
    match event {
        "REQUEST_EXPIRED_EVENT" => {
            let pickup = status(new) == "Closed - Pickup expired";
            let action = if pickup { Action::PickupExpired } else { Action::Expired };
            let text = description::request_expired(kind(old), status(new), status(old));
            LogEntry { source: Source::System, ..of_request(old, new, action, text) }
        }
        "REQUEST_MOVED_EVENT" => {
            let barcode = |request: &'_ Value| request["item"]["barcode"].as_str().map(str::to_owned);
            let (is, was) = (barcode(new), barcode(old));
            let text = description::request_moved(kind(old), is.as_deref(), was.as_deref());
            of_request(new, new, Action::Moved, text)
        }
        _ if status(new) == "Closed - Cancelled" => {
            let reason = text(new, "cancellationAdditionalInformation");
            of_request(new, new, Action::Cancelled, description::request_cancelled(kind(old), reason))
        }
        _ => {
            let version = |request| description::RequestVersion {
                kind: kind(request),
                expires: instant(request, "requestExpirationDate"),
                fulfillment: text(request, "fulfillmentPreference").unwrap_or_default(),
                pickup_service_point: request["pickupServicePoint"]["name"].as_str(),
                address_type: text(request, "addressType"),
            };
            of_request(new, new, Action::Edited, description::request_edited(&version(old), &version(new)))
        }
    }
}

fn requests_reordered(payload: &Value) -> Vec<LogEntry> {
    let requests = payload["requests"]["reordered"].as_array().map_or(&[][..], Vec::as_slice);
    requests
        .iter()
        .map(|request| {
            let at = |key: &str| request[key].as_i64().unwrap_or(0);
            let text = description::request_reordered(kind(request), at("position"), at("previousPosition"));
            of_request(request, request, Action::QueuePositionReordered, text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn summaries(event: Value) -> Vec<(&'static str, &'static str, String)> {
        let entries = entries(&event).expect("entries");
        let description = |entry: &LogEntry| entry.description.clone().unwrap_or_default();
        entries.iter().map(|entry| (entry.object.name(), entry.action.name(), description(entry))).collect()
    }

    #[test]
    fn a_check_in_has_an_entry_for_item_loan_and_request() {
        let event = json!({"logEventType": "CHECK_IN_EVENT", "itemStatusName": "Available", "isLoanClosed": true,
            "returnDate": "2024-05-01T10:00:00.000Z", "systemReturnDate": "2024-05-01T10:00:00.000Z",
            "requests": [{"id": Uuid::nil(), "requestType": "Hold", "oldRequestStatus": "A", "newRequestStatus": "B"}]});
        assert_eq!(
            summaries(event),
            [
                ("N/A", "Checked in", "Item status: Available.".into()),
                ("Loan", "Closed loan", "Item status: Available.".into()),
                ("Request", "Request status changed", "Type: Hold. New request status: B (from: A).".into()),
            ]
        );
    }

    #[test]
    fn a_loan_is_logged_by_its_action() {
        let event = json!({"logEventType": "LOAN", "payload": {"action": "Renewed", "description": "d"}});
        assert_eq!(summaries(event), [("Loan", "Renewed", "d".into())]);
        let anonymized = json!({"logEventType": "LOAN",
            "payload": {"action": "Anonymize", "userId": Uuid::nil(), "loanId": Uuid::nil()}});
        let entry = entries(&anonymized).expect("entries").remove(0);
        assert_eq!((entry.patron, entry.source), (LoggedPatron::default(), Source::System));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert!(entries(&json!({})).is_err());
        assert_eq!(
            entries(&json!({"logEventType": "TEA"})),
            Err("Builder isn't implemented yet for: TEA".into())
        );
        assert_eq!(entries(&json!({"logEventType": "LOAN", "payload": {}})), Err("Action is empty".into()));
    }

    #[test]
    fn fees_and_notices_are_described() {
        let event = json!({"logEventType": "FEE_FINE", "payload": {"action": "Paid fully", "type": "Fine",
            "amount": 5, "balance": 0.0, "paymentMethod": "Cash", "comments": "STAFF : ok\nPATRON : thanks"}});
        assert_eq!(
            summaries(event),
            [(
                "Fee/Fine",
                "Paid fully",
                "Fee/Fine type: Fine. Amount: 5.00. Balance: 0.00. Payment method: Cash. Additional information to \
                 staff: ok. Additional information to patron: thanks."
                    .into()
            )]
        );
        let event = json!({"logEventType": "NOTICE_ERROR", "payload": {"errorMessage": "full",
            "items": [{"itemBarcode": "1", "triggeringEvent": "Due date"}, {"itemBarcode": "2"}]}});
        assert_eq!(entries(&event).expect("entries")[0].items.len(), 2);
        assert_eq!(
            summaries(event),
            [(
                "Notice",
                "Send error",
                "Template: unknown. Triggering event: Due date. Error message: full".into()
            )]
        );
    }
}
