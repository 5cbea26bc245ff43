//! Routes, requests and answers.

use super::related::{self, Related, refuse_if_unconnected_title_has_no_name};
use super::shape::{RULED_BY_MARC, refuse_if_deleted_is_shown, refuse_replacement, stored};
use super::{facts, many};
use crate::fields::{filled, id};
use crate::records::instances::{INSTANCE, INSTANCE_PRECEDING_SUCCEEDING_TITLE, INSTANCE_RELATIONSHIP};
use crate::store::WriteMode;
use crate::{batch, instances};
use carrel_platform::http::pretty;
use carrel_platform::record_store::read::PageRequest;
use carrel_platform::record_store::stream;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::{Answer, Bind, Call, Pipeline, Router};
use carrel_records::{Failure, RecordType};
use http::StatusCode;
use serde_json::{Value, json};
use std::convert::identity;
use tokio_postgres::Row;
use uuid::Uuid;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("GET", "/inventory/instances", list);
    router.on("GET", "/inventory/instances/{id}", find);
    router.on("POST", "/inventory/instances", create);
    router.on("POST", "/inventory/instances/batch", many::create);
    router.on("PUT", "/inventory/instances/{id}", replace);
    router.on("PATCH", "/inventory/instances/{id}", patch);
    router.on("DELETE", "/inventory/instances/{id}/mark-deleted", mark_deleted);
    router.on("GET", "/inventory/config/instances/blocked-fields", |_: Call| async {
        Ok(Answer::json(&json!({"blockedFields": RULED_BY_MARC})))
    });
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let requested = PageRequest::read(&call.query)?;
    let show = |row: &Row| Ok(Value::Object(facts::view(row)));
    stream::shown(&call, &INSTANCE, &requested, facts::select, show).await
}

async fn find(call: Call) -> Result<Answer, Failure> {
    let connection = call.tenant()?.reader().await?;
    match facts::one(&connection, call.id(0)?).await? {
        Some(view) => Ok(Answer::json_bytes(pretty(&view))),
        None => Err(Failure::NotFound("Not Found".into())),
    }
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let mut view = call.object()?;
    if filled(&view, "title").is_none() {
        return Err(Failure::Invalid("Title must be provided for an instance".into()));
    }
    refuse_if_deleted_is_shown(&view)?;
    refuse_if_unconnected_title_has_no_name(&view)?;
    let id = id(&view, "id").unwrap_or_else(|| Uuid::new_v7(write::uuid_time(call.now)));
    view.insert("id".into(), id.to_string().into());
    store(&call, id, view, WriteMode::Create).await?;
    let connection = call.tenant()?.writer().await?;
    let view =
        facts::one(&connection, id).await?.ok_or_else(|| Failure::internal("the new instance is there"))?;
    Ok(Answer::json_bytes(pretty(&view))
        .status(StatusCode::CREATED)
        .location(format!("/inventory/instances/{id}")))
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let view = batch::body_with_path_id(&call)?;
    let old = present(&call).await?;
    change(&call, old, view).await
}

async fn patch(call: Call) -> Result<Answer, Failure> {
    let old = present(&call).await?;
    let changed = batch::merge_patch(old.clone(), call.object()?, call.id(0)?);
    change(&call, old, changed).await
}

async fn change(call: &Call, old: Document, new: Document) -> Result<Answer, Failure> {
    refuse_if_deleted_is_shown(&new)?;
    refuse_if_unconnected_title_has_no_name(&new)?;
    refuse_replacement(&old, &new)?;
    store(call, call.id(0)?, new, WriteMode::Replace).await?;
    Ok(Answer::no_content())
}

/// Marks an instance as deleted and suppresses it; the record stays.
async fn mark_deleted(call: Call) -> Result<Answer, Failure> {
    let mut view = present(&call).await?;
    for name in ["discoverySuppress", "staffSuppress", "deleted"] {
        view.insert(name.into(), true.into());
    }
    store(&call, call.id(0)?, view, WriteMode::Replace).await?;
    Ok(Answer::no_content())
}

async fn present(call: &Call) -> Result<Document, Failure> {
    let connection = call.tenant()?.writer().await?;
    facts::one(&connection, call.id(0)?).await?.ok_or_else(|| Failure::NotFound("Instance not found".into()))
}

pub(super) async fn store(call: &Call, id: Uuid, mut view: Document, mode: WriteMode) -> Result<(), Failure> {
    let related = related::take_from(&mut view, id, call.now);
    let statements = statements(call, id, related)?;
    instances::save(call, vec![stored(view)], mode, identity, |pipeline: &mut Pipeline| {
        for (sql, binds) in statements {
            pipeline.add(sql, binds);
        }
    })
    .await?;
    Ok(())
}

/// The statements that replace all links of an instance.
fn statements(call: &Call, instance: Uuid, related: Related) -> Result<Vec<(String, Vec<Bind>)>, Failure> {
    let mut titles = related.preceding;
    titles.extend(related.succeeding);
    let mut statements = Vec::new();
    for (record, links, ours) in [
        (&INSTANCE_RELATIONSHIP, related.relationships, "(sub_instance_id = $1 OR super_instance_id = $1)"),
        (
            &INSTANCE_PRECEDING_SUCCEEDING_TITLE,
            titles,
            "(preceding_instance_id = $1 OR succeeding_instance_id = $1)",
        ),
    ] {
        let (ids, documents) = ready(call, record, links)?;
        let table = record.table;
        statements.push((
            format!("DELETE FROM {table} WHERE {ours} AND id <> ALL($2)"),
            vec![instance.into(), ids.clone().into()],
        ));
        if !ids.is_empty() {
            statements.push((
                format!(
                    "INSERT INTO {table} (id, doc)
                     SELECT one.id, one.doc::jsonb FROM unnest($1::uuid[], $2::text[]) AS one (id, doc)
                     ON CONFLICT (id) DO UPDATE SET doc = excluded.doc"
                ),
                vec![ids.into(), Bind::Jsons(documents)],
            ));
        }
    }
    Ok(statements)
}

fn ready(
    call: &Call,
    record: &'static RecordType,
    links: Vec<Document>,
) -> Result<(Vec<Uuid>, Vec<String>), Failure> {
    let (mut ids, mut documents) = (Vec::new(), Vec::new());
    for mut link in links {
        write::check(record, &mut link, &call.caller)?;
        let ready = write::complete_new(record, link, &call.caller, call.now)?;
        ids.push(ready.id);
        documents.push(Value::Object(ready.document).to_string());
    }
    Ok((ids, documents))
}
