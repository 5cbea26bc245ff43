//! Properties of documents by name.

use serde_json::{Map, Value};
use uuid::Uuid;

/// A text that is more than blanks.
pub fn filled<'d>(document: &'d Map<String, Value>, name: &str) -> Option<&'d str> {
    document.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// An id.
pub fn id(document: &Map<String, Value>, name: &str) -> Option<Uuid> {
    document.get(name).and_then(Value::as_str).and_then(|text| Uuid::parse_str(text).ok())
}

/// Sets a property; `None` takes it out.
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
