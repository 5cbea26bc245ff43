//! The bounds of a shape, each with values at the bound and beyond it.

use carrel_platform::record_store::shape_of;
use carrel_records::RecordType;
use carrel_records::shape::{Format, Pattern, Property, Shape, Span};
use serde_json::{Value, json};

/// A bounded property, and values with the text of their refusal, if they are refused.
pub struct Bound {
    pub path: Vec<String>,
    pub values: Vec<(Value, Option<String>)>,
}

/// All bounds of a record type.
pub fn of(record: &'static RecordType) -> Vec<Bound> {
    let mut bounds = Vec::new();
    collect(&shape_of(record), &[], &mut bounds);
    bounds
}

fn collect(shape: &Shape, above: &[String], bounds: &mut Vec<Bound>) {
    for (name, property) in &shape.properties {
        if property.read_only || property.not_stored {
            continue;
        }
        let path: Vec<String> = above.iter().chain([name]).cloned().collect();
        let values = values(property);
        if !values.is_empty() {
            bounds.push(Bound { path: path.clone(), values });
        }
        collect(&property.inner, &path, bounds);
    }
}

fn values(property: &Property) -> Vec<(Value, Option<String>)> {
    let bounds = &property.bounds;
    let mut values = Vec::new();
    if let Some(least) = bounds.least {
        values.push((least.into(), None));
        values.push(((least - 1).into(), Some(format!("must be greater than or equal to {least}"))));
    }
    if let Some(most) = bounds.most {
        values.push((most.into(), None));
        values.push(((most + 1).into(), Some(format!("must be less than or equal to {most}"))));
    }
    if let Some(span) = bounds.length {
        sized(span, |length| "x".repeat(length).into(), &mut values);
    }
    if let Some(span) = bounds.items {
        sized(span, |length| (0..length).map(|place| element(property, place)).collect(), &mut values);
    }
    if let Some(pattern) = bounds.pattern {
        let (good, bad) = match pattern {
            Pattern::NotBlank | Pattern::VisibleLine | Pattern::VisibleText => ("a", " "),
            Pattern::NumberPrefix => ("ab", "a b"),
        };
        values.push((good.into(), None));
        values.push((bad.into(), Some(format!("must match \"{}\"", pattern.expression()))));
    }
    values
}

fn sized(span: Span, make: impl Fn(usize) -> Value, values: &mut Vec<(Value, Option<String>)>) {
    let words = format!("size must be between {} and {}", span.least, span.most);
    if span.least > 0 {
        values.push((make(span.least), None));
        values.push((make(span.least - 1), Some(words.clone())));
    }
    if span.most < Span::UNBOUNDED {
        values.push((make(span.most), None));
        values.push((make(span.most + 1), Some(words)));
    }
}

fn element(property: &Property, place: usize) -> Value {
    match (property.allowed.get(place), property.format) {
        (Some(allowed), _) => allowed.as_str().into(),
        (None, Some(Format::Uuid)) => json!(uuid::Uuid::new_v4()),
        (None, _) => format!("{place}").into(),
    }
}
