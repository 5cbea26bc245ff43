//! The OpenAPI document: routes from the route table, schemas of records from their declarations, schemas and names of
//! business operations from `operations.tsv` and `schemas.txt`.

mod answers;
mod operations;
mod schemas;

use carrel_platform::Router;
use carrel_platform::http::RouteEntry;
use carrel_platform::record_store::shape_of;
use carrel_records::shape::{Bounds, Element, Format, JsonKind, Property, Shape};
use carrel_records::{RecordType, Routes};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The whole document.
pub fn document(router: &Router, records: &[&'static RecordType]) -> Value {
    let names = names(records);
    let by_path: HashMap<&str, &'static RecordType> = records
        .iter()
        .filter(|record| !record.path.is_empty() && record.routes != Routes::ByHand)
        .map(|record| (record.path, *record))
        .collect();
    let mut paths: Map<String, Value> = Map::new();
    for entry in router.entries() {
        let method = entry.route.method.as_str();
        if ["GET", "POST", "PUT", "DELETE", "PATCH"].contains(&method) {
            let path_item = paths.entry(entry.route.path.clone()).or_insert_with(|| json!({}));
            path_item[method.to_lowercase()] = operation(entry, &by_path, &names);
        }
    }
    let mut schemas: Map<String, Value> = Map::new();
    for record in records {
        let name = &names[&std::ptr::from_ref::<RecordType>(record)];
        let mut schema = object(&shape_of(record));
        schema["x-module"] = record.module.into();
        schemas.insert(name.clone(), schema);
    }
    schemas::add(&mut schemas);
    schemas.insert("errors".into(), errors());
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Carrel", "version": env!("CARGO_PKG_VERSION"),
                 "description": "FOLIO's public API, answered by one program."},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "X-Okapi-Token"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "folioAccessToken"},
            },
        },
    })
}

type Names = HashMap<*const RecordType, String>;

/// Schema names: the record's name, with its module if two modules use the same name.
fn names(records: &[&'static RecordType]) -> Names {
    let count = |name: &str| records.iter().filter(|record| record.name == name).count();
    records
        .iter()
        .map(|record| {
            let name = match count(record.name) {
                1 => record.name.to_owned(),
                _ => format!("{}.{}", record.module, record.name),
            };
            (std::ptr::from_ref::<RecordType>(record), name)
        })
        .collect()
}

fn operation(entry: &RouteEntry, by_path: &HashMap<&str, &'static RecordType>, names: &Names) -> Value {
    let route = entry.route;
    let built = entry.handler.is_some();
    let mut parameters: Vec<Value> = vec![json!({
        "name": "X-Okapi-Tenant", "in": "header", "schema": {"type": "string"},
        "description": "The tenant; needed only without a token",
    })];
    parameters.extend(
        route
            .path
            .split('/')
            .filter_map(|level| level.strip_prefix('{')?.strip_suffix('}'))
            .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})),
    );
    parameters.extend(scan_headers(&route.path));
    let collection = by_path.get(route.path.as_str()).copied();
    let one = route
        .path
        .rsplit_once('/')
        .filter(|(_, last)| last.starts_with('{'))
        .and_then(|(above, _)| by_path.get(above))
        .copied();
    let refers = |record: &'static RecordType| json!({"$ref": format!("#/components/schemas/{}", names[&std::ptr::from_ref(record)])});
    let single = collection.filter(|record| record.routes == Routes::Single);
    let (sent, answered) = match (route.method.as_str(), collection, one) {
        ("GET", Some(record), _) if single.is_none() => {
            parameters.extend(query_parameters());
            (None, Some(list_of(record, refers(record))))
        }
        ("GET", record @ Some(_), _) | ("GET", _, record @ Some(_)) => (None, record.map(refers)),
        ("POST", Some(record), _) => (Some(refers(record)), Some(refers(record))),
        ("PUT", Some(record), _) | ("PUT", _, Some(record)) => (Some(refers(record)), None),
        ("DELETE", Some(_), _) => {
            parameters.push(json!({"name": "query", "in": "query", "required": true,
                "schema": {"type": "string"}, "description": "CQL query for the records to delete"}));
            (None, None)
        }
        ("POST" | "PUT" | "PATCH", _, _) => {
            (Some(json!({"type": "object"})), Some(json!({"type": "object"})))
        }
        ("GET", _, _) => (None, Some(json!({}))),
        _ => (None, None),
    };
    let named = operations::operation_of(&route.method, &route.path);
    let (sent, answered) = match named {
        Some(named) => (operations::schema(named.sent), operations::schema(named.answered)),
        None => (sent, answered),
    };
    if named.is_some_and(|named| named.name.starts_with("list")) && collection.is_none() {
        parameters.extend(query_parameters());
    }
    let is_list = route.method == "GET" && collection.is_some() && single.is_none();
    let name = named.map_or_else(
        || operations::generated_name(&route.method, &route.path, is_list),
        |named| named.name.to_owned(),
    );
    let mut operation = json!({
        "tags": [route.module],
        "operationId": name,
        "description": format!("Permissions: {}", if route.permissions.is_empty() { "none".into() } else { route.permissions.join(", ") }),
        "parameters": parameters,
        "responses": answers::responses(entry, answered, collection.or(one), named.map(|named| named.status)),
        "security": if route.permissions.is_empty() { json!([{}, {"token": []}, {"cookie": []}]) } else { json!([{"token": []}, {"cookie": []}]) },
        "x-permissions": route.permissions,
        "x-built": built,
    });
    if let Some(sent) = sent {
        operation["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": sent}}});
    }
    operation
}

/// Headers of scans at the desk.
fn scan_headers(path: &str) -> Vec<Value> {
    if !matches!(path, "/circulation/check-out-by-barcode" | "/circulation/check-in-by-barcode") {
        return Vec::new();
    }
    vec![
        json!({"name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "format": "uuid"},
            "description": "Identifies the scan: a repetition within 14 days gets the first answer, and changes nothing"}),
        json!({"name": "X-Carrel-Refuse-Unconfirmed", "in": "header", "schema": {"type": "boolean"},
            "description": "Refuses the scan (422, CONFIRMATION_REQUIRED) if staff must confirm status, pieces or notes of the item first"}),
    ]
}

fn query_parameters() -> Vec<Value> {
    vec![
        json!({"name": "query", "in": "query", "schema": {"type": "string"}, "description": "CQL"}),
        json!({"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 0, "maximum": i32::MAX, "default": 10}}),
        json!({"name": "offset", "in": "query", "schema": {"type": "integer", "minimum": 0, "maximum": i32::MAX, "default": 0}}),
        json!({"name": "totalRecords", "in": "query", "schema": {"type": "string", "enum": ["exact", "estimated", "none", "auto"], "default": "auto"}}),
    ]
}

fn list_of(record: &RecordType, one: Value) -> Value {
    let mut schema = json!({"type": "object", "required": [record.collection, "totalRecords"], "properties": {
        record.collection: {"type": "array", "items": one},
        "totalRecords": {"type": "integer", "minimum": 0},
    }});
    if record.result_info {
        schema["properties"]["resultInfo"] = json!({"type": "object"});
    }
    schema
}

fn object(shape: &Shape) -> Value {
    let mut schema = json!({"type": "object"});
    if shape.properties.is_empty() {
        return schema;
    }
    let properties: Map<String, Value> =
        shape.properties.iter().map(|(name, property)| (name.clone(), value(property))).collect();
    let required: Vec<&String> = shape
        .properties
        .iter()
        .filter(|(_, property)| property.required && !property.read_only)
        .map(|(name, _)| name)
        .collect();
    schema["properties"] = Value::Object(properties);
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if shape.closed {
        schema["additionalProperties"] = false.into();
    }
    schema
}

fn value(property: &Property) -> Value {
    let mut schema = match property.kind {
        JsonKind::Text => text(property),
        JsonKind::Integer => json!({"type": "integer"}),
        JsonKind::Number => json!({"type": "number"}),
        JsonKind::Boolean => json!({"type": "boolean"}),
        JsonKind::Object if property.free_names => {
            json!({"type": "object", "additionalProperties": object(&property.inner)})
        }
        JsonKind::Object => object(&property.inner),
        JsonKind::Array(Element::Text) => json!({"type": "array", "items": text(property)}),
        JsonKind::Array(Element::Object) => json!({"type": "array", "items": object(&property.inner)}),
        JsonKind::Array(Element::Any) => json!({"type": "array", "items": {}}),
        JsonKind::Any => json!({}),
    };
    bounds(&property.bounds, &mut schema);
    if property.nullable {
        schema["nullable"] = true.into();
    }
    if property.read_only {
        schema["readOnly"] = true.into();
    }
    if let Some(default) = &property.default {
        schema["default"] = default.clone();
    }
    schema
}

fn text(property: &Property) -> Value {
    let mut schema = json!({"type": "string"});
    let format = match property.format {
        Some(Format::Uuid) => "uuid",
        Some(Format::DateTime) => "date-time",
        Some(Format::Date) => "date",
        // FOLIO's times have no zone, which the format `time` requires.
        Some(Format::Time) | None => "",
    };
    if !format.is_empty() {
        schema["format"] = format.into();
    }
    if !property.allowed.is_empty() {
        schema["enum"] = json!(property.allowed);
    }
    if let Some(span) = property.bounds.length {
        schema["minLength"] = span.least.into();
        schema["maxLength"] = span.most.into();
    }
    if let Some(pattern) = property.bounds.pattern {
        schema["pattern"] = pattern.schema_expression().into();
    }
    schema
}

fn bounds(bounds: &Bounds, schema: &mut Value) {
    if let Some(least) = bounds.least {
        schema["minimum"] = least.into();
    }
    if let Some(most) = bounds.most {
        schema["maximum"] = most.into();
    }
    if let Some(span) = bounds.items {
        schema["minItems"] = span.least.into();
        schema["maxItems"] = span.most.into();
    }
    if bounds.is_set {
        schema["uniqueItems"] = true.into();
    }
}

/// FOLIO's shape of a refusal.
fn errors() -> Value {
    let parameter = json!({"type": "object", "properties": {"key": {"type": "string"}, "value": {"type": "string", "nullable": true}}});
    let error = json!({"type": "object", "required": ["message"], "properties": {
        "message": {"type": "string"},
        "type": {"type": "string"},
        "code": {"type": "string", "nullable": true},
        "parameters": {"type": "array", "items": parameter},
    }});
    json!({"type": "object", "properties": {
        "errors": {"type": "array", "items": error},
        "total_records": {"type": "integer"},
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Value {
        let records: Vec<_> =
            crate::modules::modules().iter().flat_map(|module| module.records.iter().copied()).collect();
        document(&crate::modules::router(), &records)
    }

    #[test]
    fn every_schema_that_is_referred_to_is_there() {
        fn walk(value: &Value, schemas: &Value, missing: &mut Vec<String>) {
            match value {
                Value::Object(map) => map.iter().for_each(|(key, value)| match (key.as_str(), value) {
                    ("$ref", Value::String(text)) => {
                        let name = text.trim_start_matches("#/components/schemas/");
                        if schemas.get(name).is_none() {
                            missing.push(text.clone());
                        }
                    }
                    _ => walk(value, schemas, missing),
                }),
                Value::Array(values) => values.iter().for_each(|value| walk(value, schemas, missing)),
                _ => {}
            }
        }
        let document = whole();
        let mut missing = Vec::new();
        walk(&document, &document["components"]["schemas"], &mut missing);
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn a_loan_is_reported_with_its_required_properties_and_formats() {
        let document = whole();
        let loan = &document["components"]["schemas"]["loan"];
        assert!(
            loan["required"].as_array().is_some_and(|all| all.iter().any(|name| name == "action")),
            "{loan}"
        );
        assert_eq!(loan["properties"]["itemId"]["format"], "uuid");
        let list = &document["paths"]["/loan-storage/loans"]["get"]["responses"]["200"];
        let of = &list["content"]["application/json"]["schema"]["properties"]["loans"]["items"]["$ref"];
        assert_eq!(of, "#/components/schemas/loan");
    }

    #[test]
    fn every_record_type_has_a_schema_of_its_own_name() {
        let records: Vec<_> =
            crate::modules::modules().iter().flat_map(|module| module.records.iter().copied()).collect();
        let document = whole();
        let schemas = document["components"]["schemas"].as_object().expect("schemas by name");
        let names = names(&records);
        assert!(
            records
                .iter()
                .all(|record| schemas.contains_key(&names[&std::ptr::from_ref::<RecordType>(record)]))
        );
        assert!(
            schemas.keys().all(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c)))
        );
    }

    #[test]
    fn every_operation_has_a_name_of_its_own_that_a_program_can_use() {
        let document = whole();
        let mut names: Vec<String> = Vec::new();
        for operations in document["paths"].as_object().expect("paths").values() {
            for operation in operations.as_object().expect("operations").values() {
                names.push(operation["operationId"].as_str().expect("a name").to_owned());
            }
        }
        let unusable: Vec<&String> =
            names.iter().filter(|name| !name.chars().all(|c| c.is_ascii_alphanumeric())).collect();
        assert_eq!(unusable, [""; 0]);
        names.sort();
        let twice: Vec<&String> =
            names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
        assert_eq!(twice, [""; 0], "two operations have the same name");
        for name in ["checkOutByBarcode", "checkInByBarcode", "listUsers", "findUser", "createUser", "logIn"]
        {
            assert!(names.binary_search(&name.to_owned()).is_ok(), "{name} is missing");
        }
    }

    #[test]
    fn every_named_operation_is_a_route() {
        let router = crate::modules::router();
        for operation in operations::OPERATIONS.iter() {
            assert!(
                router.knows(operation.method, operation.path),
                "{} {}",
                operation.method,
                operation.path
            );
        }
    }

    #[test]
    fn the_document_is_openapi() {
        let document: openapiv3::OpenAPI =
            serde_json::from_value(whole()).expect("the document has the form of OpenAPI 3.0");
        for (path, item) in document.paths.iter() {
            let item = item.as_item().expect("an inline path");
            for (method, operation) in item.iter() {
                let declared: Vec<&str> = operation
                    .parameters
                    .iter()
                    .filter_map(|parameter| match parameter.as_item() {
                        Some(openapiv3::Parameter::Path { parameter_data, .. }) => {
                            Some(&*parameter_data.name)
                        }
                        _ => None,
                    })
                    .collect();
                let used: Vec<&str> =
                    path.split('/').filter_map(|level| level.strip_prefix('{')?.strip_suffix('}')).collect();
                assert_eq!(declared, used, "{method} {path}");
                assert!(!operation.responses.responses.is_empty(), "{method} {path} has no answers");
            }
        }
    }
}
