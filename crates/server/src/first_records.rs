//! What a new tenant begins with: FOLIO's reference data, in order of reference.

use serde_json::Value;

/// Collection paths and documents.
pub fn all() -> Vec<(String, Value)> {
    let mut records = carrel_users::first_records();
    records.extend(carrel_inventory::first_records());
    records.extend(reference_data());
    records
}

fn reference_data() -> Vec<(String, Value)> {
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
    // Codes belong to types, so types come first.
    collections.sort_by_key(|(path, _)| match path.as_str() {
        "/statistical-code-types" | "/location-units/institutions" => 0,
        "/statistical-codes" => 2,
        _ => 1,
    });
    collections
        .into_iter()
        .flat_map(|(path, documents)| documents.into_iter().map(move |document| (path.clone(), document)))
        .collect()
}
