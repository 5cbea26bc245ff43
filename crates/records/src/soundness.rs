//! Finds errors in a set of declarations and reports them as sentences for a test.

use crate::declaration::{Field, RecordType, Source};
use crate::shape::{Element, JsonKind, Property, Shape};
use std::collections::BTreeSet;

/// All inconsistencies in `types`; `others` are declared elsewhere and may be referred to.
pub fn faults(types: &[&RecordType], others: &[&RecordType]) -> Vec<String> {
    let tables: BTreeSet<&str> = types.iter().chain(others).map(|record| record.table).collect();
    let mut faults = Vec::new();
    let mut names = BTreeSet::new();
    let mut own_tables = BTreeSet::new();
    let mut paths = BTreeSet::new();
    for record in types {
        if !names.insert(record.name) {
            faults.push(format!("two record types are named {}", record.name));
        }
        if !own_tables.insert(record.table) {
            faults.push(format!("two record types have the table {}", record.table));
        }
        if !paths.insert(record.path) || !record.path.starts_with('/') {
            faults.push(format!(
                "{} stands at {:?}, which is not a path or is already used",
                record.name, record.path
            ));
        }
        faults
            .extend(faults_of(record, &tables).into_iter().map(|fault| format!("{}: {fault}", record.name)));
    }
    faults
}

fn faults_of(record: &RecordType, tables: &BTreeSet<&str>) -> Vec<String> {
    let shape = Shape::parse(record.shape, record.closed);
    let mut faults = Vec::new();
    for part in [record.name, record.module, record.table] {
        if part.is_empty() {
            faults.push("name, module and table must be stated".to_owned());
        }
    }
    let mut fields = BTreeSet::new();
    for field in record.fields {
        if !fields.insert(field.name) {
            faults.push(format!("the field {} is declared twice", field.name));
        }
        for path in paths_of(field) {
            if !names(record, &shape, path) {
                faults.push(format!("the field {} reads {path}, which the shape does not name", field.name));
            }
        }
    }
    for path in record.unique.iter().flat_map(|unique| unique.fields) {
        if !names(record, &shape, path) {
            faults.push(format!("{path} is to be unique, but the shape does not name it"));
        }
    }
    for key in record.belongs_to {
        match property(&shape, key.field) {
            None => faults.push(format!("{} refers, but the shape does not name it", key.field)),
            Some(property) if property.format != Some(crate::shape::Format::Uuid) => {
                faults.push(format!("{} refers, but is no UUID", key.field));
            }
            Some(_) => {}
        }
        if !key.loose && !tables.contains(key.to) {
            faults.push(format!("{} refers to {}, which is not declared", key.field, key.to));
        }
        if fields.contains(key.field) {
            faults.push(format!("{} is a reference, so it is a field already", key.field));
        }
    }
    faults
}

fn paths_of(field: &Field) -> Vec<&'static str> {
    match field.source {
        Source::Document => vec![field.name],
        Source::Path(path) => vec![path],
        Source::Paths(paths) => paths.to_vec(),
        Source::Sql(_) => Vec::new(),
    }
}

fn names(record: &RecordType, shape: &Shape, path: &str) -> bool {
    (record.metadata && path.starts_with("metadata.")) || property(shape, path).is_some()
}

/// The property at a path with dots; arrays are not followed.
fn property<'a>(shape: &'a Shape, path: &str) -> Option<&'a Property> {
    match path.split_once('.') {
        None => shape.properties.get(path),
        Some((first, rest)) => {
            let outer = shape.properties.get(first)?;
            match outer.kind {
                JsonKind::Array(Element::Object) => None,
                _ => property(&outer.inner, rest),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declaration::{PLAIN, text, to, unique};

    static SOUND: RecordType = RecordType {
        name: "campus",
        module: "mod-x",
        table: "campus",
        path: "/campuses",
        shape: "id:string(uuid); name:string; institutionId:string(uuid)",
        fields: &[text("name"), text("metadata.createdByUserId")],
        unique: &[unique(&["name"])],
        belongs_to: &[to("institutionId", "campus")],
        ..PLAIN
    };

    #[test]
    fn a_sound_declaration_has_no_faults() {
        assert_eq!(faults(&[&SOUND], &[]), [""; 0]);
    }

    #[test]
    fn a_reference_to_an_undeclared_table_is_a_fault() {
        static LOST: RecordType = RecordType { belongs_to: &[to("institutionId", "nowhere")], ..SOUND_COPY };
        const SOUND_COPY: RecordType = RecordType {
            name: "a",
            module: "m",
            table: "a",
            path: "/a",
            shape: "institutionId:string(uuid)",
            ..PLAIN
        };
        assert_eq!(faults(&[&LOST], &[]), ["a: institutionId refers to nowhere, which is not declared"]);
    }

    #[test]
    fn a_field_that_the_shape_does_not_name_is_a_fault() {
        static STRAY: RecordType = RecordType {
            name: "a",
            module: "m",
            table: "a",
            path: "/a",
            shape: "id:string(uuid)",
            fields: &[text("nmae")],
            ..PLAIN
        };
        assert_eq!(faults(&[&STRAY], &[]), ["a: the field nmae reads nmae, which the shape does not name"]);
    }
}
