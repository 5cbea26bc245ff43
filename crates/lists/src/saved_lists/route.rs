//! Routes of lists.

use super::decide::{
    self, ListRequest, refuse_if_canned, refuse_if_exporting, refuse_if_private_of_another,
    refuse_if_refreshing, refuse_if_stale,
};
use super::store::{self, List, SORTS, Search};
use super::{refresh, view};
use crate::answers::lists::{Action, INVALID, invalid};
use crate::answers::{Outcome, Stop, answered};
use crate::engine::jobs::{self, Kind, NewJob};
use crate::engine::{self, results};
use crate::entity_types::catalog::{entity_type, missing_permissions};
use crate::entity_types::{EntityType, permitted_types};
use crate::query::rows::Records;
use crate::query::{checked, listed};
use carrel_fql::QueryError;
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, time};
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

/// Lists or records of one answer, at most.
const MAX_PAGE: i64 = 10_000;
/// The user of entity types, as recorded with them.
const USER_OF_TYPES: &str = "mod-lists";

pub fn connect(router: &mut Router) {
    router.on("GET", "/lists", |call| answered(INVALID, search(call)));
    router.on("POST", "/lists", |call| answered(INVALID, create(call)));
    router.on("GET", "/lists/configuration", |call| async move {
        let (_, options) = engine::of_call(&call.node);
        Ok(Answer::json(&json!({"maxListSize": options.max_size})))
    });
    router.on("GET", "/lists/{id}", |call| answered(INVALID, find(call)));
    router.on("PUT", "/lists/{id}", |call| answered(INVALID, update(call)));
    router.on("DELETE", "/lists/{id}", |call| answered(INVALID, delete(call)));
    router.on("GET", "/lists/{id}/contents", |call| answered(INVALID, contents(call)));
    router.on("GET", "/lists/{id}/versions", |call| answered(INVALID, versions(call)));
    router.on("GET", "/lists/{id}/versions/{versionNumber}", |call| answered(INVALID, version(call)));
    router.on("POST", "/lists/{id}/refresh", |call| answered(INVALID, refresh::begin(call)));
    router.on("DELETE", "/lists/{id}/refresh", |call| answered(INVALID, refresh::cancel(call)));
    router.on("GET", "/lists/{id}/refreshes", |call| answered(INVALID, refresh::history(call)));
}

/// A list on which the caller may carry out the action: it exists, its type is permitted, and it is not private to
/// another user.
pub async fn permitted(call: &Call, id: Uuid, action: Action) -> Outcome<List> {
    let list = of_permitted_type(call, id, action).await?;
    refuse_if_private_of_another(&list, call.caller.user_id, action)?;
    Ok(list)
}

/// A list that exists and whose type is permitted.
pub async fn of_permitted_type(call: &Call, id: Uuid, action: Action) -> Outcome<List> {
    // Before a change, the current state is read from the primary.
    let tenant = call.tenant()?;
    let connection = if action == Action::Read { tenant.reader().await? } else { tenant.writer().await? };
    let list = store::find(&connection, id).await?.ok_or_else(|| action.not_found(id))?;
    drop(connection);
    if let Some(entity_type) = entity_type(tenant, list.entity_type_id).await? {
        refuse_if_restricted(call, &entity_type, action)?;
    }
    if let Some(job) = &list.open_refresh {
        engine::nudge(&call.node, tenant, job);
    }
    Ok(list)
}

async fn type_of(call: &Call, id: Uuid, action: Action) -> Outcome<Arc<EntityType>> {
    let found = entity_type(call.tenant()?, id).await?.ok_or_else(|| action.entity_type_not_found(id))?;
    refuse_if_restricted(call, &found, action)?;
    Ok(found)
}

fn refuse_if_restricted(call: &Call, entity_type: &EntityType, action: Action) -> Outcome<()> {
    let missing = missing_permissions(&call.caller, &entity_type.permissions);
    match missing.is_empty() && entity_type.is_accessible_to(call.caller.user_id) {
        true => Ok(()),
        false => Err(action.restricted(entity_type.declaration.id, &missing)),
    }
}

/// The fields of a stored query must be visible to its readers.
async fn refuse_bad_query(
    call: &Call,
    entity_type: &EntityType,
    text: Option<&str>,
    action: Action,
) -> Outcome<()> {
    let Some(text) = text else { return Ok(()) };
    let checked = checked(call.tenant()?, entity_type, text).await?;
    let query = checked.map_err(|errors| action.query_invalid(text, &errors))?;
    let hidden: Vec<QueryError> = query
        .conditions
        .iter()
        .filter(|condition| {
            let name = condition.field.split(['[', '-']).next().unwrap_or_default();
            entity_type.column(name).is_some_and(|column| column.flags.is_hidden)
        })
        .map(|condition| {
            let name = &entity_type.declaration.name;
            let message =
                format!("Field {} is not present in definition of entity type {name}", condition.field);
            QueryError::new(&condition.field, message)
        })
        .collect();
    if hidden.is_empty() { Ok(()) } else { Err(action.query_invalid(text, &hidden)) }
}

fn flag(call: &Call, name: &str) -> Result<Option<bool>, Stop> {
    match call.query.get(name).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => {
            text.parse().map(Some).map_err(|_| invalid(format!("{name}: '{text}' is neither true nor false")))
        }
    }
}

fn ids(call: &Call, name: &str) -> Result<Vec<Uuid>, Stop> {
    let id = |text: &String| text.parse().map_err(|_| invalid(format!("{name}: '{text}' is not a UUID")));
    listed(call, name).iter().map(id).collect()
}

async fn search(call: Call) -> Outcome<Answer> {
    let requested = ids(&call, "entityTypeIds")?;
    let mut entity_types = permitted_types(&call).await?;
    if !requested.is_empty() {
        entity_types.retain(|id| requested.contains(id));
    }
    let sort_by = match call.query.get("sortBy").filter(|text| !text.is_empty()) {
        None => SORTS[0].0,
        Some(text) => {
            SORTS.iter().map(|(name, _)| *name).find(|name| *name == text).ok_or_else(|| {
                invalid(format!("sortBy: '{text}' is none of name, updatedDate, recordsCount"))
            })?
        }
    };
    let is_descending = match call.query.get("sortOrder").map(str::to_lowercase).as_deref() {
        None | Some("" | "asc") => false,
        Some("desc") => true,
        Some(text) => return Err(invalid(format!("sortOrder: '{text}' is neither asc nor desc"))),
    };
    let updated_as_of = match call.query.get("updatedAsOf").filter(|text| !text.is_empty()) {
        None => None,
        // A plus sign that was not escaped arrives as a blank.
        Some(text) => Some(
            time::parse(&text.replace(' ', "+"))
                .ok_or_else(|| invalid(format!("updatedAsOf: '{text}' is not a time")))?,
        ),
    };
    let limit = call.query.number("size", 100, 1, MAX_PAGE)?;
    let search = Search {
        ids: ids(&call, "ids")?,
        entity_types,
        text: call.query.get("search").filter(|text| !text.is_empty()).map(str::to_owned),
        is_active: flag(&call, "active")?,
        is_private: flag(&call, "private")?,
        is_canned: flag(&call, "canned")?,
        with_deleted: flag(&call, "includeDeleted")?.unwrap_or(false),
        updated_as_of,
        sort_by,
        is_descending,
        offset: call.query.number("offset", 0, 0, i64::MAX)?,
        limit,
        user: call.caller.user_id,
    };
    let connection = call.tenant()?.reader().await?;
    let (lists, total) = store::search(&connection, search).await?;
    let content: Vec<Value> = lists.iter().map(view::summary).collect();
    let pages = (total + limit - 1) / limit;
    Ok(Answer::json(&json!({"content": content, "totalRecords": total, "totalPages": pages})))
}

async fn find(call: Call) -> Outcome<Answer> {
    let list = permitted(&call, call.id(0)?, Action::Read).await?;
    Ok(Answer::json(&view::whole(&list)))
}

async fn create(call: Call) -> Outcome<Answer> {
    let ListRequest { entity_type_id, mut content, refresh_every, query_id, .. } =
        decide::read(&call.object()?, true)?;
    content.refresh_every = refresh_every.after(None);
    let entity_type = type_of(&call, entity_type_id.unwrap_or_default(), Action::Create).await?;
    refuse_bad_query(&call, &entity_type, content.fql_query.as_deref(), Action::Create).await?;
    if content.fields.is_empty() {
        let visible = entity_type.columns.iter().filter(|column| column.flags.is_visible);
        content.fields = visible.map(|column| column.name.clone()).collect();
    }
    let (id, of_type, user) = (Uuid::now_v7(), entity_type.declaration.id, call.caller.user_id);
    let tenant = call.tenant()?;
    let mut pipeline = Pipeline::new();
    store::insert(&mut pipeline, id, of_type, &content, user, call.now);
    crate::entity_types::mark_used(&mut pipeline, of_type, USER_OF_TYPES);
    let fills = query_id.filter(|_| content.is_active);
    let is_running = fill(&call, &mut pipeline, fills, id, of_type, &content, 1).await?;
    tenant.begin().await?.send_and_commit(pipeline).await?;
    if is_running {
        engine::submit(&call.node, &tenant.id);
    }
    shown(&call, id).await.map(|shown| Answer::created(&shown))
}

/// Adds the statements that fill a list from a query: its result, or a refresh if it is still running; true for the
/// latter.
async fn fill(
    call: &Call,
    pipeline: &mut Pipeline,
    query: Option<Uuid>,
    list: Uuid,
    entity_type: Uuid,
    content: &store::Content,
    version: i32,
) -> Outcome<bool> {
    let Some(query) = query else { return Ok(false) };
    let connection = call.tenant()?.writer().await?;
    let job = jobs::find(&connection, query, Kind::Query).await?;
    match (job, &content.fql_query) {
        (Some(job), Some(text)) if job.is_open() && job.entity_type_id == entity_type => {
            let (_, options) = engine::of_call(&call.node);
            let refresh = NewJob {
                id: Uuid::now_v7(),
                kind: Kind::Refresh,
                list_id: Some(list),
                user_id: call.caller.user_id,
                entity_type_id: entity_type,
                fql_query: text.clone(),
                fields: content.fields.clone(),
                max_size: options.max_size,
                list_version: Some(version),
                result_id: None,
                visible_for: options.visible_for,
            };
            refresh.add_to(pipeline);
            Ok(true)
        }
        (Some(job), _) if job.state == "done" => {
            store::adopt(pipeline, list, query, call.caller.user_id, version);
            Ok(false)
        }
        _ => Ok(false),
    }
}

async fn shown(call: &Call, id: Uuid) -> Outcome<Value> {
    let connection = call.tenant()?.writer().await?;
    let list = store::find(&connection, id).await?;
    let list = list.ok_or_else(|| Failure::internal("a stored list is not found"))?;
    Ok(view::whole(&list))
}

async fn update(call: Call) -> Outcome<Answer> {
    let id = call.id(0)?;
    let ListRequest { mut content, refresh_every, version, query_id, .. } =
        decide::read(&call.object()?, false)?;
    let list = permitted(&call, id, Action::Update).await?;
    let entity_type = type_of(&call, list.entity_type_id, Action::Update).await?;
    refuse_if_canned(&list, Action::Update)?;
    refuse_if_refreshing(&list, Action::Update)?;
    let asked_version = version.unwrap_or_default();
    refuse_if_stale(&list, asked_version)?;
    refuse_bad_query(&call, &entity_type, content.fql_query.as_deref(), Action::Update).await?;
    refuse_if_exporting(&list, Action::Update)?;
    if content.fields.is_empty() {
        content.fields = list.fields.clone();
    }
    content.refresh_every = refresh_every.after(list.refresh_every);
    let user = call.caller.user_id;
    let tenant = call.tenant()?;
    let mut then = Pipeline::new();
    store::keep_version(&mut then, id, list.version + 1, &content, user, call.now);
    let fills = query_id.filter(|_| content.is_active);
    let is_running =
        fill(&call, &mut then, fills, id, list.entity_type_id, &content, list.version + 1).await?;
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    let updated = store::update(&mut pipeline, id, list.version, &content, user, call.now);
    if tx.send(pipeline).await?.first(updated).is_none() {
        return Err(Action::Update.stale(id, &list.name, list.version + 1, asked_version));
    }
    tx.send_and_commit(then).await?;
    if is_running {
        engine::submit(&call.node, &tenant.id);
    }
    shown(&call, id).await.map(|shown| Answer::json(&shown))
}

async fn delete(call: Call) -> Outcome<Answer> {
    let list = permitted(&call, call.id(0)?, Action::Delete).await?;
    refuse_if_canned(&list, Action::Delete)?;
    refuse_if_refreshing(&list, Action::Delete)?;
    refuse_if_exporting(&list, Action::Delete)?;
    let mut pipeline = Pipeline::new();
    let deleted = store::delete(&mut pipeline, list.id);
    pipeline.add(
        "DELETE FROM entity_type_used_by WHERE entity_type_id = $1 AND name = $2
           AND NOT EXISTS (SELECT 1 FROM list_details l WHERE l.entity_type_id = $1 AND NOT l.is_deleted)",
        vec![list.entity_type_id.into(), USER_OF_TYPES.into()],
    );
    let done = call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
    match done.first(deleted) {
        Some(_) => Ok(Answer::no_content()),
        None => Err(Action::Delete.not_found(list.id)),
    }
}

async fn contents(call: Call) -> Outcome<Answer> {
    let list = permitted(&call, call.id(0)?, Action::Read).await?;
    let offset = call.query.number("offset", 0, 0, i64::MAX)?;
    let size = call.query.number("size", 100, 1, MAX_PAGE)?;
    let entity_type = type_of(&call, list.entity_type_id, Action::Read).await?;
    let width = entity_type.id_columns().count();
    // The result of the refresh and not of the list's row, which another statement has read.
    let (total, content) = match list.success.as_ref().and_then(|success| Some((success, success.result_id?)))
    {
        Some((success, result)) => {
            if list.width.is_some_and(|stored| stored as usize != width) {
                return Err(Action::Read.contents_failed(list.id, &list.name));
            }
            let connection = call.tenant()?.reader().await?;
            let whole = (width, success.records);
            let ids = results::page_of(&connection, result, whole, offset, size).await?;
            let records = Records::new(entity_type, &listed(&call, "fields"));
            (success.records, records.read_json(&connection, &ids).await?)
        }
        None => (0, "[]".to_owned()),
    };
    Ok(Answer::json_bytes(format!("{{\"content\":{content},\"totalRecords\":{total}}}").into_bytes()))
}

async fn versions(call: Call) -> Outcome<Answer> {
    let list = permitted(&call, call.id(0)?, Action::Read).await?;
    let connection = call.tenant()?.reader().await?;
    let versions = store::versions(&connection, list.id, None).await?;
    Ok(Answer::json(&versions.iter().map(view::version).collect::<Vec<Value>>()))
}

async fn version(call: Call) -> Outcome<Answer> {
    let text = call.parameter(1);
    let number = text.parse::<i64>().ok().filter(|number| *number >= 1);
    let number =
        number.ok_or_else(|| invalid(format!("versionNumber: '{text}' is not a number from 1 on")))?;
    let list = permitted(&call, call.id(0)?, Action::Read).await?;
    let missing = || Action::Read.version_not_found(list.id, number);
    let wanted = i32::try_from(number).map_err(|_| missing())?;
    let connection = call.tenant()?.reader().await?;
    let versions = store::versions(&connection, list.id, Some(wanted)).await?;
    Ok(Answer::json(&view::version(versions.first().ok_or_else(missing)?)))
}
