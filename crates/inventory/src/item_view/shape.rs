//! The view of an item: names of references, and properties of instance, holdings record and bound-with parts. Values
//! only.

use crate::fields::filled;
use crate::records::items::ITEM;
use carrel_platform::record_store::shape_of;
use carrel_platform::record_store::write::Document;
use serde_json::{Value, json};

/// Records related to an item.
#[derive(Debug, Default)]
pub struct Related {
    pub title: Option<String>,
    pub call_number: Option<String>,
    /// Contributors of the instance, in its order.
    pub contributors: Option<Value>,
    /// Names, in the order of [`REFERENCES`].
    pub names: [Option<String>; 6],
    pub is_bound_with: bool,
    /// `{briefHoldingsRecord, briefInstance}` of each part; present when one item is shown.
    pub bound_with_titles: Vec<Value>,
}

/// Property of the view, property of the stored item.
pub const REFERENCES: [(&str, &str); 6] = [
    ("materialType", "materialTypeId"),
    ("permanentLoanType", "permanentLoanTypeId"),
    ("temporaryLoanType", "temporaryLoanTypeId"),
    ("permanentLocation", "permanentLocationId"),
    ("temporaryLocation", "temporaryLocationId"),
    ("effectiveLocation", "effectiveLocationId"),
];

/// Optional properties, in this order, between those that are always present.
const WHERE_PRESENT: [&str; 22] = [
    "holdingsRecordId",
    "barcode",
    "itemLevelCallNumber",
    "itemLevelCallNumberPrefix",
    "itemLevelCallNumberSuffix",
    "itemLevelCallNumberTypeId",
    "volume",
    "displaySummary",
    "enumeration",
    "chronology",
    "copyNumber",
    "numberOfPieces",
    "descriptionOfPieces",
    "numberOfMissingPieces",
    "missingPieces",
    "missingPiecesDate",
    "itemDamagedStatusId",
    "itemDamagedStatusDate",
    "accessionNumber",
    "itemIdentifier",
    "metadata",
    "lastCheckIn",
];

/// FOLIO's view of a stored item.
pub fn shown(item: &Document, around: Related) -> Document {
    let mut view = Document::new();
    let mut put = |name: &str, value: Value| view.insert(name.to_owned(), value);
    let own = |name: &str| item.get(name).cloned();
    let list = |name: &str| own(name).unwrap_or_else(|| json!([]));
    put("id", own("id").unwrap_or_default());
    if let Some(version) = item.get("_version") {
        // FOLIO quirk: the version is text here.
        put("_version", version.to_string().into());
    }
    put("status", own("status").unwrap_or_default());
    put("administrativeNotes", list("administrativeNotes"));
    for (name, value) in [("title", around.title), ("callNumber", around.call_number)] {
        if let Some(value) = value {
            put(name, value.into());
        }
    }
    for name in ["hrid", "inTransitDestinationServicePointId"] {
        if let Some(value) = own(name) {
            put(name, value);
        }
    }
    put("contributorNames", contributor_names(around.contributors.as_ref()));
    put("formerIds", list("formerIds"));
    put("discoverySuppress", own("discoverySuppress").unwrap_or_default());
    for name in WHERE_PRESENT {
        if let Some(value) = own(name) {
            put(name, value);
        }
    }
    for name in ["additionalCallNumbers", "notes", "circulationNotes"] {
        put(name, list(name));
    }
    let tags = item.get("tags").and_then(|tags| tags.get("tagList")).cloned().unwrap_or_else(|| json!([]));
    put("tags", json!({"tagList": tags}));
    put("yearCaption", list("yearCaption"));
    put("order", own("order").unwrap_or_default());
    put("electronicAccess", list("electronicAccess"));
    put("statisticalCodeIds", list("statisticalCodeIds"));
    put("purchaseOrderLineIdentifier", own("purchaseOrderLineIdentifier").unwrap_or_default());
    for ((name, id_name), label) in REFERENCES.into_iter().zip(around.names) {
        let Some(id) = filled(item, id_name) else { continue };
        match label {
            Some(label) => put(name, json!({"id": id, "name": label})),
            // A location that does not exist is left out.
            None if name == "effectiveLocation" => None,
            None => put(name, json!({"id": id})),
        };
    }
    for name in ["effectiveCallNumberComponents", "effectiveShelvingOrder"] {
        if let Some(value) = own(name) {
            put(name, value);
        }
    }
    put("isBoundWith", around.is_bound_with.into());
    if !around.bound_with_titles.is_empty() {
        put("boundWithTitles", around.bound_with_titles.into());
    }
    view
}

fn contributor_names(contributors: Option<&Value>) -> Value {
    let all = contributors.and_then(Value::as_array).into_iter().flatten();
    all.map(|contributor| json!({"name": contributor.get("name")})).collect()
}

/// The stored item of a view that a client sends; properties of the view alone are dropped.
pub fn stored(mut view: Document) -> Document {
    for (name, id_name) in REFERENCES {
        let id = view.remove(name).and_then(|reference| reference.get("id").cloned());
        if let Some(id) = id.filter(|id| !id.is_null()) {
            view.insert(id_name.into(), id);
        }
    }
    view.remove("metadata");
    let shape = shape_of(&ITEM);
    view.retain(|name, _| shape.properties.contains_key(name));
    if let Some(Value::String(version)) = view.get("_version")
        && let Ok(version) = version.parse::<i64>()
    {
        view.insert("_version".into(), version.into());
    }
    view
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Document {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn a_view_has_the_names_of_references() {
        let item =
            object(json!({"id": "1", "_version": 3, "materialTypeId": "m", "effectiveLocationId": "l",
            "temporaryLocationId": "gone", "status": {"name": "Available"}}));
        let around = Related {
            title: Some("Uprooted".into()),
            contributors: Some(json!([{"name": "Novik, Naomi", "primary": true}])),
            names: [Some("Book".into()), None, None, None, None, Some("Main".into())],
            ..Related::default()
        };
        let view = Value::Object(shown(&item, around));
        assert_eq!(view["_version"], "3");
        assert_eq!(view["title"], "Uprooted");
        assert_eq!(view["contributorNames"], json!([{"name": "Novik, Naomi"}]));
        assert_eq!(view["materialType"], json!({"id": "m", "name": "Book"}));
        assert_eq!(view["effectiveLocation"], json!({"id": "l", "name": "Main"}));
        assert_eq!(view["temporaryLocation"], json!({"id": "gone"}));
        assert_eq!(view["isBoundWith"], false);
        assert!(view.get("materialTypeId").is_none());
    }

    #[test]
    fn a_view_is_stored_with_references() {
        let view = object(json!({"_version": "3", "title": "x", "isBoundWith": false, "barcode": "1",
            "materialType": {"id": "m", "name": "Book"}, "permanentLoanType": {"id": "p"},
            "temporaryLoanType": null, "metadata": {}, "status": {"name": "Available"}}));
        assert_eq!(
            Value::Object(stored(view)),
            json!({"_version": 3, "barcode": "1", "status": {"name": "Available"},
                "materialTypeId": "m", "permanentLoanTypeId": "p"})
        );
    }
}
