//! The differences between two versions of a record, in mod-audit's form.

use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// Changed fields and changed collections.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diff {
    /// `changeType`, `fieldName`, `fullPath`, `oldValue`, `newValue`.
    fields: Vec<Map<String, Value>>,
    /// `collectionName`, `itemChanges`; the path is stored separately for exclusion.
    collections: Vec<(String, Map<String, Value>)>,
}

/// Paths of a user that change with every update.
const METADATA: [&str; 6] = [
    "createdDate",
    "updatedDate",
    "metadata.createdDate",
    "metadata.updatedDate",
    "metadata.createdByUserId",
    "metadata.updatedByUserId",
];
/// Paths of the users who created and changed a user record.
pub const PEOPLE: [&str; 2] = ["metadata.createdByUserId", "metadata.updatedByUserId"];

impl Diff {
    /// Objects are compared field by field, lists as sets; absent and null are equal.
    pub fn between(old: &Value, new: &Value) -> Diff {
        let mut diff = Diff::default();
        diff.compare("", old, new);
        diff
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.collections.is_empty()
    }

    /// Only date and user of the last change differ.
    pub fn is_metadata_only(&self) -> bool {
        let is_metadata = |path: &str| METADATA.contains(&path);
        self.paths().all(is_metadata)
    }

    /// Removes changes at these paths and below them.
    pub fn without<'a>(mut self, paths: impl Iterator<Item = &'a str>) -> Diff {
        for excluded in paths {
            let stays = |path: &str| {
                path != excluded && !path.strip_prefix(excluded).is_some_and(|rest| rest.starts_with('.'))
            };
            self.fields.retain(|change| stays(change["fullPath"].as_str().unwrap_or_default()));
            self.collections.retain(|(path, _)| stays(path));
        }
        self
    }

    pub fn document(&self) -> Value {
        let collections: Vec<&Map<String, Value>> =
            self.collections.iter().map(|(_, change)| change).collect();
        json!({"fieldChanges": self.fields, "collectionChanges": collections})
    }

    fn paths(&self) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter().filter_map(|change| change["fullPath"].as_str());
        fields.chain(self.collections.iter().map(|(path, _)| path.as_str()))
    }

    fn compare(&mut self, path: &str, old: &Value, new: &Value) {
        let nothing = Map::new();
        let inner = |value: &'_ Value| value.as_object().cloned();
        let (old, new) = (inner(old).unwrap_or(nothing.clone()), inner(new).unwrap_or(nothing));
        let mut names: Vec<&String> =
            old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))).collect();
        names.sort();
        for name in names {
            let at = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let (was, is) = (old.get(name).unwrap_or(&Value::Null), new.get(name).unwrap_or(&Value::Null));
            match (was, is) {
                (was, is) if was == is => {}
                (Value::Object(_) | Value::Null, Value::Object(_)) | (Value::Object(_), Value::Null) => {
                    self.compare(&at, was, is);
                }
                (Value::Array(_) | Value::Null, Value::Array(_)) | (Value::Array(_), Value::Null) => {
                    self.compare_lists(at, name, was, is);
                }
                _ => self.fields.push(change(was, is, Some((name, &at)))),
            }
        }
    }

    fn compare_lists(&mut self, path: String, name: &str, old: &Value, new: &Value) {
        let elements = |list: &Value| list.as_array().cloned().unwrap_or_default();
        let (old, new) = (elements(old), elements(new));
        let texts = |list: &[Value]| list.iter().map(Value::to_string).collect::<HashSet<String>>();
        let (was, is) = (texts(&old), texts(&new));
        let removed = old.iter().filter(|value| !is.contains(&value.to_string()));
        let added = new.iter().filter(|value| !was.contains(&value.to_string()));
        let changes: Vec<Value> = removed
            .map(|value| change(value, &Value::Null, None))
            .chain(added.map(|value| change(&Value::Null, value, None)))
            .map(Value::Object)
            .collect();
        if !changes.is_empty() {
            let mut collection = Map::new();
            collection.insert("collectionName".into(), name.into());
            collection.insert("itemChanges".into(), changes.into());
            self.collections.push((path, collection));
        }
    }
}

fn change(old: &Value, new: &Value, field: Option<(&str, &str)>) -> Map<String, Value> {
    let kind = match (old, new) {
        (Value::Null, _) => "ADDED",
        (_, Value::Null) => "REMOVED",
        _ => "MODIFIED",
    };
    let mut change = Map::new();
    change.insert("changeType".into(), kind.into());
    if let Some((name, path)) = field {
        change.insert("fieldName".into(), name.into());
        change.insert("fullPath".into(), path.into());
    }
    for (key, value) in [("oldValue", old), ("newValue", new)] {
        if !value.is_null() {
            change.insert(key.into(), value.clone());
        }
    }
    change
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_by_their_path() {
        let old = json!({"title": "Nod", "dates": {"date1": "2001"}, "hrid": "in1", "same": 1});
        let new = json!({"title": "Node", "dates": {"date1": "2001", "date2": "2002"}, "same": 1});
        assert_eq!(
            Diff::between(&old, &new).document(),
            json!({"fieldChanges": [
                {"changeType": "ADDED", "fieldName": "date2", "fullPath": "dates.date2", "newValue": "2002"},
                {"changeType": "REMOVED", "fieldName": "hrid", "fullPath": "hrid", "oldValue": "in1"},
                {"changeType": "MODIFIED", "fieldName": "title", "fullPath": "title", "oldValue": "Nod",
                    "newValue": "Node"}
            ], "collectionChanges": []})
        );
    }

    #[test]
    fn lists_are_compared_as_sets() {
        let old = json!({"notes": [{"note": "a"}, {"note": "b"}], "order": [1, 2]});
        let new = json!({"notes": [{"note": "b"}, {"note": "c"}], "order": [2, 1]});
        assert_eq!(
            Diff::between(&old, &new).document(),
            json!({"fieldChanges": [], "collectionChanges": [{"collectionName": "notes", "itemChanges": [
                {"changeType": "REMOVED", "oldValue": {"note": "a"}},
                {"changeType": "ADDED", "newValue": {"note": "c"}}
            ]}]})
        );
    }

    #[test]
    fn what_is_excluded_goes_with_everything_below() {
        let old = json!({"personal": {"email": "a", "phone": "1"}, "personality": 1, "tags": ["x"]});
        let new = json!({"personal": {"email": "b", "phone": "2"}, "personality": 2, "tags": []});
        let diff = Diff::between(&old, &new).without(["personal", "tags"].into_iter());
        assert_eq!(diff.paths().collect::<Vec<_>>(), ["personality"]);
    }

    #[test]
    fn a_new_date_alone_is_no_change_of_a_user() {
        let at = |date: &str| json!({"metadata": {"updatedDate": date}});
        assert!(Diff::between(&at("1"), &at("2")).is_metadata_only());
        assert!(Diff::between(&at("1"), &at("1")).is_empty());
        assert!(!Diff::between(&json!({"active": true}), &json!({"active": false})).is_metadata_only());
    }
}
