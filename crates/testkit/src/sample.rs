//! Documents generated from a record type's shape: with the required properties only, or with all.

use crate::{TestServer, fitting};
use carrel_platform::record_store::shape_of;
use carrel_records::RecordType;
use carrel_records::shape::{Element, Format, JsonKind, Pattern, Property, Shape};
use serde_json::{Map, Value, json};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use uuid::Uuid;

/// How much of the shape a document fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Only required properties.
    Least,
    /// Everything that a client may send and that refers to nothing.
    Full,
}

static COUNT: AtomicU64 = AtomicU64::new(1);

/// A document that matches the shape; values that may have to be unique are numbered.
pub fn document(record: &'static RecordType, extent: Extent) -> Map<String, Value> {
    let mut document = level(&shape_of(record), extent);
    document.insert("id".into(), Uuid::new_v4().to_string().into());
    document.remove("metadata");
    document.remove("_version");
    if extent == Extent::Full {
        for key in record.belongs_to {
            let required = is_required(&shape_of(record), key.field);
            if !required {
                remove(&mut document, key.field);
            }
        }
    }
    fitting::fit(record.name, &mut document);
    document
}

fn level(shape: &Shape, extent: Extent) -> Map<String, Value> {
    shape
        .properties
        .iter()
        .filter(|(_, property)| !property.not_stored && !property.read_only)
        .filter(|(_, property)| property.required || extent == Extent::Full)
        .map(|(name, property)| (name.clone(), value(name, property, extent)))
        .collect()
}

fn value(name: &str, property: &Property, extent: Extent) -> Value {
    let text = || -> Value {
        if let Some(first) = property.allowed.first() {
            return first.as_str().into();
        }
        match property.format {
            Some(Format::Uuid) => Uuid::new_v4().to_string().into(),
            Some(Format::DateTime) => "2026-03-04T05:06:07.000+00:00".into(),
            Some(Format::Date) => "2026-03-04".into(),
            Some(Format::Time) => "10:00".into(),
            None => fitting_text(name, property).into(),
        }
    };
    match property.kind {
        JsonKind::Text => text(),
        JsonKind::Integer | JsonKind::Number => 1
            .clamp(property.bounds.least.unwrap_or(i64::MIN), property.bounds.most.unwrap_or(i64::MAX))
            .into(),
        JsonKind::Boolean => true.into(),
        JsonKind::Object if property.free_names => json!({"en": level(&property.inner, extent)}),
        JsonKind::Object => Value::Object(level(&property.inner, extent)),
        JsonKind::Array(Element::Text) => json!([text()]),
        JsonKind::Array(Element::Object) => json!([Value::Object(level(&property.inner, extent))]),
        JsonKind::Array(Element::Any) => json!([]),
        JsonKind::Any => "any".into(),
    }
}

/// A unique text if its length allows.
fn fitting_text(name: &str, property: &Property) -> String {
    let number = COUNT.fetch_add(1, Relaxed);
    let text = match property.bounds.pattern {
        Some(Pattern::NumberPrefix) => "x".to_owned(),
        _ => format!("{name} {number}"),
    };
    match property.bounds.length {
        Some(span) if text.len() > span.most => format!("{:0>1$}", number % 1000, span.most),
        _ => text,
    }
}

/// Sets a value of a property that may be below optional ones, which are created with their required properties.
pub fn place(record: &'static RecordType, document: &mut Map<String, Value>, path: &[String], wanted: Value) {
    place_below(&shape_of(record), document, path, wanted);
}

fn place_below(shape: &Shape, document: &mut Map<String, Value>, path: &[String], wanted: Value) {
    let [name, rest @ ..] = path else { return };
    let Some(property) = shape.properties.get(name) else { return };
    if rest.is_empty() {
        document.insert(name.clone(), wanted);
        return;
    }
    let slot = document.entry(name.clone()).or_insert(Value::Null);
    if slot.is_null() || slot == &json!([]) {
        *slot = value(name, property, Extent::Least);
    }
    let inside = match (property.kind, slot) {
        (JsonKind::Array(_), Value::Array(elements)) => elements.first_mut(),
        (JsonKind::Object, Value::Object(object)) if property.free_names => object.values_mut().next(),
        (_, slot) => Some(slot),
    };
    if let Some(Value::Object(inside)) = inside {
        place_below(&property.inner, inside, rest, wanted);
    }
}

/// A value for one property of a record, unique if its type allows.
pub fn value_at(record: &'static RecordType, path: &str) -> Option<Value> {
    let shape = shape_of(record);
    let mut levels = path.split('.');
    let mut property = shape.properties.get(levels.next()?)?;
    for level in levels {
        property = property.inner.properties.get(level)?;
    }
    Some(value(path, property, Extent::Least))
}

fn is_required(shape: &Shape, path: &str) -> bool {
    match path.split_once('.') {
        None => shape.properties.get(path).is_some_and(|property| property.required),
        Some((first, rest)) => shape
            .properties
            .get(first)
            .is_some_and(|property| property.required && is_required(&property.inner, rest)),
    }
}

/// Sets a value at a path of a document, creating the levels above it.
pub fn set(document: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            document.insert(path.to_owned(), value);
        }
        Some((first, rest)) => {
            if let Value::Object(inner) = document.entry(first.to_owned()).or_insert_with(|| json!({})) {
                set(inner, rest, value);
            }
        }
    }
}

/// Removes the value at a path of a document.
pub fn remove(document: &mut Map<String, Value>, path: &str) {
    match path.split_once('.') {
        None => {
            document.remove(path);
        }
        Some((first, rest)) => {
            if let Some(Value::Object(inner)) = document.get_mut(first) {
                remove(inner, rest);
            }
        }
    }
}

/// The value at a path of a document.
pub fn at<'a>(document: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(document, |value, level| value.get(level))
}

type Making<'a> = Pin<Box<dyn Future<Output = Result<Map<String, Value>, String>> + Send + 'a>>;

/// A document whose required references refer to existing records, which are stored first.
pub fn storable<'a>(server: &'a TestServer, record: &'static RecordType, extent: Extent) -> Making<'a> {
    Box::pin(async move {
        let mut document = document(record, extent);
        let shape = shape_of(record);
        let wanted = |field| is_required(&shape, field) || fitting::needs(record.name, field);
        for key in record.belongs_to.iter().filter(|key| !key.loose && wanted(key.field)) {
            // If the reference must be unique, each document needs a separate record.
            let own = record.unique.iter().any(|unique| unique.fields.contains(&key.field));
            let id = referred(server, key.to, own).await?;
            set(&mut document, key.field, id.into());
        }
        Ok(document)
    })
}

/// The id of a record of the table: a new one if `new` is set or there is none.
pub async fn referred(server: &TestServer, table: &str, new: bool) -> Result<String, String> {
    let record = server
        .node
        .records
        .iter()
        .find(|record| record.table == table)
        .ok_or_else(|| format!("no record type has the table {table}"))?;
    let there = server.get(&format!("{}?limit=1", record.path)).await;
    if !new
        && there.status == 200
        && let Some(id) = there.json()[record.collection][0]["id"].as_str()
    {
        return Ok(id.to_owned());
    }
    let document = storable(server, record, Extent::Least).await?;
    let reply = server.post(record.path, &Value::Object(document)).await;
    match reply.status {
        201 => Ok(reply.json()["id"].as_str().unwrap_or_default().to_owned()),
        status => Err(format!("making a {} to refer to: {status} {}", record.name, reply.text())),
    }
}
