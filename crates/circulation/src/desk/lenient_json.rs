//! Lenient parsing of request bodies: barcodes may be numbers, and absent objects may be null.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The text of a value; a number counts as its digits.
pub fn text_of(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Reads a text that may be absent or a number.
pub fn text<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<String>, D::Error> {
    match Option::<Value>::deserialize(reader)? {
        None => Ok(None),
        Some(value) => match text_of(Some(&value)) {
            Some(text) => Ok(Some(text)),
            None => Err(D::Error::custom("a text is expected")),
        },
    }
}

/// Reads an object; null is the default.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(reader: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(reader)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_barcode_may_be_a_number() {
        assert_eq!(text(json!("036")).expect("a text").as_deref(), Some("036"));
        assert_eq!(text(json!(36000291452_u64)).expect("a text").as_deref(), Some("36000291452"));
        assert_eq!(text(json!(null)).expect("nothing"), None);
        assert!(text(json!(["036"])).is_err());
    }

    #[test]
    fn null_is_the_default() {
        let blocks: crate::desk::OverrideBlocks = object(json!(null)).expect("nothing");
        assert!(blocks.comment.is_none());
    }
}
