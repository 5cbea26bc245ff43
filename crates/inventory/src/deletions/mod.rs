//! Deletions of instances, holdings records and items, recorded for harvesters.
//!
//! Routes: DELETE of `/instance-storage/instances…`, `/inventory/instances…` and `/holdings-storage/holdings…`; items
//! have their own routes and record their deletions here. Changes `deletion` in the transaction that deletes; announces
//! `inventory.instance` and `inventory.holdings-record`.

use crate::batch;
use crate::fields::{filled, id};
use crate::items::facts::object;
use crate::records::holdings::HOLDINGS_RECORD;
use crate::records::instances::INSTANCE;
use crate::store::{self, RecordEvent};
use carrel_platform::database::Json;
use carrel_platform::record_store::write::Document;
use carrel_platform::record_store::{change_listeners, read, write};
use carrel_platform::{Answer, Bind, Call, Pipeline, Router};
use carrel_records::{Failure, RecordType};
use jiff::Timestamp;
use uuid::Uuid;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    for (path, record) in [
        ("/instance-storage/instances", &INSTANCE),
        ("/inventory/instances", &INSTANCE),
        ("/holdings-storage/holdings", &HOLDINGS_RECORD),
    ] {
        router.on("DELETE", path, move |call| delete_many(record, call));
        let Some(one) = router.item_path("DELETE", path) else { continue };
        router.on("DELETE", one, move |call| delete(record, call));
    }
}

/// A record that is deleted.
pub struct Deletion {
    pub id: Uuid,
    pub instance: Uuid,
    /// Of an instance.
    pub source: Option<String>,
}

/// Adds the statement that records deletions from a table.
pub fn record_all(pipeline: &mut Pipeline, table: &'static str, gone: Vec<Deletion>, now: Timestamp) {
    if gone.is_empty() {
        return;
    }
    let ids: Vec<Uuid> = gone.iter().map(|one| one.id).collect();
    let instances: Vec<Uuid> = gone.iter().map(|one| one.instance).collect();
    let sources: Vec<String> = gone.into_iter().map(|one| one.source.unwrap_or_default()).collect();
    pipeline.add(
        "INSERT INTO deletion (kind, id, instance_id, source, deleted)
         SELECT $1, one.id, one.instance_id, nullif(one.source, ''), $5
         FROM unnest($2::uuid[], $3::uuid[], $4::text[]) AS one (id, instance_id, source)
         ON CONFLICT (kind, id) DO UPDATE SET
             instance_id = excluded.instance_id, source = excluded.source, deleted = excluded.deleted",
        vec![table.into(), ids.into(), instances.into(), sources.into(), now.into()],
    );
}

async fn delete(record: &'static RecordType, call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let condition = format!("{}.id = $1", record.table);
    match remove(&call, record, &condition, vec![id.into()], id).await? {
        0 => Err(Failure::NotFound("Not found".into())),
        _ => Ok(Answer::no_content()),
    }
}

async fn delete_many(record: &'static RecordType, call: Call) -> Result<Answer, Failure> {
    let query = batch::deletion_query(&call)?;
    let condition = read::condition(query.as_ref(), record, &call.node.records)?;
    remove(&call, record, &condition.conditions, read::binds(&condition.arguments), Uuid::nil()).await?;
    Ok(Answer::no_content())
}

/// Deletes the records that match a condition; returns their number.
async fn remove(
    call: &Call,
    record: &'static RecordType,
    condition: &str,
    binds: Vec<Bind>,
    which: Uuid,
) -> Result<usize, Failure> {
    let tenant = call.tenant()?;
    let all = &call.node.records;
    let mut tx = tenant.begin().await?;
    let table = record.table;
    let sql = format!(
        "DELETE FROM {table} gone WHERE gone.id IN (SELECT {table}.id FROM {} WHERE {condition})
         RETURNING gone.id, gone.doc",
        read::from_sql(record),
    );
    let rows = tx.query(sql, binds).await.map_err(|error| write::still_used(record, which, all, error))?;
    let (mut gone, mut events) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    for row in &rows {
        let (record_id, stored): (Uuid, Json) = (row.get("id"), row.get("doc"));
        events.push(RecordEvent { id: record_id, old: Some(stored.0.clone()), new: None });
        gone.extend(deletion_of(record, record_id, &object(stored)));
    }
    let mut pipeline = Pipeline::new();
    record_all(&mut pipeline, table, gone, call.now);
    let ids = rows.iter().map(|row| row.get("id")).collect();
    change_listeners::tell_deleted(&mut pipeline, table, tenant, ids);
    if let Some(topic) = record.events {
        store::announce(&mut pipeline, topic, &tenant.id, events, call.now);
    }
    tx.send_and_commit(pipeline).await.map_err(|error| write::still_used(record, which, all, error))?;
    Ok(rows.len())
}

/// The deletion to record; none for a holdings record without instance.
fn deletion_of(record: &RecordType, record_id: Uuid, stored: &Document) -> Option<Deletion> {
    let is_title = record.table == INSTANCE.table;
    Some(Deletion {
        id: record_id,
        instance: if is_title { record_id } else { id(stored, "instanceId")? },
        source: if is_title { filled(stored, "source").map(str::to_owned) } else { None },
    })
}
