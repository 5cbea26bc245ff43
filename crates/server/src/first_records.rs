//! The records of a new tenant: those that every tenant needs, and FOLIO's reference records; a record comes after
//! those that it refers to.

use carrel_platform::node::FirstRecord;
use serde_json::Value;

/// Collections of `reference-data.json` that FOLIO's modules fill for every tenant; the others are reference records.
const NEEDED: [&str; 10] = [
    "/eventConfig",
    "/feefines",
    "/hrid-settings-storage/hrid-settings",
    "/instance-date-types",
    "/inventory-settings",
    "/locale",
    "/patron-block-conditions",
    "/staff-slips-storage/staff-slips",
    "/templates",
    "/users/configurations/entry",
];

/// Collections that scripts of FOLIO's modules fill, without metadata.
const WRITTEN_BY_SCRIPTS: [&str; 2] = ["/staff-slips-storage/staff-slips", "/templates"];

/// Every record of a new tenant.
pub fn all() -> Vec<FirstRecord> {
    let mut records = carrel_users::first_records();
    records.extend(carrel_inventory::first_records());
    records
        .into_iter()
        .map(|(path, document)| FirstRecord { path, document, is_reference: false, without_metadata: false })
        .chain(carrel_inventory::reference_records().into_iter().map(|(path, document)| FirstRecord {
            path,
            document,
            is_reference: true,
            without_metadata: false,
        }))
        .chain(reference_data())
        .collect()
}

fn reference_data() -> impl Iterator<Item = FirstRecord> {
    let data: Value =
        serde_json::from_str(include_str!("../reference-data.json")).expect("the reference data is JSON");
    let mut collections: Vec<(String, Vec<Value>)> = Vec::new();
    for (name, documents) in data["records"].as_object().expect("collections by name") {
        let documents = documents.as_array().expect("a collection is an array").clone();
        let path = match name.as_str() {
            "mod-users:remote-non-circulating.json" => "/groups".to_owned(),
            _ => format!("/{}", name.split_once(':').expect("module:collection").1),
        };
        collections.push((path, documents));
    }
    // Codes refer to types, so types come first.
    collections.sort_by_key(|(path, _)| match path.as_str() {
        "/statistical-code-types" | "/location-units/institutions" => 0,
        "/statistical-codes" => 2,
        _ => 1,
    });
    collections.into_iter().flat_map(|(path, documents)| {
        let is_reference = !NEEDED.contains(&path.as_str());
        documents.into_iter().map(move |document| FirstRecord {
            path: path.clone(),
            document,
            is_reference,
            without_metadata: WRITTEN_BY_SCRIPTS.contains(&path.as_str()),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_needed_collection_is_in_the_reference_data() {
        for path in NEEDED {
            assert!(reference_data().any(|first| first.path == path), "{path}");
        }
    }
}
