//! Values of stored documents.

use serde_json::{Map, Value};

/// Text at a path of a document, with `/` between levels; empty if absent.
pub fn text_at<'a>(document: &'a Map<String, Value>, path: &str) -> &'a str {
    let mut levels = path.split('/');
    let mut value = levels.next().and_then(|level| document.get(level));
    for level in levels {
        value = value.and_then(|value| value.get(level));
    }
    value.and_then(Value::as_str).unwrap_or("")
}
