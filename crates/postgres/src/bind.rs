//! The values bound to statements, and documents as bytes.

use bytes::BytesMut;
use carrel_records::json_text;
use jiff::Timestamp;
use postgres_types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use serde_json::Value;
use std::error::Error;
use uuid::Uuid;

/// A value bound to a statement. SQL text never holds values.
#[derive(Debug, Clone, PartialEq)]
pub enum Bind {
    Null,
    Text(String),
    Texts(Vec<String>),
    Uuid(Uuid),
    Uuids(Vec<Uuid>),
    Int(i64),
    Float(f64),
    Bool(bool),
    Instant(Timestamp),
    /// A JSON text, bound as jsonb.
    Json(String),
    /// JSON texts, bound as text[] and cast in the statement.
    Jsons(Vec<String>),
    /// The values that several rows bind to one parameter, as an array.
    Several(Vec<Bind>),
}

macro_rules! bind_from {
    ($($kind:ty => $variant:ident),*) => {$(
        impl From<$kind> for Bind { fn from(value: $kind) -> Bind { Bind::$variant(value) } }
        impl From<Option<$kind>> for Bind {
            fn from(value: Option<$kind>) -> Bind { value.map_or(Bind::Null, Bind::$variant) }
        }
    )*};
}
bind_from!(String => Text, Vec<String> => Texts, Uuid => Uuid, Vec<Uuid> => Uuids, i64 => Int, f64 => Float,
    bool => Bool, Timestamp => Instant);

impl From<&str> for Bind {
    fn from(value: &str) -> Bind {
        Bind::Text(value.to_owned())
    }
}
impl From<i32> for Bind {
    fn from(value: i32) -> Bind {
        Bind::Int(value.into())
    }
}
impl From<&Value> for Bind {
    fn from(value: &Value) -> Bind {
        Bind::Json(json_text(value))
    }
}

impl ToSql for Bind {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Bind::Null => Ok(IsNull::Yes),
            Bind::Text(text) => {
                if *kind == Type::JSONB {
                    out.extend_from_slice(&[1]);
                }
                out.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
            Bind::Texts(texts) | Bind::Jsons(texts) => texts.to_sql(kind, out),
            Bind::Several(binds) => binds.to_sql(kind, out),
            Bind::Uuid(id) => id.to_sql(kind, out),
            Bind::Uuids(ids) => ids.to_sql(kind, out),
            // A number is sent in the width of the statement's parameter.
            Bind::Int(number) => match *kind {
                Type::INT2 => i16::try_from(*number)?.to_sql(kind, out),
                Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
                Type::FLOAT8 => (*number as f64).to_sql(kind, out),
                _ => number.to_sql(&Type::INT8, out),
            },
            Bind::Float(number) => number.to_sql(kind, out),
            Bind::Bool(value) => value.to_sql(kind, out),
            Bind::Instant(instant) => instant.to_sql(kind, out),
            Bind::Json(json) => {
                if *kind == Type::JSONB {
                    out.extend_from_slice(&[1]);
                }
                out.extend_from_slice(json.as_bytes());
                Ok(IsNull::No)
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        // Statements are part of the program: the server, and the first test of a statement, find a wrong type.
        true
    }

    to_sql_checked!();
}

/// A document as the text that PostgreSQL sends, not parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(pub String);

impl Json {
    /// Parses the text; it is valid JSON, since the column's type is JSON.
    pub fn parse(&self) -> Value {
        serde_json::from_str(&self.0).expect("a jsonb column holds JSON")
    }
    /// The elements of an array that may be absent; a value that is not an array has none.
    pub fn elements(array: Option<Json>) -> Vec<Value> {
        match array.map(|json| json.parse()) {
            Some(Value::Array(elements)) => elements,
            _ => Vec::new(),
        }
    }
    /// The text without the spaces that `jsonb` prints after colons and commas: FOLIO's storage modules send none, and
    /// load plans extract values from answers by `"id":"`.
    pub fn into_compact(self) -> Vec<u8> {
        let mut text = self.0.into_bytes();
        let (mut kept, mut in_string, mut escaped) = (0, false, false);
        for at in 0..text.len() {
            let byte = text[at];
            if in_string {
                in_string = escaped || byte != b'"';
                escaped = !escaped && byte == b'\\';
            } else if byte == b' ' {
                continue;
            } else {
                in_string = byte == b'"';
            }
            text[kept] = byte;
            kept += 1;
        }
        text.truncate(kept);
        text
    }
    /// Deserializes the document.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }
}

impl<'a> FromSql<'a> for Json {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let text = if *kind == Type::JSONB { raw.get(1..).unwrap_or_default() } else { raw };
        Ok(Json(std::str::from_utf8(text)?.to_owned()))
    }
    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::JSONB | Type::JSON | Type::TEXT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_spaces_outside_of_strings_are_left_out() {
        let printed = r#"{"a b": "c, d: \" e\\", "f": [1, {"g": " "}], "h": "\\\" i", "j": "é ü"}"#;
        let compact = String::from_utf8(Json(printed.into()).into_compact()).expect("UTF-8");
        assert_eq!(compact, r#"{"a b":"c, d: \" e\\","f":[1,{"g":" "}],"h":"\\\" i","j":"é ü"}"#);
    }
}
