//! Parses the notation. An error in it is an error in a declaration, so it panics with the line.

use super::bounds::{Pattern, Span};
use super::{Bounds, Element, Format, JsonKind, Property, Shape};
use serde_json::Value;

impl Shape {
    /// Parses the notation.
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
                    property.free_names = known.free_names;
                }
                property.inner.closed = closed && !property.open;
                self.properties.insert(path.trim_end_matches("[]").to_owned(), property);
            }
            Some((first, rest)) => {
                let name = first.trim_end_matches("[]").trim_end_matches("{}");
                let kind =
                    if first.ends_with("[]") { JsonKind::Array(Element::Object) } else { JsonKind::Object };
                let parent = self.properties.entry(name.to_owned()).or_insert_with(|| Property::plain(kind));
                parent.free_names |= first.ends_with("{}");
                parent.inner.closed = closed && !parent.open;
                parent.inner.insert(rest, property, closed);
            }
        }
    }
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
    // Flags of an array's elements are inside the angle brackets, those of the array after them.
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
            "set" => property.bounds.is_set = true,
            other => match other.strip_prefix("enum=") {
                Some(values) => {
                    property.allowed = values.split('|').map(|value| value.trim().to_owned()).collect();
                }
                None => set_bound(&mut property.bounds, other, line),
            },
        }
    }
    property.default = default.map(|text| match kind {
        JsonKind::Text => Value::String(text.to_owned()),
        _ => serde_json::from_str(text).unwrap_or_else(|_| panic!("bad default in {line:?}")),
    });
    (path.trim().to_owned(), property)
}

fn set_bound(bounds: &mut Bounds, flag: &str, line: &str) {
    let wrong = || -> ! { panic!("{flag:?} is no flag, in {line:?}") };
    let Some((name, value)) = flag.split_once('=') else { wrong() };
    let number = || value.parse().unwrap_or_else(|_| wrong());
    match name {
        "min" => bounds.least = Some(number()),
        "max" => bounds.most = Some(number()),
        "length" => bounds.length = Some(span(value).unwrap_or_else(|| wrong())),
        "items" => bounds.items = Some(span(value).unwrap_or_else(|| wrong())),
        "like" => bounds.pattern = Some(Pattern::named(value).unwrap_or_else(|| wrong())),
        _ => wrong(),
    }
}

fn span(text: &str) -> Option<Span> {
    let (least, most) = text.split_once("..")?;
    let end = |text: &str, open: usize| if text.is_empty() { Some(open) } else { text.parse().ok() };
    Some(Span { least: end(least, 0)?, most: end(most, Span::UNBOUNDED)? })
}

fn split_default(rest: &str) -> (&str, Option<&str>) {
    // `=` inside brackets belongs to a flag.
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
        // Enum values may contain brackets ("In process (non-requestable)").
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
            // The values are the rest of the text: they may contain commas.
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
