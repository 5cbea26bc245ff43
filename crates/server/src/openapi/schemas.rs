//! Schemas of the requests and answers of business operations, from `schemas.txt`.
//!
//! A schema begins with its name at the start of a line, optionally followed by a colon and the record whose properties
//! it includes; `nullable` allows null for all properties except references. Its properties are indented, in the
//! notation of record declarations, where `@name` refers to another schema and `@name[]` to an array of it. Answers may
//! contain further properties.

use carrel_records::shape::Shape;
use serde_json::{Map, Value, json};

/// Adds the schemas to those of the records.
pub fn add(schemas: &mut Map<String, Value>) {
    let text = include_str!("schemas.txt");
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    while let Some(head) = lines.next() {
        let mut own = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with(' ')) {
            own.push(line.trim());
        }
        let (name, schema) = schema(head, &own, schemas);
        schemas.insert(name, schema);
    }
}

fn schema(head: &str, own: &[&str], known: &Map<String, Value>) -> (String, Value) {
    let (head, is_nullable) = match head.strip_suffix(" nullable") {
        Some(head) => (head, true),
        None => (head, false),
    };
    let (name, record) = head.split_once(": ").unwrap_or((head, ""));
    let (references, notation): (Vec<&str>, Vec<&str>) = own.iter().partition(|line| line.contains(":@"));
    let mut schema = super::object(&Shape::parse(&notation.join("\n"), false));
    let mut properties =
        known.get(record).and_then(|record| record["properties"].as_object()).cloned().unwrap_or_default();
    if let Some(own) = schema["properties"].as_object() {
        properties.extend(own.clone());
    }
    if is_nullable {
        for property in properties.values_mut() {
            property["nullable"] = true.into();
        }
    }
    for line in references {
        let (property, target) = line.split_once(":@").expect("references are chosen by this");
        if target.ends_with('*') {
            let mut required = schema["required"].as_array().cloned().unwrap_or_default();
            required.push(property.into());
            schema["required"] = required.into();
        }
        properties.insert(property.to_owned(), reference(target.trim_end_matches('*')));
    }
    schema["properties"] = properties.into();
    (name.to_owned(), schema)
}

/// A reference to a schema, or with `[]` an array of it.
pub fn reference(name: &str) -> Value {
    match name.strip_suffix("[]") {
        Some(element) => json!({"type": "array", "items": reference(element)}),
        None => json!({"$ref": format!("#/components/schemas/{name}")}),
    }
}
