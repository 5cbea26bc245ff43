//! The records of a new tenant match their declarations.

use carrel_records::RecordType;
use carrel_records::shape::Shape;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

const REFERENCE_DATA: &str = include_str!("../reference-data.json");

fn record_type_at(path: &str) -> Option<&'static RecordType> {
    carrel_server::modules::modules()
        .into_iter()
        .flat_map(|module| module.records.iter().copied())
        .find(|record| record.path == path)
}

/// Collections in the order of the file, each with its record type.
fn collections() -> Vec<(&'static RecordType, Vec<Map<String, Value>>)> {
    let data: Value = serde_json::from_str(REFERENCE_DATA).expect("the file is JSON");
    let collections = data["records"].as_object().expect("collections by module and path");
    collections
        .iter()
        .map(|(name, records)| {
            let (module, path) = name.split_once(':').expect("module:path");
            let record_type = record_type_at(&format!("/{path}"))
                .unwrap_or_else(|| panic!("no record type stands at /{path}"));
            assert_eq!(record_type.module, module);
            let records = records.as_array().expect("a list of records");
            (
                record_type,
                records.iter().map(|record| record.as_object().expect("a record").clone()).collect(),
            )
        })
        .collect()
}

#[test]
fn every_record_fits_its_shape() {
    for (record_type, records) in collections() {
        let shape = Shape::parse(record_type.shape, record_type.closed);
        for mut record in records {
            let refusals: Vec<String> =
                shape.check(&mut record).into_iter().map(|refusal| refusal.message).collect();
            assert_eq!(refusals, [""; 0], "{}: {record:?}", record_type.name);
        }
    }
}

#[test]
fn every_reference_refers_to_a_record_loaded_before() {
    let mut loaded: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (record_type, records) in collections() {
        for record in &records {
            for key in record_type.belongs_to.iter().filter(|key| !key.loose) {
                let pointer = format!("/{}", key.field.replace('.', "/"));
                if let Some(id) = Value::Object(record.clone()).pointer(&pointer).and_then(Value::as_str) {
                    assert!(
                        loaded.get(key.to).is_some_and(|ids| ids.contains(id)),
                        "{}: {id}",
                        record_type.name
                    );
                }
            }
        }
        let ids = records.iter().filter_map(|record| Some(record.get("id")?.as_str()?.to_owned()));
        loaded.entry(record_type.table).or_default().extend(ids);
    }
}

#[test]
fn no_two_records_share_a_value_that_must_be_unique() {
    for (record_type, records) in collections() {
        for unique in record_type.unique {
            let mut seen = BTreeSet::new();
            for record in &records {
                let values: Option<Vec<String>> = unique
                    .fields
                    .iter()
                    .map(|field| Some(record.get(*field)?.as_str()?.to_lowercase()))
                    .collect();
                if let Some(values) = values {
                    assert!(seen.insert(values.clone()), "{}: {values:?} stands twice", record_type.name);
                }
            }
        }
    }
}
