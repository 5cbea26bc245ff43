//! Moving items to another holdings record, and holdings records to another instance.
//!
//! Routes: `/inventory/items/move`, `/inventory/holdings/move`. The records of a request
//! move in one transaction; unknown ids are reported.

use crate::fields::{filled, id, set};
use crate::records::holdings::HOLDINGS_RECORD;
use crate::records::items::ITEM;
use crate::store::WriteMode;
use crate::{holdings, items};
use carrel_platform::database::Json;
use carrel_platform::http::pretty;
use carrel_platform::record_store::read;
use carrel_platform::record_store::write::Document;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, RecordType, Refusal};
use serde_json::{Value, json};
use uuid::Uuid;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("POST", "/inventory/items/move", move_items);
    router.on("POST", "/inventory/holdings/move", move_holdings);
}

async fn move_items(call: Call) -> Result<Answer, Failure> {
    let order = read_request(&call, "toHoldingsRecordId", "itemIds", "Item ids aren't specified")?;
    if !exists(&call, "holdings_record", order.to).await? {
        return Err(Refusal::new(format!("Holding with id={} not found", order.to)).into());
    }
    let (mut moved, left) = find(&call, &ITEM, order.ids).await?;
    for item in &mut moved {
        item.insert("holdingsRecordId".into(), order.to.to_string().into());
        // The item gets a new order number in its new holdings record.
        set(item, "order", None::<Value>);
    }
    items::save(&call, moved, WriteMode::UpsertUnchecked).await?;
    Ok(moved_answer(left))
}

async fn move_holdings(call: Call) -> Result<Answer, Failure> {
    let order =
        read_request(&call, "toInstanceId", "holdingsRecordIds", "Holdings record ids aren't specified")?;
    if !exists(&call, "instance", order.to).await? {
        return Err(Refusal::new(format!("Instance with id={} not found", order.to)).into());
    }
    let (mut moved, left) = find(&call, &HOLDINGS_RECORD, order.ids).await?;
    for record in &mut moved {
        record.insert("instanceId".into(), order.to.to_string().into());
    }
    holdings::save(&call, moved, WriteMode::UpsertUnchecked).await?;
    Ok(moved_answer(left))
}

struct MoveRequest {
    to: Uuid,
    ids: Vec<String>,
}

fn read_request(call: &Call, to: &str, ids: &str, no_ids: &str) -> Result<MoveRequest, Failure> {
    let body = call.object()?;
    if filled(&body, to).is_none() {
        return Err(Refusal::new(format!("{to} is a required field")).with_null(to).into());
    }
    let wanted: Vec<String> = body
        .get(ids)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|id| id.as_str().map(str::to_owned))
        .collect();
    if wanted.is_empty() {
        return Err(Refusal::new(no_ids).with_null(ids).into());
    }
    let to = id(&body, to)
        .ok_or_else(|| Refusal::new(format!("{to} must be a UUID")).with(to, body[to].to_string()))?;
    Ok(MoveRequest { to, ids: wanted })
}

async fn exists(call: &Call, table: &'static str, id: Uuid) -> Result<bool, Failure> {
    let connection = call.tenant()?.writer().await?;
    let rows = connection.query(format!("SELECT 1 FROM {table} WHERE id = $1"), vec![id.into()]).await?;
    Ok(!rows.is_empty())
}

/// The records with these ids, and the ids without a record.
async fn find(
    call: &Call,
    record: &RecordType,
    ids: Vec<String>,
) -> Result<(Vec<Document>, Vec<String>), Failure> {
    let known: Vec<Uuid> = ids.iter().filter_map(|id| Uuid::parse_str(id).ok()).collect();
    let sql = format!(
        "SELECT {} FROM {} WHERE {}.id = ANY($1)",
        read::document_sql(record),
        read::from_sql(record),
        record.table
    );
    let connection = call.tenant()?.writer().await?;
    let rows = connection.query(sql, vec![known.into()]).await?;
    let found: Vec<Document> = rows.iter().map(|row| items::facts::object(row.get::<_, Json>(0))).collect();
    let is_found = |id: &String| {
        found.iter().any(|record| filled(record, "id").is_some_and(|f| f.eq_ignore_ascii_case(id)))
    };
    let left = ids.iter().filter(|id| !is_found(id)).cloned().collect();
    Ok((found, left))
}

fn moved_answer(left: Vec<String>) -> Answer {
    Answer::json_bytes(pretty(&json!({"nonUpdatedIds": left})))
}
