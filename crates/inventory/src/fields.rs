//! Properties of documents by name.

use serde_json::{Map, Value};
use uuid::Uuid;

/// The text of a property that is not blank.
pub fn filled<'d>(document: &'d Map<String, Value>, name: &str) -> Option<&'d str> {
    document.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// An id.
pub fn id(document: &Map<String, Value>, name: &str) -> Option<Uuid> {
    document.get(name).and_then(Value::as_str).and_then(|text| Uuid::parse_str(text).ok())
}

/// Sets a property; `None` removes it.
pub fn set(document: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    match value {
        Some(value) => {
            document.insert(name.to_owned(), value.into());
        }
        None => {
            document.remove(name);
        }
    }
}
