//! Parent and child instances, preceding and succeeding titles: properties of the view, stored as separate records.
//! Values only.

use crate::fields::{filled, set};
use carrel_platform::record_store::write::{Document, uuid_time};
use carrel_records::{Failure, Refusal};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// The links of instances.
#[derive(Debug, Default)]
pub struct Related {
    /// Documents of `instance_relationship`.
    pub relationships: Vec<Document>,
    /// Documents of `preceding_succeeding_title`, seen from the later instance.
    pub preceding: Vec<Document>,
    /// The same, seen from the earlier instance.
    pub succeeding: Vec<Document>,
}

/// A kind of link: property of the view, property with the other instance's id, property with this instance's id,
/// further properties.
struct Kind {
    property: &'static str,
    other: &'static str,
    this: &'static str,
    tells: &'static [&'static str],
}

const PARENTS: Kind = Kind {
    property: "parentInstances",
    other: "superInstanceId",
    this: "subInstanceId",
    tells: &["instanceRelationshipTypeId"],
};
const CHILDREN: Kind =
    Kind { property: "childInstances", other: "subInstanceId", this: "superInstanceId", ..PARENTS };
const PRECEDING: Kind = Kind {
    property: "precedingTitles",
    other: "precedingInstanceId",
    this: "succeedingInstanceId",
    tells: &["title", "hrid", "identifiers"],
};
const SUCCEEDING: Kind = Kind {
    property: "succeedingTitles",
    other: "succeedingInstanceId",
    this: "precedingInstanceId",
    ..PRECEDING
};

/// Removes the links from a view.
pub fn take_from(view: &mut Document, instance: Uuid, now: Timestamp) -> Related {
    let mut take = |kind: &Kind| -> Vec<Document> {
        let Some(Value::Array(links)) = view.remove(kind.property) else { return Vec::new() };
        links.iter().filter_map(Value::as_object).map(|link| stored(link, kind, instance, now)).collect()
    };
    let mut relationships = take(&PARENTS);
    relationships.extend(take(&CHILDREN));
    Related { relationships, preceding: take(&PRECEDING), succeeding: take(&SUCCEEDING) }
}

fn stored(link: &Document, kind: &Kind, instance: Uuid, now: Timestamp) -> Document {
    let id = filled(link, "id").map_or_else(|| Uuid::new_v7(uuid_time(now)).to_string(), str::to_owned);
    let mut document = Map::new();
    document.insert("id".into(), id.into());
    document.insert(kind.this.into(), instance.to_string().into());
    for name in kind.tells.iter().chain([&kind.other]) {
        set(&mut document, name, link.get(*name).filter(|value| !value.is_null()).cloned());
    }
    document
}

/// Adds the view's links.
pub fn put_into(view: &mut Document, instance: &str, related: &Related) {
    for (kind, links) in [
        (PARENTS, &related.relationships),
        (CHILDREN, &related.relationships),
        (PRECEDING, &related.preceding),
        (SUCCEEDING, &related.succeeding),
    ] {
        let of_this = links.iter().filter(|link| filled(link, kind.this) == Some(instance));
        let links = of_this.map(|link| {
            let names = ["id"].iter().chain(kind.tells).chain([&kind.other]);
            let shown = names.filter_map(|name| Some(((*name).to_owned(), link.get(*name)?.clone())));
            Value::Object(shown.collect())
        });
        view.insert(kind.property.into(), links.collect());
    }
}

/// A preceding or succeeding title without instance needs a title.
pub fn refuse_if_unconnected_title_has_no_name(view: &Document) -> Result<(), Failure> {
    for (property, kind) in [("succeedingTitles", "succeeding"), ("precedingTitles", "preceding")] {
        let titles =
            view.get(property).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
        for title in titles {
            let unconnected = filled(title, "precedingInstanceId").is_none()
                && filled(title, "succeedingInstanceId").is_none();
            if unconnected && filled(title, "title").is_none() {
                return Err(Refusal::new(format!("Title is required for unconnected {kind} title"))
                    .with_null(format!("{property}.title"))
                    .into());
            }
        }
    }
    Ok(())
}

/// A connected title has the properties of the other instance.
pub fn named_after(mut title: Document, other: Option<&Value>) -> Document {
    if let Some(other) = other {
        for name in ["title", "hrid", "identifiers"] {
            set(&mut title, name, other.get(name).filter(|value| !value.is_null()).cloned());
        }
        title.entry("identifiers").or_insert_with(|| json!([]));
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Document {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn links_are_removed_from_a_view_and_added_again() {
        let id = Uuid::from_u128(7);
        let links = json!({
            "parentInstances": [{"id": "a", "instanceRelationshipTypeId": "t", "superInstanceId": "p"}],
            "childInstances": [{"id": "b", "instanceRelationshipTypeId": "t", "subInstanceId": "c"}],
            "precedingTitles": [{"id": "d", "title": "Before"}],
            "succeedingTitles": [{"id": "e", "succeedingInstanceId": "s"}]
        });
        let mut view = object(links.clone());
        let related = take_from(&mut view, id, Timestamp::UNIX_EPOCH);
        assert!(view.is_empty());
        assert_eq!(related.relationships[0]["subInstanceId"], id.to_string());
        assert_eq!(related.succeeding[0]["precedingInstanceId"], id.to_string());
        put_into(&mut view, &id.to_string(), &related);
        assert_eq!(Value::Object(view), links);
    }

    #[test]
    fn an_unconnected_title_needs_a_name() {
        let refused = |view: Value| refuse_if_unconnected_title_has_no_name(&object(view)).is_err();
        assert!(refused(json!({"precedingTitles": [{"title": " "}]})));
        assert!(!refused(json!({"precedingTitles": [{"precedingInstanceId": "x"}]})));
        assert!(!refused(json!({"succeedingTitles": [{"title": "After"}]})));
    }
}
