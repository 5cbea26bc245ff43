//! Instances: works in one of their editions, what a title is to a reader.
//!
//! Routes: `/instance-storage/instances` (POST, PUT, PATCH; the rest is plain),
//! `/instance-storage/instances/retrieve`, `/instance-storage/batch/synchronous` and `synchronous-unsafe`. Changes
//! `instance`; announces `inventory.instance`.

mod route;

pub use route::routes;

use crate::hrid;
use crate::records::instances::INSTANCE;
use crate::saving::{self, Happening, How};
use crate::source_record;
use carrel_platform::database::{Json, Tx};
use carrel_platform::record_store::write::Document;
use carrel_platform::{Call, Flight};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::HashMap;
use uuid::Uuid;

/// Stores instances, all or none; gives them as they are shown.
///
/// `tells` words a violated constraint for the route; `also` adds what belongs to the same transaction.
pub async fn save(
    call: &Call,
    documents: Vec<Document>,
    how: How,
    tells: fn(Failure) -> Failure,
    also: impl FnOnce(&mut Flight),
) -> Result<Vec<Document>, Failure> {
    let tenant = call.tenant()?;
    let mut instances = saving::receive(&INSTANCE, documents, &call.caller, call.now)?;
    let connection = tenant.writer().await?;
    if how != How::Replace && !tenant.lenient {
        hrid::give(&connection, hrid::Kind::Instances, &mut instances).await?;
        for instance in &mut instances {
            instance.document.insert("statusUpdatedDate".into(), status_date(call.now).into());
        }
    }
    let mut tx = connection.begin();
    let ids = instances.iter().map(|instance| instance.id).collect();
    let mut stored = if how == How::Create { HashMap::new() } else { lock(&mut tx, ids).await? };
    let mut changes = saving::settle(&INSTANCE, instances, &mut stored, how, &call.caller, call.now)?;
    for change in &mut changes {
        source_record::keep_format(&mut change.new, change.old.as_ref());
    }
    let (mut inserted, mut updated, mut happenings) = (Vec::new(), Vec::new(), Vec::new());
    for change in &changes {
        let text = Value::Object(change.new.clone()).to_string();
        happenings.push(Happening {
            id: change.id,
            old: change.old.as_ref().map(Value::to_string),
            new: Some(text.clone()),
        });
        if change.old.is_none() { inserted.push((change.id, text)) } else { updated.push((change.id, text)) }
    }
    let mut flight = Flight::new();
    saving::insert(&mut flight, INSTANCE.table, inserted);
    saving::update(&mut flight, INSTANCE.table, updated);
    saving::announce(&mut flight, "inventory.instance", &tenant.id, happenings, call.now);
    saving::tell_followers(&mut flight, INSTANCE.table, &tenant.id, &changes);
    also(&mut flight);
    tx.fly_and_commit(flight)
        .await
        .map_err(|error| tells(saving::told(&INSTANCE, error, changes.iter().map(|change| &change.new))))?;
    Ok(changes.into_iter().map(|change| change.new).collect())
}

async fn lock(tx: &mut Tx, ids: Vec<Uuid>) -> Result<HashMap<Uuid, Value>, Failure> {
    let sql = "SELECT id, doc FROM instance WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";
    let rows = tx.query(sql, vec![ids.into()]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get::<_, Json>(1).parse())).collect())
}

/// FOLIO writes this one date without a colon in its offset.
fn status_date(now: Timestamp) -> String {
    carrel_records::time::format(now).replace("+00:00", "+0000")
}
