//! The checks of the battery.

use carrel_platform::Router;
use carrel_platform::record_store::shape_of;
use carrel_records::shape::JsonKind;
use carrel_records::{Kind, Put, RecordType, Source};
use carrel_testkit::TestServer;
use carrel_testkit::sample::{Extent, at, place, referred, remove, set, storable, value_at};
use serde_json::{Map, Value, json};
use std::pin::Pin;
use uuid::Uuid;

pub type Outcome = Result<(), String>;
type Running<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

pub struct Check {
    pub name: &'static str,
    /// Whether the check applies to the record type.
    pub concerns: fn(&'static RecordType, &Router) -> bool,
    pub run: for<'a> fn(&'a TestServer, &'static RecordType) -> Running<'a>,
}

macro_rules! checks {
    ($($name:ident if $concerns:expr;)*) => {
        pub const CHECKS: &[Check] = &[$(Check {
            name: stringify!($name),
            concerns: $concerns,
            run: |server, record| Box::pin($name(server, record)),
        }),*];
    };
}

fn creates(record: &RecordType, router: &Router) -> bool {
    router.answers("POST", record.path)
}
fn answers(record: &RecordType, router: &Router, method: &str) -> bool {
    router.item_path(method, record.path).is_some_and(|path| router.answers(method, path))
}

checks! {
    what_is_created_can_be_read if |r, router| creates(r, router) && answers(r, router, "GET");
    every_property_of_the_shape_is_stored if |r, router| creates(r, router) && answers(r, router, "GET");
    an_unknown_id_is_not_found if |r, router| answers(r, router, "GET");
    every_field_can_be_searched_and_sorted if |r, router| creates(r, router) && router.answers("GET", r.path);
    a_replacement_is_stored if |r, router| creates(r, router) && answers(r, router, "PUT");
    a_replacement_of_an_unknown_record_follows_the_declaration if |r, router| creates(r, router) && answers(r, router, "PUT");
    a_stale_version_is_refused if |r, router| r.optimistic_locking && creates(r, router) && answers(r, router, "PUT");
    a_deleted_record_is_not_found if |r, router| creates(r, router) && answers(r, router, "DELETE");
    an_unknown_property_is_refused if |r, router| r.closed && creates(r, router);
    a_value_of_the_wrong_type_is_refused if creates;
    bounds_are_enforced if |r, router| creates(r, router) && !super::bounds::of(r).is_empty();
    a_missing_required_property_is_refused if |r, router| creates(r, router) && !required(r).is_empty();
    a_duplicate_unique_value_is_refused if |r, router| creates(r, router) && r.unique.iter().any(|u| u.when.is_none());
    a_reference_to_a_missing_record_is_refused if |r, router| creates(r, router) && r.belongs_to.iter().any(|key| !key.loose);
    a_caller_without_permission_is_refused if |r, router| creates(r, router) || router.answers("GET", r.path);
}

fn same(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            expected.iter().all(|(key, value)| found.get(key).is_some_and(|found| same(value, found)))
        }
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(a, b)| same(a, b))
        }
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        // The same instant or time of day may have another spelling.
        (Value::String(a), Value::String(b)) => {
            a == b
                || format!("{a}:00") == *b
                || carrel_records::time::parse(a).is_some()
                    && carrel_records::time::parse(a) == carrel_records::time::parse(b)
        }
        _ => expected == found,
    }
}

fn required(record: &'static RecordType) -> Vec<String> {
    shape_of(record)
        .properties
        .iter()
        .filter(|(_, property)| {
            property.required && !property.read_only && !property.not_stored && property.default.is_none()
        })
        // Without an id the server assigns one.
        .filter(|(name, _)| *name != "id")
        .map(|(name, _)| name.clone())
        .collect()
}

async fn create(
    server: &TestServer,
    record: &'static RecordType,
    extent: Extent,
) -> Result<(String, Map<String, Value>), String> {
    let document = storable(server, record, extent).await?;
    let sent = Value::Object(document.clone());
    let reply = server.post(record.path, &sent).await;
    if !matches!(reply.status, 200 | 201 | 204) {
        return Err(format!(
            "POST {} of {sent} was answered with {}: {}",
            record.path,
            reply.status,
            reply.text()
        ));
    }
    // Some of FOLIO's modules answer without a body.
    let answered: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let id =
        answered["id"].as_str().or_else(|| sent["id"].as_str()).ok_or("the document has no id")?.to_owned();
    Ok((id, document))
}

async fn read(server: &TestServer, record: &RecordType, id: &str) -> Result<Value, String> {
    let reply = server.get(&format!("{}/{id}", record.path)).await;
    match reply.status {
        200 => Ok(reply.json()),
        status => Err(format!("GET {}/{id} was answered with {status}: {}", record.path, reply.text())),
    }
}

fn compare(sent: &Map<String, Value>, found: &Value) -> Outcome {
    for (key, value) in sent {
        let there = found.get(key).unwrap_or(&Value::Null);
        if !same(value, there) {
            return Err(format!("'{key}' was sent as {value} and is read as {there}"));
        }
    }
    Ok(())
}

async fn what_is_created_can_be_read(server: &TestServer, record: &'static RecordType) -> Outcome {
    let (id, sent) = create(server, record, Extent::Least).await?;
    let found = read(server, record, &id).await?;
    compare(&sent, &found)?;
    if record.metadata && found.pointer("/metadata/createdDate").is_none() {
        return Err("metadata.createdDate is missing".into());
    }
    Ok(())
}

async fn every_property_of_the_shape_is_stored(server: &TestServer, record: &'static RecordType) -> Outcome {
    let (id, sent) = create(server, record, Extent::Full).await?;
    compare(&sent, &read(server, record, &id).await?)
}

async fn an_unknown_id_is_not_found(server: &TestServer, record: &'static RecordType) -> Outcome {
    let reply = server.get(&format!("{}/{}", record.path, Uuid::new_v4())).await;
    match reply.status {
        404 => Ok(()),
        status => Err(format!("{status} instead of 404: {}", reply.text())),
    }
}

async fn every_field_can_be_searched_and_sorted(server: &TestServer, record: &'static RecordType) -> Outcome {
    // A full document if one can be stored, so that every field has a value to find.
    let id = match create(server, record, Extent::Full).await {
        Ok((id, _)) => id,
        Err(_) => create(server, record, Extent::Least).await?.0,
    };
    let page = server.get(&format!("{}?query=id=={id}", record.path)).await;
    if page.status != 200 || page.json()[record.collection][0]["id"] != *id {
        return Err(format!("the record is not found by its id: {} {}", page.status, page.text()));
    }
    let stored = page.json()[record.collection][0].clone();
    for field in record.fields {
        let path = match field.source {
            Source::Document => Some(field.name),
            Source::Path(path) => Some(path),
            Source::Paths(_) | Source::Sql(_) => None,
        };
        let value = path.and_then(|path| at(&stored, path));
        let wanted = match (field.kind, value) {
            (Kind::Array { .. }, Some(Value::Array(elements))) => {
                elements.first().and_then(Value::as_str).map(|text| format!("= \"{text}\""))
            }
            (Kind::Array { .. }, _) | (_, None | Some(Value::Object(_) | Value::Array(_) | Value::Null)) => {
                None
            }
            (_, Some(Value::String(text))) => Some(format!("== \"{text}\"")),
            (_, Some(other)) => Some(format!("== {other}")),
        };
        let narrowed = wanted.map(|wanted| format!("{} {wanted} and id=={id}", field.name));
        let sorts = !matches!(field.kind, Kind::Array { .. });
        let sorted = sorts.then(|| format!("id=={id} sortBy {}", field.name));
        for query in narrowed.into_iter().chain(sorted) {
            let text = query.replace('%', "%25").replace('+', "%2B").replace('&', "%26");
            let reply = server.get(&format!("{}?query={text}", record.path)).await;
            if reply.status != 200 {
                return Err(format!(
                    "the query {query} was answered with {}: {}",
                    reply.status,
                    reply.text()
                ));
            }
            if reply.json()["totalRecords"] != 1 {
                return Err(format!("the query {query} does not find {stored}"));
            }
        }
    }
    Ok(())
}

/// A text property at the top level that nothing depends on, for a change.
fn changeable(record: &'static RecordType) -> Option<String> {
    let shape = shape_of(record);
    let plain = |name: &str| {
        let property = &shape.properties[name];
        property.kind == JsonKind::Text
            && property.format.is_none()
            && property.allowed.is_empty()
            && !property.read_only
            && !property.not_stored
    };
    ["description", "name", "desc", "comments", "value", "title", "code"]
        .iter()
        .map(|name| (*name).to_owned())
        .find(|name| shape.properties.contains_key(name) && plain(name))
        .or_else(|| {
            shape.properties.keys().find(|name| *name != "id" && *name != "hrid" && plain(name)).cloned()
        })
}

async fn a_replacement_is_stored(server: &TestServer, record: &'static RecordType) -> Outcome {
    let (id, sent) = create(server, record, Extent::Least).await?;
    let before = match server.get(&format!("{}/{id}", record.path)).await {
        reply if reply.status == 200 => reply.json(),
        _ => Value::Object(sent),
    };
    let Value::Object(mut document) = before.clone() else { return Err("the record is no object".into()) };
    let changed = changeable(record);
    if let Some(name) = &changed {
        document.insert(name.clone(), format!("changed {}", Uuid::new_v4().simple()).into());
    }
    let reply = server.put(&format!("{}/{id}", record.path), &Value::Object(document.clone())).await;
    if !matches!(reply.status, 200 | 204) {
        return Err(format!("PUT was answered with {}: {}", reply.status, reply.text()));
    }
    let after = read(server, record, &id).await?;
    if let Some(name) = &changed
        && after[name] != document[name]
    {
        return Err(format!("'{name}' was replaced by {} and is read as {}", document[name], after[name]));
    }
    if record.metadata && after["metadata"]["createdDate"] != before["metadata"]["createdDate"] {
        return Err("metadata.createdDate has changed".into());
    }
    if record.optimistic_locking && after["_version"].as_i64() <= before["_version"].as_i64() {
        return Err("_version has not grown".into());
    }
    Ok(())
}

async fn a_replacement_of_an_unknown_record_follows_the_declaration(
    server: &TestServer,
    record: &'static RecordType,
) -> Outcome {
    let document = storable(server, record, Extent::Least).await?;
    let id = document["id"].as_str().unwrap_or_default().to_owned();
    let reply = server.put(&format!("{}/{id}", record.path), &Value::Object(document)).await;
    match (record.put, reply.status) {
        (Put::ReplacesOnly, 404) | (Put::CreatesToo, 200 | 201 | 204) => Ok(()),
        (put, status) => Err(format!("{put:?}, and PUT was answered with {status}: {}", reply.text())),
    }
}

async fn a_stale_version_is_refused(server: &TestServer, record: &'static RecordType) -> Outcome {
    let (id, _) = create(server, record, Extent::Least).await?;
    let path = format!("{}/{id}", record.path);
    let first = read(server, record, &id).await?;
    let reply = server.put(&path, &first).await;
    if !matches!(reply.status, 200 | 204) {
        return Err(format!("the first PUT was answered with {}: {}", reply.status, reply.text()));
    }
    let reply = server.put(&path, &first).await;
    match reply.status {
        409 => Ok(()),
        status => Err(format!("{status} instead of 409: {}", reply.text())),
    }
}

async fn a_deleted_record_is_not_found(server: &TestServer, record: &'static RecordType) -> Outcome {
    let (id, _) = create(server, record, Extent::Least).await?;
    let path = format!("{}/{id}", record.path);
    for expected in [204, 404] {
        let reply = server.delete(&path).await;
        if reply.status != expected {
            return Err(format!(
                "DELETE was answered with {} instead of {expected}: {}",
                reply.status,
                reply.text()
            ));
        }
    }
    let found = server.get(&format!("{}?query=id=={id}", record.path)).await;
    match found.json()["totalRecords"].as_i64() {
        Some(0) => Ok(()),
        _ => Err(format!("it is still found: {}", found.text())),
    }
}

async fn refused(
    server: &TestServer,
    record: &RecordType,
    document: Map<String, Value>,
    why: &str,
) -> Outcome {
    let sent = Value::Object(document);
    let reply = server.post(record.path, &sent).await;
    match reply.status {
        400 | 403 | 422 => Ok(()),
        status => Err(format!("{why}: {sent} was answered with {status}: {}", reply.text())),
    }
}

async fn an_unknown_property_is_refused(server: &TestServer, record: &'static RecordType) -> Outcome {
    let mut document = storable(server, record, Extent::Least).await?;
    document.insert("noSuchProperty".into(), "x".into());
    refused(server, record, document, "noSuchProperty").await
}

async fn a_value_of_the_wrong_type_is_refused(server: &TestServer, record: &'static RecordType) -> Outcome {
    for (name, property) in &shape_of(record).properties {
        if property.not_stored || property.read_only {
            continue;
        }
        let wrong = match property.kind {
            JsonKind::Any => continue,
            JsonKind::Object => json!("text"),
            JsonKind::Array(_) => json!({"no": "array"}),
            _ => json!({"no": "such value"}),
        };
        let mut document = storable(server, record, Extent::Least).await?;
        document.insert(name.clone(), wrong);
        refused(server, record, document, name).await?;
    }
    Ok(())
}

async fn bounds_are_enforced(server: &TestServer, record: &'static RecordType) -> Outcome {
    for bound in super::bounds::of(record) {
        let path = bound.path.join(".");
        for (value, words) in &bound.values {
            let mut document = storable(server, record, Extent::Least).await?;
            place(record, &mut document, &bound.path, value.clone());
            let sent = Value::Object(document);
            let reply = server.post(record.path, &sent).await;
            let reported = reply.status == 422
                && reply.refusals().iter().any(|reported| words.as_deref() == Some(&**reported));
            let fits = match words {
                Some(_) => reported,
                None => matches!(reply.status, 200 | 201 | 204),
            };
            if !fits {
                return Err(format!(
                    "{path} = {value} should be answered with {}: {sent} was answered with {} {}",
                    words.as_deref().unwrap_or("success"),
                    reply.status,
                    reply.text()
                ));
            }
        }
    }
    Ok(())
}

async fn a_missing_required_property_is_refused(server: &TestServer, record: &'static RecordType) -> Outcome {
    for name in required(record) {
        let mut document = storable(server, record, Extent::Least).await?;
        remove(&mut document, &name);
        refused(server, record, document, &format!("without {name}")).await?;
    }
    Ok(())
}

async fn a_duplicate_unique_value_is_refused(server: &TestServer, record: &'static RecordType) -> Outcome {
    for unique in record.unique.iter().filter(|unique| unique.when.is_none()) {
        let mut first = storable(server, record, Extent::Least).await?;
        let mut second = storable(server, record, Extent::Least).await?;
        for field in unique.fields {
            let value = match at(&Value::Object(first.clone()), field) {
                Some(value) => value.clone(),
                None => value_for(server, record, field).await?,
            };
            set(&mut first, field, value.clone());
            set(&mut second, field, value);
        }
        let reply = server.post(record.path, &Value::Object(first)).await;
        if !matches!(reply.status, 200 | 201 | 204) {
            return Err(format!("the first was answered with {}: {}", reply.status, reply.text()));
        }
        refused(server, record, second, &format!("{:?} twice", unique.fields)).await?;
    }
    Ok(())
}

/// A value for a property that the document lacks.
async fn value_for(server: &TestServer, record: &'static RecordType, field: &str) -> Result<Value, String> {
    if let Some(key) = record.belongs_to.iter().find(|key| key.field == field && !key.loose) {
        return Ok(referred(server, key.to, false).await?.into());
    }
    value_at(record, field).ok_or_else(|| {
        format!("the declaration wants {field} to be unique and its shape has no such property")
    })
}

async fn a_reference_to_a_missing_record_is_refused(
    server: &TestServer,
    record: &'static RecordType,
) -> Outcome {
    let shape = shape_of(record);
    for key in record.belongs_to.iter().filter(|key| !key.loose) {
        let first = key.field.split('.').next().unwrap_or_default();
        if shape.properties.get(first).is_none_or(|property| property.read_only || property.not_stored) {
            continue;
        }
        let mut document = storable(server, record, Extent::Least).await?;
        set(&mut document, key.field, Uuid::new_v4().to_string().into());
        refused(server, record, document, key.field).await?;
    }
    Ok(())
}

async fn a_caller_without_permission_is_refused(server: &TestServer, record: &'static RecordType) -> Outcome {
    let nobody = server.staff_with(&[]).await;
    let one = format!("{}/{}", record.path, Uuid::new_v4());
    let router = carrel_server::modules::router();
    for (method, path) in
        [("GET", record.path), ("POST", record.path), ("GET", &one), ("PUT", &one), ("DELETE", &one)]
    {
        let built = router
            .find(method, path)
            .is_some_and(|(place, _)| place.handler.is_some() && !place.route.permissions.is_empty());
        if !built {
            continue;
        }
        let body = matches!(method, "POST" | "PUT").then(|| "{}".into());
        let reply = nobody.call(method, path, body).await;
        if reply.status != 403 {
            return Err(format!("{method} {path} was answered with {} instead of 403", reply.status));
        }
    }
    Ok(())
}
