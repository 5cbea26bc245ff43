//! Routes, requests and answers.

use super::{apply, facts, save};
use crate::deletions::{self, Deletion};
use crate::item_state::{DOCUMENT, FROM};
use crate::records::items::ITEM;
use crate::store::{self, RecordEvent, WriteMode};
use crate::{batch, fields};
use carrel_platform::record_store::{change_listeners, read, write};
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, Refusal, RefusalCode};
use serde_json::Value;
use std::collections::HashMap;
use uuid::Uuid;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("POST", "/item-storage/items", create);
    router.on("PUT", "/item-storage/items/{id}", replace);
    router.on("PATCH", "/item-storage/items", patch_many);
    router.on("DELETE", "/item-storage/items/{id}", delete);
    router.on("DELETE", "/item-storage/items", delete_many);
    router.on("POST", "/item-storage/items/retrieve", |call| batch::retrieve(&ITEM, call));
    router.on("POST", "/item-storage/batch/synchronous", |call| store_many(call, true));
    router.on("POST", "/item-storage/batch/synchronous-unsafe", |call| store_many(call, false));
    super::circulation_items::connect(router);
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let mode = WriteMode::create_in(call.tenant()?);
    let stored = save(&call, vec![call.object()?], mode).await?;
    batch::created(&ITEM, stored)
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let document = batch::body_with_path_id(&call)?;
    match save(&call, vec![document.clone()], WriteMode::Replace).await {
        Err(Failure::NotFound(_)) if call.tenant()?.profile.put_creates => {
            save(&call, vec![document], WriteMode::Create).await?
        }
        other => other?,
    };
    Ok(Answer::no_content())
}

/// Patches several items; each has its id and the properties to change.
async fn patch_many(call: Call) -> Result<Answer, Failure> {
    let (patches, _) = batch::read_batch(&ITEM, &call, true)?;
    if patches.is_empty() {
        return Err(Failure::Invalid("Expected at least one item to update".into()));
    }
    let mut ids = Vec::with_capacity(patches.len());
    for patch in &patches {
        let id = fields::id(patch, "id");
        ids.push(id.ok_or_else(|| Refusal::new("must not be null").with("items.id", "null"))?);
        refuse_if_required_are_removed(patch)?;
    }
    let connection = call.tenant()?.writer().await?;
    let rows = connection
        .query(
            format!("SELECT item.id, {DOCUMENT} AS document FROM {FROM} WHERE item.id = ANY($1)"),
            vec![ids.clone().into()],
        )
        .await?;
    drop(connection);
    let mut stored: HashMap<Uuid, write::Document> =
        rows.iter().map(|row| (row.get("id"), facts::object(row.get("document")))).collect();
    let missing: Vec<String> =
        ids.iter().filter(|id| !stored.contains_key(id)).map(Uuid::to_string).collect();
    match missing.len() {
        0 => {}
        1 => return Err(Failure::NotFound(format!("Item not found in database: {}", missing[0]))),
        _ => return Err(Failure::NotFound(format!("Items not found in database: {}", missing.join(", ")))),
    }
    let changed = ids
        .into_iter()
        .zip(patches)
        .filter_map(|(id, patch)| stored.remove(&id).map(|stored| batch::merge_patch(stored, patch, id)))
        .collect();
    save(&call, changed, WriteMode::Upsert).await?;
    Ok(Answer::no_content())
}

fn refuse_if_required_are_removed(patch: &write::Document) -> Result<(), Failure> {
    let missing: Vec<&str> = ["materialTypeId", "permanentLoanTypeId", "holdingsRecordId", "status"]
        .into_iter()
        .filter(|name| {
            patch.contains_key(*name)
                && patch[*name].as_str().map_or(patch[*name].is_null(), |t| t.trim().is_empty())
        })
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let id = fields::filled(patch, "id").unwrap_or_default();
    let refusal = Refusal::new(format!("Required fields cannot be removed. ItemId: {id}"))
        .code(RefusalCode::FieldRequired);
    Err(missing.into_iter().fold(refusal, |refusal, name| refusal.with("field", name)).into())
}

async fn store_many(call: Call, checks_versions: bool) -> Result<Answer, Failure> {
    let (documents, mode) = batch::read_batch(&ITEM, &call, checks_versions)?;
    save(&call, documents, mode).await?;
    Ok(batch::batch_created())
}

pub(crate) async fn delete(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    match remove(&call, "item.id = $1", vec![id.into()]).await? {
        0 => Err(Failure::NotFound("Not found".into())),
        _ => Ok(Answer::no_content()),
    }
}

pub(crate) async fn delete_many(call: Call) -> Result<Answer, Failure> {
    let query = batch::deletion_query(&call)?;
    let condition = read::condition(query.as_ref(), &ITEM, &call.node.records)?;
    let sql = format!("item.id IN (SELECT item.id FROM {FROM} WHERE {})", condition.conditions);
    remove(&call, &sql, read::binds(&condition.arguments)).await?;
    Ok(Answer::no_content())
}

/// Deletes the items that match a condition; returns their number.
async fn remove(call: &Call, condition: &str, binds: Vec<carrel_platform::Bind>) -> Result<usize, Failure> {
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    facts::read_items(&mut pipeline, condition, binds);
    let results = tx.send(pipeline).await?;
    let mut found = facts::Facts::default();
    found.add(results.rows(0));
    let ids: Vec<Uuid> = found.stored.keys().copied().collect();
    let (one, count) = (ids.first().copied().unwrap_or_default(), ids.len());
    let mut pipeline = Pipeline::new();
    pipeline.add("DELETE FROM item WHERE id = ANY($1)", vec![ids.into()]);
    let instance_of = |id| found.versions.get(id).and_then(|stored_state| stored_state.instance);
    let gone = found
        .stored
        .keys()
        .filter_map(|id| Some(Deletion { id: *id, instance: instance_of(id)?, source: None }));
    deletions::record_all(&mut pipeline, ITEM.table, gone.collect(), call.now);
    let ids = found.stored.keys().copied().collect();
    change_listeners::tell_deleted(&mut pipeline, ITEM.table, tenant, ids);
    let events = found.stored.iter().map(|(id, old): (&Uuid, &Value)| RecordEvent {
        id: *id,
        old: Some(apply::event_document(old, instance_of(id))),
        new: None,
    });
    store::announce(&mut pipeline, "inventory.item", &tenant.id, events, call.now);
    tx.send_and_commit(pipeline)
        .await
        .map_err(|error| write::still_used(&ITEM, one, &call.node.records, error))?;
    Ok(count)
}
