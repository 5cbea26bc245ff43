//! The view of an instance: with links, lists that are present when empty, and whether it is bound with others. Values
//! only.

use super::related::{Related, put_into};
use crate::fields::filled;
use crate::records::instances::INSTANCE;
use carrel_platform::record_store::shape_of;
use carrel_platform::record_store::write::Document;
use carrel_records::{Failure, Refusal};
use serde_json::{Value, json};

/// Lists that the view has even if the stored instance lacks them.
const LISTS: [&str; 18] = [
    "administrativeNotes",
    "alternativeTitles",
    "editions",
    "series",
    "identifiers",
    "contributors",
    "subjects",
    "classifications",
    "publication",
    "publicationFrequency",
    "publicationRange",
    "electronicAccess",
    "instanceFormatIds",
    "physicalDescriptions",
    "languages",
    "notes",
    "statisticalCodeIds",
    "natureOfContentTermIds",
];

/// Properties that come from a MARC record; they cannot be changed here.
pub const RULED_BY_MARC: [&str; 24] = [
    "hrid",
    "source",
    "alternativeTitles",
    "series",
    "identifiers",
    "contributors",
    "editions",
    "physicalDescriptions",
    "instanceFormatIds",
    "languages",
    "publication",
    "publicationFrequency",
    "publicationRange",
    "notes",
    "electronicAccess",
    "subjects",
    "classifications",
    "title",
    "indexTitle",
    "instanceTypeId",
    "modeOfIssuanceId",
    "precedingTitles",
    "succeedingTitles",
    "dates",
];

/// FOLIO's view of a stored instance.
pub fn shown(instance: &Document, related: &Related, is_bound_with: bool) -> Document {
    let mut view = Document::new();
    for name in ["id", "_version", "hrid", "source", "title"] {
        if let Some(value) = instance.get(name) {
            // FOLIO quirk: the version is text here.
            let value = if name == "_version" { value.to_string().into() } else { value.clone() };
            view.insert(name.into(), value);
        }
    }
    put_into(&mut view, filled(instance, "id").unwrap_or_default(), related);
    view.insert("isBoundWith".into(), is_bound_with.into());
    for (name, value) in instance {
        view.entry(name.clone()).or_insert_with(|| value.clone());
    }
    for name in LISTS {
        view.entry(name).or_insert_with(|| json!([]));
    }
    view.entry("tags").or_insert_with(|| json!({"tagList": []}));
    view
}

/// The stored instance of a view that a client sends, without its links.
pub fn stored(mut view: Document) -> Document {
    view.remove("metadata");
    let shape = shape_of(&INSTANCE);
    view.retain(|name, value| shape.properties.contains_key(name) && !value.is_null());
    if let Some(version) = filled(&view, "_version").and_then(|version| version.parse::<i64>().ok()) {
        view.insert("_version".into(), version.into());
    }
    view
}

/// A deleted instance must be suppressed from discovery and staff.
pub fn refuse_if_deleted_is_shown(view: &Document) -> Result<(), Failure> {
    let says = |name: &str, what: bool| view.get(name) == Some(&Value::Bool(what));
    if says("deleted", true) && (says("staffSuppress", false) || says("discoverySuppress", false)) {
        return Err(Failure::Invalid(
            "staffSuppress and discoverySuppress cannot be set to false if instance is marked as deleted"
                .into(),
        ));
    }
    Ok(())
}

/// Refuses changes of properties that come from a MARC record, and of the HRID.
pub fn refuse_replacement(old: &Document, new: &Document) -> Result<(), Failure> {
    let same = |name: &str| {
        let [old, new] = [old, new].map(|view| view.get(name).filter(|value| !is_nothing(value)));
        old == new
    };
    if filled(old, "source") == Some("MARC") && !RULED_BY_MARC.iter().all(|name| same(name)) {
        return Err(Refusal::new(format!(
            "Instance is controlled by MARC record, these fields are blocked and can not be updated: {}",
            RULED_BY_MARC.join(",")
        ))
        .into());
    }
    if !same("hrid") {
        let text = |view| filled(view, "hrid").unwrap_or("null");
        return Err(Refusal::new(format!(
            "HRID change detected: existing={}, updated={}",
            text(old),
            text(new)
        ))
        .with("hrid", text(new))
        .into());
    }
    Ok(())
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Document {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn properties_of_a_marc_record_are_not_changed_by_hand() {
        let refused = |old: Value, new: Value| refuse_replacement(&object(old), &object(new)).is_err();
        let marc = json!({"source": "MARC", "title": "a", "notes": []});
        assert!(refused(marc.clone(), json!({"source": "MARC", "title": "b"})));
        assert!(!refused(marc.clone(), json!({"source": "MARC", "title": "a", "staffSuppress": true})));
        assert!(!refused(json!({"source": "FOLIO", "title": "a"}), json!({"source": "FOLIO", "title": "b"})));
        assert!(refused(json!({"hrid": "in1"}), json!({"hrid": "in2"})));
    }

    #[test]
    fn a_deleted_instance_is_suppressed() {
        let refused = |view: Value| refuse_if_deleted_is_shown(&object(view)).is_err();
        assert!(refused(json!({"deleted": true, "staffSuppress": false})));
        assert!(!refused(json!({"deleted": true})));
        assert!(!refused(json!({"deleted": false, "staffSuppress": false})));
    }

    #[test]
    fn a_view_has_its_lists_and_is_stored_without_its_links() {
        let view =
            shown(&object(json!({"id": "1", "_version": 2, "title": "a"})), &Related::default(), false);
        assert_eq!(view["subjects"], json!([]));
        assert_eq!(view["parentInstances"], json!([]));
        let stored =
            stored(object(json!({"_version": "2", "title": "a", "isBoundWith": false, "hrid": null})));
        assert_eq!(Value::Object(stored), json!({"_version": 2, "title": "a"}));
    }
}
