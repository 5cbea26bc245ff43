//! Validates a document against a shape.

use super::bounds::{NOT_NULL, PATTERN, refusal, shown};
use super::{Element, Format, JsonKind, Property, Shape, Strictness};
use crate::refusal::{MAX_REFUSALS, Refusal};
use serde_json::{Map, Value};
use std::collections::HashSet;
use uuid::Uuid;

/// FOLIO's text for a text that is not a UUID. It lists versions 1 to 5; Carrel accepts all versions.
pub const NOT_A_UUID: &str = "must match \"^[a-fA-F0-9]{8}-[a-fA-F0-9]{4}-[1-5][a-fA-F0-9]{3}-[89abAB][a-fA-F0-9]{3}-[a-fA-F0-9]{12}$\"";

/// FOLIO's text for an array of which an element does not match its pattern.
const ELEMENTS: &str = "elements in list must match pattern";

impl Shape {
    /// Applies defaults, removes what is not stored, and returns the refusals with the texts of FOLIO's modules.
    pub fn check(&self, document: &mut Map<String, Value>) -> Vec<Refusal> {
        self.check_as(document, Strictness::Whole)
    }

    /// Like [`Self::check`], with the given strictness.
    pub fn check_as(&self, document: &mut Map<String, Value>, strictness: Strictness) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        self.check_level(document, "", strictness, &mut refusals);
        refusals
    }

    fn check_level(
        &self,
        document: &mut Map<String, Value>,
        prefix: &str,
        strictness: Strictness,
        refusals: &mut Vec<Refusal>,
    ) {
        if self.properties.is_empty() {
            return;
        }
        let whole = strictness == Strictness::Whole;
        if self.closed && whole {
            for name in document.keys() {
                if refusals.len() >= MAX_REFUSALS {
                    return;
                }
                if !self.properties.contains_key(name) {
                    let path = format!("{prefix}{name}");
                    refusals.push(
                        Refusal::new(format!("Unrecognized field \"{path}\"")).with(path, "is not allowed"),
                    );
                }
            }
        }
        // A shape has several times as many properties as a document: nothing is allocated for absent ones.
        for (name, property) in &self.properties {
            if property.not_stored {
                document.remove(name);
                continue;
            }
            let is_dropped = match document.get_mut(name) {
                None => false,
                // A null of a property that has no null is the same as an absent one.
                Some(Value::Null) => !property.nullable,
                // FOLIO quirk: a date that is an empty text is no date.
                Some(Value::String(text)) if text.is_empty() && property.is_date() => true,
                Some(value) => {
                    property.check(value, &format!("{prefix}{name}"), strictness, refusals);
                    continue;
                }
            };
            if let Some(default) = &property.default {
                document.insert(name.clone(), default.clone());
                continue;
            }
            if property.required && !property.read_only && whole {
                let path = format!("{prefix}{name}");
                refusals.push(refusal("must not be null", NOT_NULL, path, "null"));
            }
            if is_dropped {
                document.remove(name);
            }
        }
    }
}

impl Property {
    fn is_date(&self) -> bool {
        matches!(self.format, Some(Format::DateTime | Format::Date))
    }

    fn check(&self, value: &mut Value, path: &str, strictness: Strictness, refusals: &mut Vec<Refusal>) {
        let wrong = |refusals: &mut Vec<Refusal>, value: &Value| {
            refusals.push(
                Refusal::new(format!("{path} must be {}", self.kind.says())).with(path, shortened(value)),
            );
        };
        match (self.kind, &mut *value) {
            (JsonKind::Any, _) | (JsonKind::Boolean, Value::Bool(_)) => {}
            (JsonKind::Number, Value::Number(_)) => self.check_number(value, path, strictness, refusals),
            (JsonKind::Integer, Value::Number(number)) => {
                if !number.is_i64() && !number.is_u64() {
                    match number.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < 9e15) {
                        Some(whole) => *value = Value::from(whole as i64),
                        None => return wrong(refusals, value),
                    }
                }
                self.check_number(value, path, strictness, refusals);
            }
            // Jackson, which parses JSON in FOLIO's modules, accepts numbers and booleans in quotation marks.
            (JsonKind::Integer | JsonKind::Number, Value::String(text)) => {
                match text.trim().parse::<serde_json::Number>() {
                    Ok(number) => {
                        *value = Value::Number(number);
                        self.check(value, path, strictness, refusals);
                    }
                    Err(_) => wrong(refusals, value),
                }
            }
            (JsonKind::Boolean, Value::String(text)) => match text.as_str() {
                "true" => *value = Value::Bool(true),
                "false" => *value = Value::Bool(false),
                _ => wrong(refusals, value),
            },
            // Jackson also accepts numbers and booleans as text.
            (JsonKind::Text, Value::Number(_) | Value::Bool(_)) => {
                *value = Value::String(value.to_string());
                self.check_text(value, path, strictness, refusals);
            }
            (JsonKind::Text, Value::String(_)) => self.check_text(value, path, strictness, refusals),
            (JsonKind::Object, Value::Object(object)) if self.free_names => {
                for (name, inner) in object {
                    if refusals.len() >= MAX_REFUSALS {
                        return;
                    }
                    let path = format!("{path}[{name}]");
                    match inner {
                        Value::Object(inner) => {
                            self.inner.check_level(inner, &format!("{path}."), strictness, refusals);
                        }
                        other => refusals.push(
                            Refusal::new(format!("{path} must be an object")).with(path, shortened(other)),
                        ),
                    }
                }
            }
            (JsonKind::Object, Value::Object(object)) => {
                self.inner.check_level(object, &format!("{path}."), strictness, refusals);
            }
            (JsonKind::Array(element), Value::Array(elements)) => {
                if self.bounds.is_set {
                    keep_each_once(elements);
                }
                if strictness == Strictness::Whole {
                    refusals.extend(self.bounds.of_array(elements, path));
                }
                let mut of_texts = Vec::new();
                for (place, item) in elements.iter_mut().enumerate() {
                    if refusals.len() + of_texts.len() >= MAX_REFUSALS {
                        break;
                    }
                    let path = format!("{path}[{place}]");
                    match (element, &mut *item) {
                        (Element::Any, _) => {}
                        (Element::Text, Value::String(_)) => {
                            self.check_text(item, &path, strictness, &mut of_texts)
                        }
                        (Element::Text, Value::Number(_) | Value::Bool(_)) => {
                            *item = Value::String(item.to_string());
                            self.check_text(item, &path, strictness, &mut of_texts)
                        }
                        (Element::Object, Value::Object(object)) => {
                            self.inner.check_level(object, &format!("{path}."), strictness, refusals);
                        }
                        (_, item) => refusals.push(
                            Refusal::new(format!("{path} does not have the type of the array's elements"))
                                .with(path.clone(), shortened(item)),
                        ),
                    }
                }
                // FOLIO's validator reports the pattern of elements once, for the array.
                let refused = of_texts.len();
                of_texts.retain(|refusal| refusal.code != Some(PATTERN));
                if of_texts.len() < refused {
                    refusals.push(refusal(ELEMENTS, PATTERN, path, shown(elements)));
                }
                refusals.append(&mut of_texts);
            }
            (_, value) => wrong(refusals, value),
        }
    }

    fn check_number(&self, value: &Value, path: &str, strictness: Strictness, refusals: &mut Vec<Refusal>) {
        if let (Value::Number(number), Strictness::Whole) = (value, strictness) {
            refusals.extend(self.bounds.of_number(number, path));
        }
    }

    fn check_text(&self, value: &mut Value, path: &str, strictness: Strictness, refusals: &mut Vec<Refusal>) {
        let Value::String(text) = value else { return };
        let whole = strictness == Strictness::Whole;
        if whole && !self.allowed.is_empty() && !self.allowed.iter().any(|allowed| allowed == text) {
            refusals.push(
                Refusal::new(format!("{path} must be one of: {}", self.allowed.join(", ")))
                    .with(path, text.clone()),
            );
        }
        if text.contains('\0') {
            refusals.push(Refusal::new(format!("{path} must not contain a NUL character")).with(path, ""));
        }
        if whole {
            refusals.extend(self.bounds.of_text(text, path));
        }
        match self.format {
            Some(Format::Uuid) if !is_uuid(text) => {
                refusals.push(refusal(NOT_A_UUID, PATTERN, path, text.clone()));
            }
            Some(Format::DateTime) => match crate::time::normal(text) {
                // FOLIO's modules parse a date and write it again, in UTC.
                Some(replacement) if whole => *value = Value::String(replacement),
                Some(_) => {}
                None => refusals.push(
                    Refusal::new(format!("{path} must be a date and time in ISO 8601"))
                        .with(path, text.clone()),
                ),
            },
            Some(Format::Date)
                if text.get(..10).is_none_or(|day| day.parse::<jiff::civil::Date>().is_err()) =>
            {
                refusals.push(
                    Refusal::new(format!("{path} must be a date in ISO 8601")).with(path, text.clone()),
                );
            }
            _ => {}
        }
    }
}

impl JsonKind {
    fn says(self) -> &'static str {
        match self {
            JsonKind::Text => "text",
            JsonKind::Integer => "a whole number",
            JsonKind::Number => "a number",
            JsonKind::Boolean => "true or false",
            JsonKind::Object => "an object",
            JsonKind::Array(_) => "an array",
            JsonKind::Any => "a value",
        }
    }
}

/// Removes duplicates from the array.
fn keep_each_once(elements: &mut Vec<Value>) {
    if elements.len() > 1 {
        let mut seen = HashSet::new();
        elements.retain(|element| seen.insert(element.clone()));
    }
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// 8-4-4-4-12 hexadecimal digits; any version and variant, as PostgreSQL stores them.
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// A UUID, also one whose groups lack leading zeros.
///
/// FOLIO quirk: Java reads ids in paths and ids of users, and takes them so.
pub fn lenient_uuid(text: &str) -> Option<Uuid> {
    let groups: Vec<&str> = text.split('-').collect();
    let is_group = |(group, longest): (&&str, usize)| {
        (1..=longest).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    if groups.len() != 5 || !groups.iter().zip([8, 4, 4, 4, 12]).all(is_group) {
        return None;
    }
    let [a, b, c, d, e] = groups[..] else { return None };
    Uuid::parse_str(&format!("{a:0>8}-{b:0>4}-{c:0>4}-{d:0>4}-{e:0>12}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn groups_of_a_uuid_may_lack_leading_zeros() {
        let padded = "00000000-1111-2222-9999-044444444441".parse().ok();
        assert_eq!(lenient_uuid("00000000-1111-2222-9999-44444444441"), padded);
        assert_eq!(lenient_uuid("1-1-1-1-1"), "00000001-0001-0001-0001-000000000001".parse().ok());
        for text in [
            "",
            "1-1-1-1",
            "1-1-1-1-",
            "g-1-1-1-1",
            "123456789-1-1-1-1",
            "{00000000-1111-2222-9999-044444444441}",
        ] {
            assert_eq!(lenient_uuid(text), None, "{text}");
        }
    }

    fn refusals(shape: &str, document: Value) -> Vec<String> {
        let Value::Object(mut document) = document else { panic!("an object") };
        Shape::parse(shape, true).check(&mut document).into_iter().map(|r| r.message).collect()
    }

    #[test]
    fn a_fitting_document_is_not_refused() {
        let shape =
            "name:string*\nstatus:object*; status.name:string(enum=Open|In process (non-requestable))*";
        assert_eq!(
            refusals(shape, json!({"name": "a", "status": {"name": "In process (non-requestable)"}})),
            [""; 0]
        );
    }

    #[test]
    fn an_array_is_refused_once_for_elements_that_are_no_uuids() {
        let mut document = json!({"ids": ["a", "b"]}).as_object().cloned().unwrap_or_default();
        let refusals = Shape::parse("ids:array<string>(uuid)", true).check(&mut document);
        assert_eq!(refusals.len(), 1);
        assert_eq!(refusals[0].message, "elements in list must match pattern");
        assert_eq!(refusals[0].parameters, [("ids".to_owned(), Some("[a, b]".to_owned()))]);
    }

    #[test]
    fn a_missing_required_property_is_refused() {
        assert_eq!(refusals("name:string*", json!({})), ["must not be null"]);
        assert_eq!(refusals("a[].b:string*", json!({"a": [{}]})), ["must not be null"]);
    }

    #[test]
    fn dates_are_kept_in_utc() {
        let shape = Shape::parse("from:string(date-time)", true);
        for text in ["2026-03-04", "2026-03-04T00:00:00Z", "2026-03-04T01:00:00.000+0100"] {
            let mut document = json!({"from": text}).as_object().cloned().unwrap_or_default();
            assert!(shape.check(&mut document).is_empty());
            assert_eq!(document["from"], "2026-03-04T00:00:00.000+00:00");
        }
    }

    #[test]
    fn a_number_where_a_text_belongs_is_checked_as_text() {
        assert_eq!(
            refusals("a:array<string(uuid)>", json!({"a": [false]})),
            ["elements in list must match pattern"]
        );
        assert_eq!(refusals("a:string(length=..2)", json!({"a": 123})), ["size must be between 0 and 2"]);
    }

    #[test]
    fn duplicates_in_a_set_are_removed_and_free_names_have_one_shape() {
        let shape = Shape::parse("a:array<string>(set,items=..2); t:object; t{}.b:string*", true);
        let mut document =
            json!({"a": ["x", "y", "x"], "t": {"en": {"b": "1"}}}).as_object().cloned().unwrap_or_default();
        assert!(shape.check(&mut document).is_empty());
        assert_eq!(document["a"], json!(["x", "y"]));
        let refusals = shape.check(json!({"t": {"en": {}}}).as_object_mut().expect("an object"));
        assert_eq!(refusals[0].parameters[0].0, "t[en].b");
    }

    #[test]
    fn an_unknown_property_is_refused_by_a_closed_shape() {
        assert_eq!(refusals("name:string", json!({"nom": 1})), ["Unrecognized field \"nom\""]);
    }

    #[test]
    fn refusals_are_collected_up_to_their_bound() {
        let many: Map<String, Value> = (0..400_000).map(|n| (format!("k{n}"), Value::Null)).collect();
        assert_eq!(refusals("name:string", Value::Object(many)).len(), MAX_REFUSALS);
    }

    #[test]
    fn a_date_that_is_an_empty_text_is_none() {
        let shape = Shape::parse("from:string(date-time); to:string(date)*", true);
        let mut document = json!({"from": "", "to": ""}).as_object().cloned().unwrap_or_default();
        let refusals = shape.check(&mut document);
        assert_eq!(refusals.len(), 1, "the required one is missing");
        assert!(document.is_empty());
    }

    #[test]
    fn where_types_alone_count_properties_may_be_missing_or_unknown() {
        let shape = Shape::parse("name:string*; kind:string(enum=a|b); id:string(uuid); size:integer", true);
        let refusals = |document: Value| {
            let Value::Object(mut document) = document else { panic!("an object") };
            shape.check_as(&mut document, Strictness::TypesOnly).len()
        };
        assert_eq!(refusals(json!({"kind": "c", "nom": 1})), 0);
        assert_eq!(refusals(json!({"size": "large"})), 1);
        assert_eq!(refusals(json!({"id": "no UUID"})), 1);
    }

    #[test]
    fn an_open_object_in_a_closed_shape_keeps_what_it_does_not_know() {
        let shape =
            "tags:object(open); tags.tagList:array<string>; notes:array<object>(open)*; notes[].a:string";
        assert_eq!(refusals(shape, json!({"tags": {"color": "red"}, "notes": [{"b": 1}]})), [""; 0]);
        assert_eq!(refusals(shape, json!({"notes": [], "b": 1})), ["Unrecognized field \"b\""]);
    }

    #[test]
    fn a_value_outside_an_enum_is_refused() {
        assert_eq!(refusals("a:string(enum=x|y)", json!({"a": "z"})), ["a must be one of: x, y"]);
        assert_eq!(refusals("a:array<string(enum=x|y)>", json!({"a": ["z"]})), ["a[0] must be one of: x, y"]);
    }

    #[test]
    fn defaults_are_filled_in_and_virtual_properties_dropped() {
        let shape = Shape::parse("staffOnly:boolean=false; loanType:object(ro,virtual)", true);
        let Value::Object(mut document) = json!({"loanType": {"id": 1}}) else { panic!("an object") };
        assert!(shape.check(&mut document).is_empty());
        assert_eq!(Value::Object(document), json!({"staffOnly": false}));
    }

    #[test]
    fn a_wrong_type_is_refused_with_the_path() {
        assert_eq!(refusals("a.b:boolean", json!({"a": {"b": 7}})), ["a.b must be true or false"]);
    }
}
