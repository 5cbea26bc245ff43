//! Which rows of the outbox are events for subscribers: published events, those of fees/fines, and changes of loans
//! under the names by which mod-circulation publishes them.

use serde_json::{Map, Value, json};

/// Topics of the outbox in which events of a type may be.
pub fn topics(event_type: &str) -> Vec<String> {
    let mut topics = vec![crate::publish::topic(event_type), format!("feesfines.{event_type}")];
    if OF_LOANS.contains(&event_type) {
        topics.push("circulation.loan".into());
    }
    topics
}

const OF_LOANS: [&str; 7] = [
    "ITEM_CHECKED_OUT",
    "ITEM_CHECKED_IN",
    "LOAN_DUE_DATE_CHANGED",
    "LOAN_CLOSED",
    "ITEM_DECLARED_LOST",
    "ITEM_CLAIMED_RETURNED",
    "ITEM_AGED_TO_LOST",
];

/// The body for a subscriber of an event type; `None` if the stored event has another type.
pub fn body(event_type: &str, topic: &str, payload: &str) -> Option<String> {
    if topic == "circulation.loan" {
        return of_loan(event_type, &serde_json::from_str(payload).ok()?);
    }
    if topic.starts_with("feesfines.") {
        return Some(payload.to_owned());
    }
    let event: Value = serde_json::from_str(payload).ok()?;
    Some(event.get("eventPayload").and_then(Value::as_str).unwrap_or_default().to_owned())
}

fn of_loan(event_type: &str, change: &Value) -> Option<String> {
    let (old, new) = (&change["old"], change.get("new")?);
    let text = |loan: &Value, pointer: &str| loan.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let has_closed = text(new, "/status/name").as_deref() == Some("Closed")
        && text(old, "/status/name").as_deref() != Some("Closed");
    let action = text(new, "/action").unwrap_or_default();
    // Including actions with a suffix: through an override, found by the library.
    let is_action = |name: &str| action.to_lowercase().starts_with(name);
    let becomes = |name: &str| action == name && text(old, "/action").as_deref() != Some(name);
    let (matches, fields): (bool, &[&str]) = match event_type {
        "ITEM_CHECKED_OUT" => (old.is_null() && is_action("checkedout"), &["dueDate"]),
        "ITEM_CHECKED_IN" => (has_closed && is_action("checkedin"), &["returnDate"]),
        "LOAN_CLOSED" => (has_closed && !is_action("checkedin"), &[]),
        "LOAN_DUE_DATE_CHANGED" => (
            !old.is_null() && !has_closed && old.get("dueDate") != new.get("dueDate"),
            &["dueDate", "dueDateChangedByRecall"],
        ),
        "ITEM_DECLARED_LOST" => (becomes("declaredLost"), &[]),
        "ITEM_CLAIMED_RETURNED" => (becomes("claimedReturned"), &[]),
        "ITEM_AGED_TO_LOST" => (becomes("itemAgedToLost"), &[]),
        _ => (false, &[]),
    };
    if !matches {
        return None;
    }
    let mut body = Map::new();
    body.insert("loanId".into(), new.get("id").cloned()?);
    for key in ["userId"].iter().chain(fields) {
        if let Some(value) = new.get(*key) {
            body.insert((*key).to_owned(), value.clone());
        }
    }
    if event_type == "LOAN_DUE_DATE_CHANGED" {
        body.entry("dueDateChangedByRecall").or_insert(json!(false));
    }
    Some(Value::Object(body).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loan(differs: Value) -> Value {
        let mut loan = json!({"id": "l", "userId": "u", "status": {"name": "Open"}, "action": "checkedout",
            "dueDate": "2024-05-01"});
        loan.as_object_mut().expect("an object").extend(differs.as_object().expect("an object").clone());
        loan
    }

    fn kinds(old: Value, new: Value) -> Vec<&'static str> {
        let change = json!({"old": old, "new": new});
        OF_LOANS
            .into_iter()
            .filter(|kind| body(kind, "circulation.loan", &change.to_string()).is_some())
            .collect()
    }

    #[test]
    fn a_change_of_a_loan_is_one_event() {
        let closed = json!({"status": {"name": "Closed"}, "action": "checkedin"});
        assert_eq!(kinds(Value::Null, loan(json!({}))), ["ITEM_CHECKED_OUT"]);
        assert_eq!(kinds(loan(json!({})), loan(closed)), ["ITEM_CHECKED_IN"]);
        let renewed = json!({"dueDate": "2024-06-01", "action": "renewed"});
        assert_eq!(kinds(loan(json!({})), loan(renewed)), ["LOAN_DUE_DATE_CHANGED"]);
        let missing = json!({"status": {"name": "Closed"}, "action": "markedMissing"});
        assert_eq!(kinds(loan(json!({})), loan(missing)), ["LOAN_CLOSED"]);
        assert_eq!(kinds(loan(json!({})), loan(json!({"action": "declaredLost"}))), ["ITEM_DECLARED_LOST"]);
        assert_eq!(kinds(loan(json!({})), loan(json!({"action": "staffInfoAdded"}))), [""; 0]);
    }

    #[test]
    fn a_subscriber_gets_what_mod_circulation_publishes() {
        let change = json!({"new": loan(json!({}))}).to_string();
        let sent = body("ITEM_CHECKED_OUT", "circulation.loan", &change).expect("an event");
        assert_eq!(
            serde_json::from_str::<Value>(&sent).expect("JSON"),
            json!({"loanId": "l", "userId": "u", "dueDate": "2024-05-01"})
        );
    }

    #[test]
    fn a_published_event_is_its_payload() {
        let event = json!({"id": "1", "eventType": "X", "eventPayload": "{\"a\":1}"}).to_string();
        assert_eq!(body("X", "pubsub.X", &event).as_deref(), Some("{\"a\":1}"));
    }
}
