//! Routes of the query module: `/query…`, `/fqm…`.

use super::migrate::{self, VERSION};
use super::rows::{self, Records};
use super::{indexed, select};
use crate::answers::{Outcome, answered, fqm};
use crate::engine::jobs::{self, Job, Kind, NewJob};
use crate::engine::{self, maintenance, results};
use crate::entity_types::catalog::{entity_type, missing_permissions};
use crate::entity_types::{EntityType, permitted_types};
use carrel_fql::{Fields, Operand, Operator, Query, QueryError, Scalar};
use carrel_platform::{Answer, Bind, Call, Connection, Pipeline, Router, Tenant};
use carrel_records::{Failure, time};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

pub const UNKNOWN: &str = "unknown.error";

/// Records of one answer, at most.
pub const MAX_PAGE: i64 = 10_000;

pub fn connect(router: &mut Router) {
    router.on("GET", "/query", |call| answered(UNKNOWN, run_now(call)));
    router.on("POST", "/query", |call| answered(UNKNOWN, submit(call)));
    router.on("GET", "/query/{query-id}", |call| answered(UNKNOWN, find(call)));
    router.on("DELETE", "/query/{query-id}", |call| answered(UNKNOWN, delete(call)));
    router.on("GET", "/query/{query-id}/sortedIds", |call| answered(UNKNOWN, sorted_ids(call)));
    router.on("POST", "/query/contents", |call| answered(UNKNOWN, contents(call, false)));
    router.on("POST", "/query/contents/privileged", |call| answered(UNKNOWN, contents(call, true)));
    router.on("POST", "/query/purge", |call| answered(UNKNOWN, purge(call)));
    router.on("GET", "/fqm/version", |_| async { Ok(Answer::text(StatusCode::OK, VERSION)) });
    router.on("POST", "/fqm/migrate", |call| answered(UNKNOWN, migrate_query(call)));
    router.on("GET", "/fqm/status", |call| answered(UNKNOWN, status(call)));
}

/// The entity type with this id, if the caller may query it.
pub async fn permitted(call: &Call, id: Uuid) -> Outcome<Arc<EntityType>> {
    let found = entity_type(call.tenant()?, id).await?.ok_or_else(|| fqm::entity_type_not_found(id))?;
    if !found.is_accessible_to(call.caller.user_id) {
        return Err(fqm::access_denied(id));
    }
    match missing_permissions(&call.caller, &found.permissions) {
        missing if missing.is_empty() => Ok(found),
        missing => Err(fqm::permissions_missing(&missing)),
    }
}

/// Parses a query and validates its fields and regular expressions.
pub async fn checked(
    tenant: &Tenant,
    entity_type: &EntityType,
    text: &str,
) -> Result<Result<Query, Vec<QueryError>>, Failure> {
    let query = match Query::parse(text) {
        Ok(query) => query,
        Err(error) => return Ok(Err(vec![error])),
    };
    if let Err(errors) = select::identifiers(entity_type, &query, None) {
        return Ok(Err(errors));
    }
    let patterns = query.conditions.iter().filter(|condition| condition.operator == Operator::Regex);
    let mut errors = Vec::new();
    for condition in patterns {
        let Operand::One(Scalar::Text(pattern)) = &condition.operand else { continue };
        let connection = tenant.reader().await?;
        let tried = connection.query("SELECT '' ~* $1::text", vec![pattern.as_str().into()]).await;
        match tried {
            Err(error) if error.state.as_deref() == Some("2201B") => {
                errors.push(QueryError::new(&condition.field, "The pattern is no regular expression"));
            }
            other => {
                other?;
            }
        }
    }
    Ok(if errors.is_empty() { Ok(query) } else { Err(errors) })
}

/// Values of a parameter that is repeated, or contains commas.
pub fn listed(call: &Call, name: &str) -> Vec<String> {
    let all = call.query.all(name).flat_map(|value| value.split(','));
    all.map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned).collect()
}

fn id_parameter(call: &Call, name: &str) -> Result<Uuid, Failure> {
    let text = call.query.get(name).unwrap_or_default();
    text.parse().map_err(|_| Failure::Invalid(format!("{name}: '{text}' is not a UUID")))
}

fn page(call: &Call, default: i64) -> Result<(i64, i64), Failure> {
    Ok((call.query.number("offset", 0, 0, i64::MAX)?, call.query.number("limit", default, 0, MAX_PAGE)?))
}

async fn run_now(call: Call) -> Outcome<Answer> {
    let entity_type = permitted(&call, id_parameter(&call, "entityTypeId")?).await?;
    let text = call.query.get("query").unwrap_or_default();
    let checked = checked(call.tenant()?, &entity_type, text).await?;
    let query = checked.map_err(|errors| fqm::query_invalid(text, &errors))?;
    let limit = call.query.number("limit", 100, 0, MAX_PAGE)?;
    let statement = select::identifiers(&entity_type, &query, Some(limit))
        .map_err(|errors| fqm::query_invalid(text, &errors))?;
    indexed::report(&call.node, &entity_type, &query);
    let connection = call.tenant()?.reader().await?;
    let found = rows::run(&connection, &statement.sql, &statement.binds).await?;
    let width = entity_type.id_columns().count();
    let ids: Vec<Uuid> = found
        .iter()
        .flat_map(|row| (0..width).map(|part| row.get::<_, Option<Uuid>>(part).unwrap_or_default()))
        .collect();
    let mut fields = listed(&call, "fields");
    if fields.is_empty() {
        fields = entity_type.id_columns().map(|column| column.name.clone()).collect();
    }
    let content = Records::new(entity_type, &fields).read_json(&connection, &ids).await?;
    let body = format!("{{\"content\":{content},\"totalRecords\":{}}}", found.len());
    Ok(Answer::json_bytes(body.into_bytes()))
}

/// The body of `POST /query`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SubmitQuery {
    entity_type_id: Uuid,
    fql_query: String,
    #[serde(default)]
    fields: Option<Vec<String>>,
    #[serde(default)]
    max_size: Option<i64>,
}

async fn submit(call: Call) -> Outcome<Answer> {
    let request: SubmitQuery = call.read_json()?;
    let entity_type = permitted(&call, request.entity_type_id).await?;
    let tenant = call.tenant()?;
    let named = request.fields.clone().unwrap_or_default();
    let migrated = migrated(tenant, request.entity_type_id, &request.fql_query, named).await?;
    if migrated.is_breaking {
        return Err(fqm::migration_changed_query(&migrated.to_json()));
    }
    checked(tenant, &entity_type, &request.fql_query)
        .await?
        .map_err(|errors| fqm::query_invalid(&request.fql_query, &errors))?;
    let mut fields = request.fields.unwrap_or_default();
    if fields.is_empty() {
        fields = entity_type.columns.iter().map(|column| column.name.clone()).collect();
    }
    for column in entity_type.id_columns() {
        if !fields.contains(&column.name) {
            fields.push(column.name.clone());
        }
    }
    let (_, options) = engine::of_call(&call.node);
    let job = NewJob {
        id: Uuid::now_v7(),
        kind: Kind::Query,
        list_id: None,
        user_id: call.caller.user_id,
        entity_type_id: request.entity_type_id,
        fql_query: request.fql_query,
        fields,
        max_size: request.max_size.unwrap_or(i64::MAX).clamp(0, options.max_size),
        list_version: None,
        result_id: None,
        visible_for: Duration::ZERO,
    };
    let id = job.id;
    let mut pipeline = Pipeline::new();
    job.add_to(&mut pipeline);
    tenant.writer().await?.send(pipeline).await?;
    engine::submit(&call.node, &tenant.id);
    Ok(Answer::created(&json!({"queryId": id})))
}

/// A query of the tenant, if the caller may query its type. FOLIO checks the type first, so a missing query is reported
/// as a missing entity type.
async fn query_of(call: &Call, id: Uuid) -> Outcome<(Job, Arc<EntityType>)> {
    let connection = call.tenant()?.writer().await?;
    let job = jobs::find(&connection, id, Kind::Query).await?;
    drop(connection);
    let job = job.ok_or_else(|| fqm::entity_type_not_found_for_query(id))?;
    let entity_type = permitted(call, job.entity_type_id).await?;
    engine::nudge(&call.node, call.tenant()?, &job);
    Ok((job, entity_type))
}

async fn find(call: Call) -> Outcome<Answer> {
    let (job, entity_type) = query_of(&call, call.id(0)?).await?;
    let (offset, limit) = page(&call, 100)?;
    let content = match (call.query.get("includeResults") == Some("true"), job.result_id) {
        (true, Some(result)) if job.state != "failed" => {
            let connection = call.tenant()?.reader().await?;
            let width = entity_type.id_columns().count();
            let ids = found_by(&connection, &job, result, width, (offset, limit)).await?;
            Records::new(entity_type, &job.fields).read_json(&connection, &ids).await?
        }
        _ => "[]".to_owned(),
    };
    let mut shown = json!({
        "queryId": job.id,
        "entityTypeId": job.entity_type_id,
        "fqlQuery": job.fql_query,
        "fields": job.fields,
        "status": job.status(),
        "startDate": time::format(job.created),
    });
    if job.state != "failed" {
        shown["totalRecords"] = job.records.into();
    }
    if let Some(ended) = job.ended {
        shown["endDate"] = time::format(ended).into();
    }
    if let Some(message) = &job.message {
        shown["failureReason"] = message.as_str().into();
    }
    let mut text = shown.to_string();
    text.pop();
    text.push_str(&format!(",\"content\":{content}}}"));
    Ok(Answer::json_bytes(text.into_bytes()))
}

/// The identifiers of a page of what a query has found, so far or altogether.
async fn found_by(
    connection: &Connection,
    job: &Job,
    result: Uuid,
    width: usize,
    (offset, limit): (i64, i64),
) -> Result<Vec<Uuid>, Failure> {
    match job.state.as_str() {
        "done" => results::page_of(connection, result, (width, job.records), offset, limit).await,
        _ => results::page(connection, result, width, offset, limit).await,
    }
}

async fn delete(call: Call) -> Outcome<Answer> {
    let (job, _) = query_of(&call, call.id(0)?).await?;
    let connection = call.tenant()?.writer().await?;
    if jobs::cancel_query(&connection, job.id).await? {
        engine::of(&call.node).cancelled(job.id);
    } else {
        connection
            .query("DELETE FROM list_job WHERE id = $1 AND kind = 'query'", vec![job.id.into()])
            .await?;
    }
    Ok(Answer::no_content())
}

async fn sorted_ids(call: Call) -> Outcome<Answer> {
    let (job, entity_type) = query_of(&call, call.id(0)?).await?;
    let (offset, limit) = page(&call, MAX_PAGE)?;
    let width = entity_type.id_columns().count();
    let connection = call.tenant()?.reader().await?;
    let ids = match job.result_id {
        Some(result) => found_by(&connection, &job, result, width, (offset, limit)).await?,
        None => Vec::new(),
    };
    let ids: Vec<&[Uuid]> = ids.chunks(width).collect();
    Ok(Answer::json(&ids))
}

/// The body of `POST /query/contents`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Contents {
    entity_type_id: Uuid,
    fields: Vec<String>,
    ids: Vec<Vec<String>>,
    #[serde(default)]
    localize: Option<bool>,
    #[serde(default)]
    user_id: Option<Uuid>,
}

async fn contents(call: Call, is_privileged: bool) -> Outcome<Answer> {
    let request: Contents = call.read_json()?;
    if is_privileged && request.user_id.is_none() {
        return Err(Failure::Invalid("userId: must not be null".into()).into());
    }
    let entity_type = permitted(&call, request.entity_type_id).await?;
    let width = entity_type.id_columns().count();
    if request.ids.len() > MAX_PAGE as usize {
        return Err(Failure::Invalid(format!("ids: at most {MAX_PAGE} records")).into());
    }
    let mut ids = Vec::with_capacity(request.ids.len() * width);
    for id in &request.ids {
        if id.len() != width {
            return Err(Failure::Invalid(format!("ids: {width} values identify a record")).into());
        }
        for part in id {
            let part =
                part.parse::<Uuid>().map_err(|_| Failure::Invalid(format!("ids: '{part}' is not a UUID")))?;
            ids.push(part);
        }
    }
    let fields = if request.fields.is_empty() {
        entity_type.id_columns().map(|column| column.name.clone()).collect()
    } else {
        request.fields
    };
    let mut records = Records::new(entity_type, &fields);
    if request.localize == Some(true) {
        records = records.with_days_of(rows::zone_of(call.tenant()?).await?);
    }
    let connection = call.tenant()?.reader().await?;
    Ok(Answer::json_bytes(records.read_json(&connection, &ids).await?.into_bytes()))
}

async fn purge(call: Call) -> Outcome<Answer> {
    let connection = call.tenant()?.background().await?;
    let ids = maintenance::purge_queries(&connection).await?;
    Ok(Answer::json(&json!({"deletedQueryIds": ids})))
}

/// The body of `POST /fqm/migrate`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToMigrate {
    entity_type_id: Uuid,
    #[serde(default)]
    fql_query: Option<String>,
    #[serde(default)]
    fields: Value,
}

async fn migrate_query(call: Call) -> Outcome<Answer> {
    let request: ToMigrate = call.read_json()?;
    let text = request.fql_query.unwrap_or_else(|| "{}".into());
    let fields = match request.fields {
        Value::Null => Vec::new(),
        // FOLIO quirk: a text is an array of one.
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => return Err(Failure::Invalid("fields: must be an array of names".into()).into()),
    };
    let migrated = migrated(call.tenant()?, request.entity_type_id, &text, fields).await?;
    Ok(Answer::json(&migrated.to_json()))
}

/// The query in the present version, with what the tenant's records and settings say to it.
async fn migrated(tenant: &Tenant, id: Uuid, text: &str, fields: Vec<String>) -> Outcome<migrate::Migrated> {
    let query = match serde_json::from_str(text) {
        Ok(Value::Object(query)) => query,
        Ok(_) => return Err(fqm::query_invalid(text, &[QueryError::new(text, "a query is a JSON object")])),
        Err(error) => return Err(fqm::query_invalid(text, &[QueryError::new(text, error.to_string())])),
    };
    let zone = rows::zone_of(tenant).await?;
    let names = names_of_ids(tenant, &query).await?;
    let entity_type = entity_type(tenant, id).await?;
    let is_uuid = |of: Uuid, field: &str| {
        let of_type = entity_type.as_ref().filter(|one| one.declaration.id == of);
        of_type.and_then(|one| one.find(field).ok()).is_some_and(|field| field.kind == carrel_fql::Kind::Uuid)
    };
    let name = |table: &str, property: &str, id: Uuid| {
        names.get(&(table.to_owned(), property.to_owned(), id)).cloned()
    };
    let input = migrate::Migratable { entity_type_id: id, text: text.to_owned(), query, fields };
    Ok(migrate::migrate(input, &migrate::Surroundings { zone: &zone, name: &name, is_uuid: &is_uuid }))
}

type Names = HashMap<(String, String, Uuid), String>;

/// What the records are called whose ids stand in a query of an older version.
async fn names_of_ids(tenant: &Tenant, query: &serde_json::Map<String, Value>) -> Result<Names, Failure> {
    let mut names = Names::new();
    let mut ids = Vec::new();
    let mut waiting: Vec<&Value> = query.values().collect();
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => ids.extend(text.parse::<Uuid>().ok()),
            Value::Array(values) => waiting.extend(values),
            Value::Object(object) => waiting.extend(object.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    if ids.is_empty() || migrate::version_of(query) > migrate::LAST_WITH_IDS {
        return Ok(names);
    }
    let tables = migrate::tables_of_names();
    let mut pipeline = Pipeline::new();
    for (table, property) in &tables {
        let property = carrel_fql::field::literal(property);
        let sql = format!("SELECT id, doc->>{property} AS name FROM {table} WHERE id = ANY($1)");
        pipeline.add(sql, vec![Bind::Uuids(ids.clone())]);
    }
    let results = tenant.reader().await?.send(pipeline).await?;
    for (step, (table, property)) in tables.iter().enumerate() {
        for row in results.rows(step) {
            if let Some(name) = row.get::<_, Option<String>>("name") {
                names.insert(((*table).to_owned(), (*property).to_owned(), row.get("id")), name);
            }
        }
    }
    Ok(names)
}

async fn status(call: Call) -> Outcome<Answer> {
    let connection = call.tenant()?.reader().await?;
    let rows = connection
        .query(
            format!(
                "SELECT {} FROM list_job j WHERE j.kind = 'query' ORDER BY j.created DESC LIMIT 1000",
                jobs::COLUMNS
            ),
            vec![],
        )
        .await?;
    drop(connection);
    let permitted = permitted_types(&call).await?;
    let shown: Vec<Value> = rows
        .iter()
        .map(Job::of)
        .map(|job| {
            let entity_type = match permitted.contains(&job.entity_type_id) {
                true => job.entity_type_id.to_string(),
                false => "<inaccessible>".to_owned(),
            };
            json!({
                "queryId": job.id,
                "entityTypeId": entity_type,
                "status": job.status(),
                "startedAt": time::format(job.created),
                "endedAt": job.ended.map(time::format),
                "totalRecords": job.records,
            })
        })
        .collect();
    Ok(Answer::json(&shown))
}
