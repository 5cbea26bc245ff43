//! Requirements of use cases beyond the shape, so that a generated document can be stored.

use crate::sample::{remove, set};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Whether a use case requires a reference that the shape does not.
pub fn needs(record: &str, field: &str) -> bool {
    matches!((record, field), ("instancePrecedingSucceedingTitle", "precedingInstanceId"))
}

/// Adjusts a generated document of the record type.
pub fn fit(record: &str, document: &mut Map<String, Value>) {
    let mut put = |path: &str, value: Value| set(document, path, value);
    match record {
        "customField" => {
            put("type", "TEXTBOX_SHORT".into());
            put("entityType", "user".into());
            // The reference id is derived from the name's letters, so two concurrent tests could get the same one.
            let letter = |hex: char| hex.to_digit(16).map_or(hex, |digit| char::from(b'a' + digit as u8));
            let name: String = Uuid::new_v4().simple().to_string().chars().map(letter).collect();
            put("name", name.into());
            for path in ["selectField", "checkboxField", "displayInAccordion"] {
                remove(document, path);
            }
        }
        // The primary service point is one of the location's.
        "location" => {
            let primary = Uuid::new_v4().to_string();
            put("primaryServicePoint", primary.as_str().into());
            put("servicePointIds", json!([primary]));
            // A shadow location is not listed.
            put("isShadow", false.into());
        }
        // The only template engine.
        "template" => put("templateResolver", "mustache".into()),
        // A notification has a recipient, and only an event that is configured.
        "notification" => {
            put("recipientId", Uuid::new_v4().to_string().into());
            remove(document, "eventConfigName");
        }
        // An open loan has a patron.
        "loan" => put("userId", Uuid::new_v4().to_string().into()),
        // A request for an item contains its holdings record.
        "request" => {
            put("itemId", Uuid::new_v4().to_string().into());
            put("holdingsRecordId", Uuid::new_v4().to_string().into());
        }
        // A note without links is deleted; the name of its type is read-only.
        "note" => {
            put("links", json!([{"id": Uuid::new_v4(), "type": "user"}]));
            remove(document, "type");
        }
        // Kinds of address and departments must exist.
        "user" => {
            remove(document, "departments");
            if document.contains_key("personal") {
                set(document, "personal.addresses", json!([]));
            }
        }
        _ => {}
    }
}
