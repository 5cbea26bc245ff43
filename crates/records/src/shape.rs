//! The shape of a record's JSON in one line per property, and the check of a document against it.
//!
//! Notation: `path:type(flags)*=default`, separated by `;` or line ends; `*` means required. Types are
//! `string integer number boolean object any array array<T>`, each with `|null` where null is allowed. Levels
//! are joined with `.`, elements of an array of objects with `[].`. Flags, separated by `,`: `uuid date-time
//! date time ro virtual open enum=A|B`; `ro` is accepted and overwritten by the server, `virtual` is accepted
//! and not stored, an `open` object may hold properties that the shape does not name. A backslash before a line
//! end in Rust text continues a long `enum`.

use crate::refusal::Refusal;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// FOLIO's words for a text that is no id; it names the versions of its time, ours accept all.
pub const NOT_A_UUID: &str = "must match \"^[a-fA-F0-9]{8}-[a-fA-F0-9]{4}-[1-5][a-fA-F0-9]{3}-[89abAB][a-fA-F0-9]{3}-[a-fA-F0-9]{12}$\"";

/// A parsed shape.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    pub properties: BTreeMap<String, Property>,
    /// Properties that are not named are refused; applies to levels that name at least one property.
    pub closed: bool,
}

/// How much of a shape a document must fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// All of it.
    #[default]
    Whole,
    /// The types of the properties that it has; others may be missing, and unknown ones are kept.
    TypesOnly,
}

#[derive(Debug, Clone)]
pub struct Property {
    pub kind: JsonKind,
    pub nullable: bool,
    pub required: bool,
    pub format: Option<Format>,
    pub allowed: Vec<String>,
    pub read_only: bool,
    pub not_stored: bool,
    pub default: Option<Value>,
    /// Properties that `inner` does not name are kept even where the record's shape is closed.
    pub open: bool,
    /// Properties of an object, or of the objects in an array.
    pub inner: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    Text,
    Integer,
    Number,
    Boolean,
    Object,
    Array(Element),
    Any,
}

/// What an array holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    Text,
    Object,
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Uuid,
    DateTime,
    Date,
    Time,
}

impl Shape {
    /// Reads the notation; a mistake in it is a mistake in a declaration, so it panics with the line.
    pub fn parse(text: &str, closed: bool) -> Shape {
        let mut shape = Shape { closed, ..Shape::default() };
        for line in text.split([';', '\n']).map(str::trim).filter(|line| !line.is_empty()) {
            let (path, property) = parse_property(line);
            shape.insert(&path, property, closed);
        }
        shape
    }

    fn insert(&mut self, path: &str, mut property: Property, closed: bool) {
        match path.split_once('.') {
            None => {
                if let Some(known) = self.properties.remove(path) {
                    property.inner = known.inner;
                }
                property.inner.closed = closed && !property.open;
                self.properties.insert(path.trim_end_matches("[]").to_owned(), property);
            }
            Some((first, rest)) => {
                let name = first.trim_end_matches("[]");
                let kind =
                    if first.ends_with("[]") { JsonKind::Array(Element::Object) } else { JsonKind::Object };
                let parent = self.properties.entry(name.to_owned()).or_insert_with(|| Property::plain(kind));
                parent.inner.closed = closed && !parent.open;
                parent.inner.insert(rest, property, closed);
            }
        }
    }

    /// Applies defaults, drops what is not stored, and tells everything that does not fit, each as FOLIO's
    /// modules word it.
    pub fn check(&self, document: &mut Map<String, Value>) -> Vec<Refusal> {
        self.check_as(document, Strictness::Whole)
    }

    /// The same, as strictly as is asked.
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
                if !self.properties.contains_key(name) {
                    let path = format!("{prefix}{name}");
                    refusals.push(
                        Refusal::new(format!("Unrecognized field \"{path}\"")).with(path, "is not allowed"),
                    );
                }
            }
        }
        for (name, property) in &self.properties {
            let path = format!("{prefix}{name}");
            if property.not_stored {
                document.remove(name);
                continue;
            }
            // FOLIO quirk: a date that is an empty text is no date.
            if matches!(property.format, Some(Format::DateTime | Format::Date))
                && document.get(name).and_then(Value::as_str) == Some("")
            {
                document.remove(name);
            }
            match document.get_mut(name) {
                None | Some(Value::Null) => {
                    if let Some(default) = &property.default {
                        document.insert(name.clone(), default.clone());
                    } else if property.required && !property.read_only && whole {
                        refusals.push(Refusal::new("must not be null").with(path, "null"));
                    } else if !property.nullable {
                        // A null of a property that has no null is the same as an absent one.
                        document.remove(name);
                    }
                }
                Some(value) => property.check(value, &path, strictness, refusals),
            }
        }
    }
}

impl Property {
    fn plain(kind: JsonKind) -> Property {
        Property {
            kind,
            nullable: false,
            required: false,
            format: None,
            allowed: Vec::new(),
            read_only: false,
            not_stored: false,
            default: None,
            open: false,
            inner: Shape::default(),
        }
    }

    fn check(&self, value: &mut Value, path: &str, strictness: Strictness, refusals: &mut Vec<Refusal>) {
        let wrong = |refusals: &mut Vec<Refusal>, value: &Value| {
            refusals.push(
                Refusal::new(format!("{path} must be {}", self.kind.says())).with(path, shortened(value)),
            );
        };
        match (self.kind, &mut *value) {
            (JsonKind::Any, _)
            | (JsonKind::Boolean, Value::Bool(_))
            | (JsonKind::Number, Value::Number(_)) => {}
            (JsonKind::Integer, Value::Number(number)) => {
                if !number.is_i64() && !number.is_u64() {
                    match number.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < 9e15) {
                        Some(whole) => *value = Value::from(whole as i64),
                        None => wrong(refusals, value),
                    }
                }
            }
            // Jackson, which FOLIO's modules read JSON with, takes numbers and booleans in quotes.
            (JsonKind::Integer | JsonKind::Number, Value::String(text)) => {
                match text.trim().parse::<serde_json::Number>() {
                    Ok(number) => *value = Value::Number(number),
                    Err(_) => wrong(refusals, value),
                }
            }
            (JsonKind::Boolean, Value::String(text)) => match text.as_str() {
                "true" => *value = Value::Bool(true),
                "false" => *value = Value::Bool(false),
                _ => wrong(refusals, value),
            },
            // And it takes numbers and booleans where text belongs.
            (JsonKind::Text, Value::Number(_) | Value::Bool(_)) => {
                *value = Value::String(value.to_string());
                self.check_text(value, path, strictness, refusals);
            }
            (JsonKind::Text, Value::String(_)) => self.check_text(value, path, strictness, refusals),
            (JsonKind::Object, Value::Object(object)) => {
                self.inner.check_level(object, &format!("{path}."), strictness, refusals);
            }
            (JsonKind::Array(element), Value::Array(elements)) => {
                for (place, item) in elements.iter_mut().enumerate() {
                    let path = format!("{path}[{place}]");
                    match (element, &mut *item) {
                        (Element::Any, _) => {}
                        (Element::Text, Value::String(_)) => {
                            self.check_text(item, &path, strictness, refusals)
                        }
                        (Element::Text, Value::Number(_) | Value::Bool(_)) => {
                            *item = Value::String(item.to_string());
                        }
                        (Element::Object, Value::Object(object)) => {
                            self.inner.check_level(object, &format!("{path}."), strictness, refusals);
                        }
                        (_, item) => refusals.push(
                            Refusal::new(format!("{path} is not of the kind that the array holds"))
                                .with(path.clone(), shortened(item)),
                        ),
                    }
                }
            }
            (_, value) => wrong(refusals, value),
        }
    }

    fn check_text(&self, value: &Value, path: &str, strictness: Strictness, refusals: &mut Vec<Refusal>) {
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
        match self.format {
            Some(Format::Uuid) if !is_uuid(text) => {
                refusals.push(Refusal::new(NOT_A_UUID).with(path, text.clone()))
            }
            Some(Format::DateTime) if crate::time::parse(text).is_none() => refusals.push(
                Refusal::new(format!("{path} must be a date and time in ISO 8601")).with(path, text.clone()),
            ),
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

fn parse_property(line: &str) -> (String, Property) {
    let (path, rest) =
        line.split_once(':').unwrap_or_else(|| panic!("a property is written path:type, not {line:?}"));
    let (rest, default) = match split_default(rest) {
        (rest, Some(default)) => (rest, Some(default)),
        (rest, None) => (rest, None),
    };
    let required = rest.ends_with('*');
    let rest = rest.trim_end_matches('*');
    // Flags of an array's elements stand inside the angle brackets, those of the array behind them.
    let (type_text, flags) = split_flags(rest);
    let nullable = type_text.contains("|null");
    let type_text = type_text.replace("|null", "");
    let kind = match type_text.as_str() {
        "string" => JsonKind::Text,
        "integer" => JsonKind::Integer,
        "number" => JsonKind::Number,
        "boolean" => JsonKind::Boolean,
        "object" => JsonKind::Object,
        "any" => JsonKind::Any,
        "array<string>" => JsonKind::Array(Element::Text),
        "array<object>" => JsonKind::Array(Element::Object),
        "array" | "array<any>" => JsonKind::Array(Element::Any),
        other => panic!("unknown type {other:?} in {line:?}"),
    };
    let mut property = Property { nullable, required, ..Property::plain(kind) };
    for flag in flags {
        match flag.as_str() {
            "uuid" => property.format = Some(Format::Uuid),
            "date-time" => property.format = Some(Format::DateTime),
            "date" => property.format = Some(Format::Date),
            "time" => property.format = Some(Format::Time),
            "ro" => property.read_only = true,
            "virtual" => property.not_stored = true,
            "open" => property.open = true,
            other => {
                if let Some(values) = other.strip_prefix("enum=") {
                    property.allowed = values.split('|').map(|value| value.trim().to_owned()).collect();
                }
            }
        }
    }
    property.default = default.map(|text| match kind {
        JsonKind::Text => Value::String(text.to_owned()),
        _ => serde_json::from_str(text).unwrap_or_else(|_| panic!("bad default in {line:?}")),
    });
    (path.trim().to_owned(), property)
}

fn split_default(rest: &str) -> (&str, Option<&str>) {
    // `=` inside brackets belongs to `enum=`.
    let mut depth = 0;
    for (place, letter) in rest.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            '=' if depth == 0 => return (&rest[..place], Some(&rest[place + 1..])),
            _ => {}
        }
    }
    (rest, None)
}

fn split_flags(text: &str) -> (String, Vec<String>) {
    let mut kind = String::new();
    let mut flags = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('(') {
        kind.push_str(&rest[..open]);
        // Enum values may hold brackets themselves ("In process (non-requestable)").
        let mut depth = 0;
        let close = rest[open..]
            .char_indices()
            .find(|(_, letter)| {
                match letter {
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    _ => {}
                }
                depth == 0
            })
            .map(|(place, _)| open + place)
            .unwrap_or_else(|| panic!("unbalanced brackets in {text:?}"));
        let inside = &rest[open + 1..close];
        match inside.find("enum=") {
            // The values are the rest: they may hold commas.
            Some(start) => {
                flags.extend(inside[..start].split(',').filter(|f| !f.is_empty()).map(str::to_owned));
                let values = &inside[start..];
                let last = values.rsplit(',').next().unwrap_or_default();
                assert!(!["ro", "virtual", "uuid", "open"].contains(&last), "enum stands last in {text:?}");
                flags.push(values.to_owned());
            }
            None => flags.extend(inside.split(',').map(|flag| flag.trim().to_owned())),
        }
        rest = &rest[close + 1..];
    }
    kind.push_str(rest);
    (kind, flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(shape: &str, document: Value) -> Vec<String> {
        let Value::Object(mut document) = document else { panic!("an object") };
        Shape::parse(shape, true).check(&mut document).into_iter().map(|r| r.message).collect()
    }

    #[test]
    fn a_fitting_document_is_not_refused() {
        let shape =
            "name:string*\nstatus:object*; status.name:string(enum=Open|In process (non-requestable))*";
        assert_eq!(
            told(shape, json!({"name": "a", "status": {"name": "In process (non-requestable)"}})),
            [""; 0]
        );
    }

    #[test]
    fn a_missing_required_property_is_refused() {
        assert_eq!(told("name:string*", json!({})), ["must not be null"]);
        assert_eq!(told("a[].b:string*", json!({"a": [{}]})), ["must not be null"]);
    }

    #[test]
    fn an_unknown_property_is_refused_by_a_closed_shape() {
        assert_eq!(told("name:string", json!({"nom": 1})), ["Unrecognized field \"nom\""]);
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
        let told = |document: Value| {
            let Value::Object(mut document) = document else { panic!("an object") };
            shape.check_as(&mut document, Strictness::TypesOnly).len()
        };
        assert_eq!(told(json!({"kind": "c", "nom": 1})), 0);
        assert_eq!(told(json!({"size": "large"})), 1);
        assert_eq!(told(json!({"id": "no UUID"})), 1);
    }

    #[test]
    fn an_open_object_in_a_closed_shape_keeps_what_it_does_not_know() {
        let shape =
            "tags:object(open); tags.tagList:array<string>; notes:array<object>(open)*; notes[].a:string";
        assert_eq!(told(shape, json!({"tags": {"color": "red"}, "notes": [{"b": 1}]})), [""; 0]);
        assert_eq!(told(shape, json!({"notes": [], "b": 1})), ["Unrecognized field \"b\""]);
    }

    #[test]
    fn a_value_outside_an_enum_is_refused() {
        assert_eq!(told("a:string(enum=x|y)", json!({"a": "z"})), ["a must be one of: x, y"]);
        assert_eq!(told("a:array<string(enum=x|y)>", json!({"a": ["z"]})), ["a[0] must be one of: x, y"]);
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
        assert_eq!(told("a.b:boolean", json!({"a": {"b": 7}})), ["a.b must be true or false"]);
    }
}
