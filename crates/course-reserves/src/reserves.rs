//! Saving reserves: the item is found by its id or barcode, and what is searched of it is copied into the reserve. The
//! item gets the temporary location and loan type of its reserve, and loses the location when the reserve is deleted.
//!
//! Routes: POST of `/coursereserves/reserves`, PUT and DELETE by id, and the same below a course listing. Reads items with
//! their holdings records and instances; changes items in the transaction of the reserve.

use crate::records::RESERVE;
use carrel_inventory::items::{self, barcode_is};
use carrel_platform::record_store::routes;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::{Answer, Call, Json, Pipeline, Router, Tx};
use carrel_records::{Failure, Refusal};
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", RESERVE.path, create);
    router.on("PUT", "/coursereserves/reserves/{id}", replace);
    router.on("DELETE", "/coursereserves/reserves/{id}", delete);
}

/// Stores a new reserve; a listing has each item once.
pub async fn create(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let mut document = call.object()?;
    write::check(&RESERVE, &mut document, &call.caller)?;
    let sent = document.get("copiedItem").and_then(|copied| copied.get("temporaryLocationId")).cloned();
    complete(&mut tx, &mut document).await?;
    // A reserve takes the location of its listing.
    let rows = tx
        .query(
            "SELECT doc->>'locationId' AS location FROM coursereserves_courselistings WHERE id = $1 FOR NO KEY UPDATE",
            vec![id_in(&document, "courseListingId").into()],
        )
        .await?;
    let location: Option<String> = rows.first().and_then(|row| row.get("location"));
    let location = location
        .map(Value::from)
        .or(sent)
        .filter(|location| location.as_str().is_some_and(|id| !id.is_empty()));
    if let (Some(location), Some(copied)) =
        (&location, document.get_mut("copiedItem").and_then(Value::as_object_mut))
    {
        copied.insert("temporaryLocationId".into(), location.clone());
    }
    let ready = write::prepare_new(&RESERVE, document, &call.caller, call.now)?;
    refuse_second_reserve(&mut tx, &ready.document).await?;
    change_item(&mut tx, &call, &ready.document, |item| {
        if let Some(location) = location {
            item.insert("temporaryLocationId".into(), location);
        }
    })
    .await?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &RESERVE, &ready, call.now);
    let stored = tx.send_and_commit(pipeline).await;
    stored.map_err(|error| write::constraint_failure(&RESERVE, error, &ready.document))?;
    Ok(routes::created(&RESERVE, &ready))
}

/// Replaces the reserve that the last part of the address names.
pub async fn replace(call: Call) -> Result<Answer, Failure> {
    let id = call.id(call.parameters.len().saturating_sub(1))?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let mut document = call.object()?;
    write::check(&RESERVE, &mut document, &call.caller)?;
    let kept = document.get("copiedItem").and_then(|copied| copied.get("temporaryLocationId")).cloned();
    complete(&mut tx, &mut document).await?;
    if let Some(copied) = document.get_mut("copiedItem").and_then(Value::as_object_mut) {
        set_or_remove(copied, "temporaryLocationId", kept.clone());
    }
    change_item(&mut tx, &call, &document, |item| set_or_remove(item, "temporaryLocationId", kept)).await?;
    match write::replace(tx, tenant, &RESERVE, id, document, &call.caller, call.now).await? {
        Some(_) => Ok(Answer::no_content()),
        None => Err(Failure::NotFound("Not found".into())),
    }
}

/// Deletes the reserve that the last part of the address names; its item loses its temporary location.
pub async fn delete(call: Call) -> Result<Answer, Failure> {
    let id = call.id(call.parameters.len().saturating_sub(1))?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(reserve) = write::lock(&mut tx, &RESERVE, id).await? else {
        return Err(Failure::NotFound("Not found".into()));
    };
    let item = reserve.parse()["itemId"].as_str().and_then(|id| Uuid::parse_str(id).ok());
    if let Some(item) = item {
        items::change(&mut tx, &call, item, |item| set_or_remove(item, "temporaryLocationId", None)).await?;
    }
    match write::delete(tx, tenant, &RESERVE, id, &call.node.records, call.now).await? {
        true => Ok(Answer::no_content()),
        false => Err(Failure::NotFound("Not found".into())),
    }
}

/// Changes the item of the reserve, which also gets the reserve's temporary loan type.
async fn change_item(
    tx: &mut Tx,
    call: &Call,
    reserve: &Document,
    edit: impl FnOnce(&mut Document),
) -> Result<(), Failure> {
    let Some(item) = id_in(reserve, "itemId") else { return Ok(()) };
    let loan_type = reserve.get("temporaryLoanTypeId").filter(|id| !id.is_null()).cloned();
    let edit = |item: &mut Document| {
        edit(item);
        if let Some(loan_type) = loan_type {
            item.insert("temporaryLoanTypeId".into(), loan_type);
        }
    };
    items::change(tx, call, item, edit).await.map(|_| ())
}

fn set_or_remove(document: &mut Document, name: &str, value: Option<Value>) {
    match value.filter(|value| !value.is_null()) {
        Some(value) => document.insert(name.into(), value),
        None => document.remove(name),
    };
}

/// Adds the copy of the item, and makes instants of dates.
async fn complete(tx: &mut Tx, reserve: &mut Document) -> Result<(), Failure> {
    for name in ["startDate", "endDate"] {
        if let Some(Value::String(date)) = reserve.get_mut(name)
            && date.parse::<jiff::civil::Date>().is_ok_and(|parsed| parsed.to_string() == *date)
        {
            date.push_str("T00:00:00Z");
        }
    }
    for name in ["processingStatusObject", "temporaryLoanTypeObject"] {
        reserve.remove(name);
    }
    let barcode = reserve.get("copiedItem").and_then(|copied| copied["barcode"].as_str()).map(str::to_owned);
    let item = id_in(reserve, "itemId");
    if item.is_none() && barcode.is_none() {
        return Ok(());
    }
    let (condition, bind) = match &barcode {
        Some(barcode) => (barcode_is("$1::text"), barcode.as_str().into()),
        None => ("item.id = $1".to_owned(), item.into()),
    };
    let sql = format!(
        "SELECT item.id, item.doc AS item, holdings_record.doc AS holdings, instance.doc AS instance
         FROM item JOIN holdings_record ON holdings_record.id = item.holdings_record_id
         JOIN instance ON instance.id = holdings_record.instance_id WHERE {condition} LIMIT 2"
    );
    let rows = tx.query(sql, vec![bind]).await?;
    let [row] = &rows[..] else {
        let text = match (&barcode, rows.len()) {
            (Some(barcode), 0) => format!("No item found for barcode {barcode}"),
            (Some(barcode), found) => format!("Expected 1 result for barcode {barcode}, got {found}"),
            (None, _) => format!("No item found for id {}", item.unwrap_or_default()),
        };
        return Err(Failure::Invalid(text));
    };
    let document = |column: &str| row.get::<_, Json>(column).parse();
    let stored = document("item");
    reserve.insert("itemId".into(), row.get::<_, Uuid>("id").to_string().into());
    if reserve.get("temporaryLoanTypeId").is_none_or(Value::is_null)
        && let Some(loan_type) = stored["temporaryLoanTypeId"].as_str()
    {
        reserve.insert("temporaryLoanTypeId".into(), loan_type.into());
    }
    let copied = copied_item(&stored, &document("holdings"), &document("instance"));
    reserve.insert("copiedItem".into(), Value::Object(copied));
    Ok(())
}

/// What a reserve keeps of its item.
fn copied_item(item: &Value, holdings: &Value, instance: &Value) -> Map<String, Value> {
    let access = |name: &str| {
        let first = |record: &Value| record["electronicAccess"][0][name].as_str().map(str::to_owned);
        first(item).or_else(|| first(holdings))
    };
    let call_number =
        call_number(item, ["itemLevelCallNumberPrefix", "itemLevelCallNumber", "itemLevelCallNumberSuffix"])
            .or_else(|| call_number(holdings, ["callNumberPrefix", "callNumber", "callNumberSuffix"]));
    let permanent = if item["permanentLocationId"].is_null() { holdings } else { item };
    let copied = json!({
        "barcode": item["barcode"],
        "volume": item["volume"],
        "enumeration": item["enumeration"],
        "copy": item["copyNumber"],
        "title": instance["title"],
        "instanceId": instance["id"],
        "instanceHrid": instance["hrid"],
        "instanceDiscoverySuppress": instance["discoverySuppress"].as_bool().unwrap_or(false),
        "holdingsId": holdings["id"],
        "uri": access("uri"),
        "url": access("publicNote"),
        "permanentLocationId": permanent["permanentLocationId"],
        "temporaryLocationId": item["temporaryLocationId"],
        "callNumber": call_number,
        "contributors": list(instance, "contributors",
            ["name", "contributorTypeId", "contributorTypeText", "contributorNameTypeId", "primary"]),
        "publication": list(instance, "publication", ["publisher", "place", "dateOfPublication", "role", ""]),
    });
    match copied {
        Value::Object(copied) => copied.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    }
}

fn call_number(record: &Value, parts: [&str; 3]) -> Option<String> {
    record[parts[1]].as_str().filter(|number| !number.is_empty())?;
    let parts = parts.iter().filter_map(|part| record[part].as_str()).filter(|part| !part.is_empty());
    Some(parts.collect::<Vec<_>>().join(" "))
}

/// A list of objects with these properties only; null if it is empty.
fn list(record: &Value, name: &str, properties: [&str; 5]) -> Value {
    let objects = record[name].as_array().into_iter().flatten();
    let objects = objects.map(|object| {
        let kept = properties.iter().filter_map(|name| Some(((*name).to_owned(), object.get(name)?.clone())));
        Value::Object(kept.collect())
    });
    let objects: Vec<Value> = objects.collect();
    if objects.is_empty() { Value::Null } else { objects.into() }
}

async fn refuse_second_reserve(tx: &mut Tx, reserve: &Document) -> Result<(), Failure> {
    let (Some(listing), Some(item)) = (id_in(reserve, "courseListingId"), id_in(reserve, "itemId")) else {
        return Ok(());
    };
    let sql =
        "SELECT 1 FROM coursereserves_reserves WHERE course_listing_id = $1 AND doc->>'itemId' = $2 LIMIT 1";
    if tx.query(sql, vec![listing.into(), item.to_string().into()]).await?.is_empty() {
        return Ok(());
    }
    let message = format!("itemId {item} is already in use for courseListing {listing}");
    Err(Refusal::new(message).with("itemId", item.to_string()).into())
}

fn id_in(document: &Document, name: &str) -> Option<Uuid> {
    Uuid::parse_str(document.get(name)?.as_str()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_keeps_what_is_searched_of_its_item() {
        let item = json!({"barcode": "1", "copyNumber": "c.2", "electronicAccess": [{"uri": "https://a"}]});
        let holdings = json!({"id": "h", "callNumber": "QA 1", "callNumberSuffix": "x", "permanentLocationId": "l",
            "electronicAccess": [{"uri": "https://b", "publicNote": "free"}]});
        let instance = json!({"id": "i", "title": "Emma", "hrid": "in1",
            "contributors": [{"name": "Austen", "primary": true, "authorityId": "a"}]});
        assert_eq!(
            Value::Object(copied_item(&item, &holdings, &instance)),
            json!({"barcode": "1", "copy": "c.2", "title": "Emma", "instanceId": "i", "instanceHrid": "in1",
                "instanceDiscoverySuppress": false, "holdingsId": "h", "uri": "https://a", "url": "free",
                "permanentLocationId": "l", "callNumber": "QA 1 x",
                "contributors": [{"name": "Austen", "primary": true}]})
        );
    }
}
