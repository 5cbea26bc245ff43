//! A request as a handler sees it.

use crate::http::{App, Permissions};
use crate::node::Node;
use crate::surface::Route;
use crate::tenant::Tenant;
use crate::tenant_profile::TenantProfile;
use carrel_records::Failure;
use carrel_records::shape::Shape;
use http::HeaderMap;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::net::IpAddr;
use std::sync::Arc;
use uuid::Uuid;

/// One authenticated request.
pub struct Call {
    pub app: Arc<App>,
    pub node: Arc<Node>,
    /// Absent only on routes of the platform.
    pub tenant: Option<Arc<Tenant>>,
    pub caller: Caller,
    pub route: &'static Route,
    /// Parameters of the path, in order.
    pub parameters: Vec<String>,
    pub query: Query,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    pub request_id: String,
    /// The client's address; behind a trusted proxy the one that the proxy reports.
    pub address: IpAddr,
    pub now: Timestamp,
}

/// The authenticated caller.
#[derive(Clone, Default)]
pub struct Caller {
    pub user_id: Option<Uuid>,
    pub username: Option<String>,
    pub permissions: Permissions,
    /// The rules that the tenant relaxes.
    pub profile: TenantProfile,
}

impl Caller {
    pub fn may(&self, permission: &str) -> bool {
        self.permissions.holds(permission)
    }
}

impl Call {
    pub fn tenant(&self) -> Result<&Arc<Tenant>, Failure> {
        self.tenant.as_ref().ok_or_else(|| Failure::Invalid("Missing tenant: X-Okapi-Tenant".into()))
    }

    /// A parameter of the path, by its index.
    pub fn parameter(&self, index: usize) -> &str {
        self.parameters.get(index).map_or("", String::as_str)
    }

    /// A parameter of the path as a UUID, by its index.
    pub fn id(&self, index: usize) -> Result<Uuid, Failure> {
        let text = self.parameter(index);
        carrel_records::shape::lenient_uuid(text)
            .ok_or_else(|| Failure::Invalid(format!("'{text}' is not a UUID")))
    }

    /// The body as a JSON object, whatever content type it came under.
    pub fn object(&self) -> Result<Map<String, Value>, Failure> {
        match self.value()? {
            Value::Object(object) => Ok(object),
            _ => Err(not_an_object()),
        }
    }

    /// The body as JSON of any type, if it can be stored and read back.
    pub fn value(&self) -> Result<Value, Failure> {
        let value = self.read_body::<Value>()?;
        match cannot_be_kept(&value, MAX_DEPTH) {
            Some(reason) => Err(Failure::Invalid(format!("The body {reason}"))),
            None => Ok(value),
        }
    }

    /// The body's JSON object, deserialized.
    pub fn read_json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        // serde also accepts an array of field values for a struct, which no client means.
        match self.body.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{') | None => self.read_body(),
            Some(_) => self.read_body::<Value>().and_then(|_| Err(not_an_object())),
        }
    }

    /// The body's JSON object, validated against the shape and deserialized.
    pub fn read_checked<T: DeserializeOwned>(&self, shape: &Shape) -> Result<T, Failure> {
        let mut body = self.object()?;
        let refusals = shape.check(&mut body);
        if !refusals.is_empty() {
            return Err(Failure::Refused(refusals));
        }
        serde_json::from_value(Value::Object(body)).map_err(not_expected)
    }

    fn read_body<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        if self.body.is_empty() {
            return Err(Failure::Invalid("The body must not be empty: JSON is expected".into()));
        }
        serde_json::from_slice(&self.body)
            // FOLIO quirk: of a duplicate name the last value counts.
            .or_else(|error| match error.to_string().starts_with("duplicate field") {
                true => serde_json::from_slice::<Value>(&self.body).and_then(serde_json::from_value),
                false => Err(error),
            })
            .map_err(not_expected)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Nesting levels of a document; below the parser's limit, since documents are also embedded in others.
const MAX_DEPTH: usize = 100;
/// PostgreSQL prints larger numbers in digits that do not parse as the same number, or not at all.
const MAX_NUMBER: f64 = 1e300;

fn cannot_be_kept(value: &Value, levels: usize) -> Option<&'static str> {
    match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => Some("has more than a hundred levels"),
        Value::Array(elements) => elements.iter().find_map(|inner| cannot_be_kept(inner, levels - 1)),
        Value::Object(properties) => properties.values().find_map(|inner| cannot_be_kept(inner, levels - 1)),
        Value::Number(number) => (number.as_f64().is_some_and(|number| number.abs() > MAX_NUMBER))
            .then_some("holds a number that is too large"),
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}

fn not_expected(error: serde_json::Error) -> Failure {
    Failure::Invalid(format!("The body is not the JSON expected here: {error}"))
}

fn not_an_object() -> Failure {
    Failure::Invalid("The body must be a JSON object".into())
}

/// Decoded query parameters.
#[derive(Debug, Clone, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    pub fn read(text: &str) -> Query {
        Query(
            text.split('&')
                .filter(|pair| !pair.is_empty())
                .map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decode(key, true), decode(value, true))
                })
                .collect(),
        )
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    /// A whole number within bounds; refused with the parameter's name.
    pub fn number(&self, name: &str, default: i64, least: i64, most: i64) -> Result<i64, Failure> {
        let Some(text) = self.get(name).filter(|text| !text.is_empty()) else { return Ok(default) };
        match text.trim().parse::<i64>() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(Failure::Invalid(format!(
                "'{name}' parameter is incorrect. parameter value {{{text}}} is not valid: must be a whole number from {least} to {most}"
            ))),
        }
    }
}

/// Percent-decodes; a result that is not valid UTF-8 is replaced.
pub fn decode(text: &str, plus_is_blank: bool) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        match bytes[index] {
            b'%' if index + 2 < bytes.len() || index + 2 == bytes.len() - 1 => {
                let hex = text.get(index + 1..index + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
                match hex {
                    Some(byte) => {
                        out.push(byte);
                        index += 3;
                        continue;
                    }
                    None => out.push(b'%'),
                }
            }
            b'+' if plus_is_blank => out.push(b' '),
            byte => out.push(byte),
        }
        index += 1;
    }
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_read_back_are_refused() {
        let deep = |levels: usize| (0..levels).fold(Value::from(1), |inner, _| serde_json::json!([inner]));
        assert_eq!(cannot_be_kept(&deep(MAX_DEPTH), MAX_DEPTH), None);
        assert!(cannot_be_kept(&deep(MAX_DEPTH + 1), MAX_DEPTH).is_some());
        assert!(cannot_be_kept(&serde_json::json!({"a": [-1.7e308]}), MAX_DEPTH).is_some());
        assert_eq!(cannot_be_kept(&serde_json::json!({"a": [1e30, -5e-324]}), MAX_DEPTH), None);
    }

    #[test]
    fn query_values_are_form_encoded() {
        let query = Query::read("query=(barcode%3D%3D%22a+b%22)&limit=1&x");
        assert_eq!(query.get("query"), Some("(barcode==\"a b\")"));
        assert_eq!(query.get("limit"), Some("1"));
        assert_eq!(query.get("x"), Some(""));
        assert_eq!(decode("100%", true), "100%");
        assert_eq!(decode("%41", false), "A");
    }

    #[test]
    fn a_number_out_of_bounds_is_refused() {
        let query = Query::read("limit=-1&offset=5");
        assert!(query.number("limit", 10, 0, 100).is_err());
        assert_eq!(query.number("offset", 0, 0, 100).expect("fits"), 5);
        assert_eq!(query.number("size", 7, 0, 100).expect("default"), 7);
    }
}
