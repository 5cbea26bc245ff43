//! What rooms ask of a document beyond its shape, so that a made-up one can be stored.

use crate::sample::{remove, set};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Mends a made-up document of the record type.
pub fn fit(record: &str, document: &mut Map<String, Value>) {
    let mut put = |path: &str, value: Value| set(document, path, value);
    match record {
        "customField" => {
            put("type", "TEXTBOX_SHORT".into());
            put("entityType", "user".into());
            // The reference id is made of the name's letters, and two at once may find the same one.
            let letters = Uuid::new_v4().simple().to_string().replace(|c: char| c.is_ascii_digit(), "x");
            put("name", format!("{letters} {}", Uuid::new_v4()).into());
            for path in ["selectField", "checkboxField", "displayInAccordion"] {
                remove(document, path);
            }
        }
        // An open loan has a borrower.
        "loan" => put("userId", Uuid::new_v4().to_string().into()),
        // A note without links is a note about nothing, and deleted; its type's name is read only.
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
