//! Routes, requests and answers.

use super::facts;
use super::shape::stored;
use super::{circulation_notes, refuse_replacement, tenant_items};
use crate::fields::filled;
use crate::records::items::ITEM;
use crate::store::WriteMode;
use crate::{batch, items};
use carrel_platform::database::Json;
use carrel_platform::http::pretty;
use carrel_platform::record_store::read::{self, PageRequest};
use carrel_platform::record_store::stream;
use carrel_platform::record_store::write::Document;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, Refusal};
use http::StatusCode;
use serde_json::{Value, json};
use tokio_postgres::Row;
use uuid::Uuid;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("GET", "/inventory/items", list);
    router.on("POST", "/inventory/items/retrieve", retrieve);
    router.on("GET", "/inventory/items/{id}", find);
    router.on("POST", "/inventory/items", create);
    router.on("PUT", "/inventory/items/{id}", replace);
    router.on("PATCH", "/inventory/items/{id}", patch);
    router.on("DELETE", "/inventory/items/{id}", items::delete);
    router.on("DELETE", "/inventory/items", items::delete_many);
    router.on("GET", "/inventory/items-by-holdings-id", list_of_holdings_record);
    router.on("POST", "/inventory/tenant-items", tenant_items::find);
}

async fn list(call: Call) -> Result<Answer, Failure> {
    answer_page(&call, &PageRequest::read(&call.query)?).await
}

async fn retrieve(call: Call) -> Result<Answer, Failure> {
    answer_page(&call, &batch::read_body_query(&call)?).await
}

async fn answer_page(call: &Call, requested: &PageRequest) -> Result<Answer, Failure> {
    let show = |row: &Row| Ok(Value::Object(facts::of_page(row)));
    stream::shown(call, &ITEM, requested, facts::select, show).await
}

async fn find(call: Call) -> Result<Answer, Failure> {
    let connection = call.tenant()?.reader().await?;
    show(&connection, call.id(0)?).await
}

/// 200 with the view of an item.
pub(crate) async fn show(connection: &carrel_platform::Connection, id: Uuid) -> Result<Answer, Failure> {
    match facts::one(connection, id).await? {
        Some(view) => Ok(Answer::json_bytes(pretty(&view))),
        None => Err(Failure::NotFound("Not Found".into())),
    }
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let view = call.object()?;
    refuse_if_status_is_missing(&view)?;
    let mut item = stored(view);
    let writer = writer(&call, &item).await?;
    circulation_notes::sign(&mut item, None, writer.as_ref(), call.now);
    let stored = items::save(&call, vec![item.clone()], WriteMode::Create).await;
    let stored = stored.map_err(|failure| in_use(failure, &item))?;
    let id = stored.first().and_then(|item| crate::fields::id(item, "id")).unwrap_or_default();
    let connection = call.tenant()?.writer().await?;
    Ok(show(&connection, id).await?.status(StatusCode::CREATED))
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let view = batch::body_with_path_id(&call)?;
    refuse_if_status_is_missing(&view)?;
    let old = present(&call).await?;
    store(&call, stored(view), old).await
}

async fn patch(call: Call) -> Result<Answer, Failure> {
    let patch = call.object()?;
    if patch.contains_key("status") {
        refuse_if_status_is_missing(&patch)?;
    }
    let Value::Object(old) = present(&call).await? else {
        return Err(Failure::NotFound("No item found".into()));
    };
    let changed = batch::merge_patch(old.clone(), stored(patch), call.id(0)?);
    store(&call, changed, Value::Object(old)).await
}

async fn store(call: &Call, mut item: Document, old: Value) -> Result<Answer, Failure> {
    refuse_replacement(&old, &item)?;
    let writer = writer(call, &item).await?;
    circulation_notes::sign(&mut item, Some(&old), writer.as_ref(), call.now);
    items::save(call, vec![item.clone()], WriteMode::Replace)
        .await
        .map_err(|failure| in_use(failure, &item))?;
    Ok(Answer::no_content())
}

async fn present(call: &Call) -> Result<Value, Failure> {
    let connection = call.tenant()?.writer().await?;
    let stored = read::find(&connection, &ITEM, call.id(0)?).await?;
    stored.map(|stored| stored.parse()).ok_or_else(|| Failure::NotFound("No item found".into()))
}

/// The user who signs circulation notes, read only if the item has any.
async fn writer(call: &Call, item: &Document) -> Result<Option<Value>, Failure> {
    let has_notes =
        item.get("circulationNotes").and_then(Value::as_array).is_some_and(|notes| !notes.is_empty());
    let Some(user) = call.caller.user_id.filter(|_| has_notes) else { return Ok(None) };
    let connection = call.tenant()?.reader().await?;
    let rows = connection.query("SELECT doc FROM users WHERE id = $1", vec![user.into()]).await?;
    Ok(rows.first().map(|row| row.get::<_, Json>(0).parse()))
}

fn refuse_if_status_is_missing(view: &Document) -> Result<(), Failure> {
    let name = view.get("status").and_then(|status| status.get("name")).and_then(Value::as_str);
    match name.filter(|name| !name.trim().is_empty()) {
        Some(_) => Ok(()),
        None => Err(Refusal::new("Status is a required field").with_null("status").into()),
    }
}

/// FOLIO's refusal of a barcode that another item has.
fn in_use(failure: Failure, item: &Document) -> Failure {
    let barcode = filled(item, "barcode").unwrap_or_default();
    let is_barcode = |message: &str| message.contains("'barcode'") && message.contains("already exists");
    let taken = match &failure {
        Failure::Refused(refusals) => refusals.iter().any(|refusal| is_barcode(&refusal.message)),
        Failure::Invalid(message) => is_barcode(message),
        _ => false,
    };
    if taken {
        return Failure::Invalid(format!(
            "Barcode must be unique, {barcode} is already assigned to another item"
        ));
    }
    failure
}

/// All items of a holdings record, including those that it is bound into, sorted by barcode.
async fn list_of_holdings_record(call: Call) -> Result<Answer, Failure> {
    let query = call.query.get("query").unwrap_or_default();
    let relations = call.query.get("relations");
    let only_bound = match relations {
        None | Some("") => false,
        Some("onlyBoundWiths" | "onlyBoundWithsSkipDirectlyLinkedItem") => true,
        Some(_) => {
            return Err(Failure::Invalid(
                "The only valid values of the request parameter 'relations' are: 'onlyBoundWiths' and \
                 'onlyBoundWithsSkipDirectlyLinkedItem'"
                    .into(),
            ));
        }
    };
    let plain = query.replace(['(', ')', '"', ' '], "");
    let holdings = plain
        .strip_prefix("holdingsRecordId")
        .and_then(|rest| Uuid::parse_str(rest.trim_start_matches('=')).ok());
    let Some(holdings) = holdings else {
        return Err(Failure::Invalid(format!(
            "Items must be retrieved by 'holdingsRecordId' from this API: query=holdingsRecordId==[a UUID]. Query was: {query}"
        )));
    };
    const BOUND: &str =
        "item.id IN (SELECT part.item_id FROM bound_with_part part WHERE part.holdings_record_id = $1)";
    let condition = match relations {
        Some("onlyBoundWithsSkipDirectlyLinkedItem") => {
            format!("{BOUND} AND item.holdings_record_id IS DISTINCT FROM $1")
        }
        _ if only_bound => BOUND.to_owned(),
        _ => format!("(item.holdings_record_id = $1 OR {BOUND})"),
    };
    let limit = call.query.number("limit", 200, 0, 10_000)?;
    let offset = call.query.number("offset", 0, 0, i64::from(i32::MAX))?;
    let connection = call.tenant()?.reader().await?;
    let mut views = facts::some(&connection, &condition, vec![holdings.into()]).await?;
    views.sort_by(|a, b| filled(a, "barcode").cmp(&filled(b, "barcode")));
    let total = views.len() as i64;
    let page: Vec<Document> = views.into_iter().skip(offset as usize).take(limit as usize).collect();
    Ok(Answer::json_bytes(pretty(&json!({"items": page, "totalRecords": total}))))
}
