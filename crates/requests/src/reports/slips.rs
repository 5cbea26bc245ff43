//! Pick slips and search slips: the items that staff of a service point retrieve for pages and search for holds, sorted
//! by location, shelving order and title.
//!
//! Routes: `GET /circulation/pick-slips/{servicePointId}`, `GET /circulation/search-slips/{servicePointId}` (empty
//! unless the setting `PRINT_HOLD_REQUESTS` allows it). Reads unfilled requests for items of the locations whose
//! primary service point it is; a title-level hold without an item is listed at the locations of the holdings records.

use crate::read::{self, RequestWithRelated};
use carrel_circulation::desk::{QueuedRequest, slip};
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{self, RequestType};
use carrel_platform::http::pretty;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, time};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/circulation/pick-slips/{servicePointId}", |call| {
        slips(call, Slips { collection: "pickSlips", of: RequestType::Page, at_most: 2_500 })
    });
    router.on("GET", "/circulation/search-slips/{servicePointId}", |call| {
        slips(call, Slips { collection: "searchSlips", of: RequestType::Hold, at_most: 2_000 })
    });
}

/// The kind of slips.
#[derive(Debug, Clone, Copy)]
struct Slips {
    collection: &'static str,
    of: RequestType,
    at_most: i64,
}

async fn slips(call: Call, wanted: Slips) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let service_point = call.id(0)?;
    let settings = CirculationSettings::of(tenant).await?;
    let found = if wanted.of == RequestType::Hold && !prints_holds(&settings) {
        Vec::new()
    } else {
        to_fetch(&call, &settings, service_point, wanted).await?
    };
    let mut contexts: Vec<Value> =
        found.into_iter().filter_map(|found| context(found, service_point, &settings, call.now)).collect();
    contexts.sort_by_cached_key(sort_key);
    let total = contexts.len();
    let mut answer = Map::new();
    answer.insert(wanted.collection.into(), contexts.into());
    answer.insert("totalRecords".into(), total.into());
    Ok(Answer::json_bytes(pretty(&Value::Object(answer))))
}

fn prints_holds(settings: &CirculationSettings) -> bool {
    let setting =
        settings.settings.get("PRINT_HOLD_REQUESTS").map(|value| &value["printHoldRequestsEnabled"]);
    setting.is_some_and(|enabled| *enabled == true || *enabled == "true")
}

/// Requests of a type that are not yet filled, by effective location; the index `request_slips` has the same
/// conditions.
const BY_PLACE: &str = "SELECT request.*, 1 AS place FROM request
     WHERE doc->>'status' = 'Open - Not yet filled' AND doc->>'requestType' = $1
       AND doc->'item'->>'itemEffectiveLocationId' = ANY($2) LIMIT $3";
const WITHOUT_ITEM: &str = "SELECT request.*, 1 AS place FROM request
     WHERE doc->>'status' = 'Open - Not yet filled' AND doc->>'requestType' = $1
       AND doc->'item'->>'itemEffectiveLocationId' IS NULL AND item_id IS NULL
       AND doc->>'requestLevel' = 'Title'
       AND EXISTS (SELECT 1 FROM holdings_record WHERE holdings_record.instance_id = request.instance_id
         AND holdings_record.doc->>'effectiveLocationId' = ANY($2)) LIMIT $3";

async fn to_fetch(
    call: &Call,
    settings: &CirculationSettings,
    service_point: Uuid,
    wanted: Slips,
) -> Result<Vec<RequestWithRelated>, Failure> {
    let locations: Vec<String> = settings
        .locations
        .iter()
        .filter(|(_, location)| location.primary_service_point == Some(service_point))
        .map(|(id, _)| id.to_string())
        .collect();
    if locations.is_empty() {
        return Ok(Vec::new());
    }
    let connection = call.tenant()?.reader().await?;
    let binds = |remaining: i64| vec![wanted.of.as_str().into(), locations.clone().into(), remaining.into()];
    let mut found = read::found(&connection, BY_PLACE, binds(wanted.at_most)).await?;
    let remaining = wanted.at_most - found.len() as i64;
    if wanted.of == RequestType::Hold && remaining > 0 {
        found.extend(read::found(&connection, WITHOUT_ITEM, binds(remaining)).await?);
    }
    Ok(found)
}

fn context(
    found: RequestWithRelated,
    service_point: Uuid,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Option<Value> {
    let RequestWithRelated { document, item, title, requester, .. } = found;
    let mut shown = match (item, title) {
        (Some(mut item), title) => {
            item.title = title.unwrap_or_default();
            let mut shown = slip::item(&item, settings);
            let last = item.last_check_in.as_ref().and_then(|last| last["dateTime"].as_str());
            if let Some(at) = last.and_then(time::parse) {
                shown["lastCheckedInDateTime"] = slip::instant(at).into();
            }
            shown
        }
        (None, Some(title)) => slip::title(&title),
        (None, None) => json!({}),
    };
    if let Some(point) = settings.service_points.get(&service_point) {
        shown["effectiveLocationPrimaryServicePointName"] = point.name.as_str().into();
    }
    let id = request::id(&document, "id")?;
    let request = QueuedRequest { id, document, requester, queue: None };
    Some(slip::context(shown, Some(&request), settings, now))
}

/// Location, shelving order, title; unknown values sort as an underscore.
fn sort_key(context: &Value) -> [String; 3] {
    ["effectiveLocationSpecific", "shelvingOrder", "title"]
        .map(|key| context["item"][key].as_str().unwrap_or("_").to_owned())
}
