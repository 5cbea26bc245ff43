//! Items in transit between service points, with origin, destination and request.
//!
//! Route: `GET /inventory-reports/items-in-transit`. Reads every item in transit with its last check-in, the loan that
//! ended then and the first waiting request; sorted by the service point of that check-in.

use carrel_circulation::desk::item::{COLUMNS, TABLES};
use carrel_circulation::desk::{ItemAtDesk, slip};
use carrel_circulation::settings::{CirculationSettings, ServicePoint};
use carrel_platform::http::pretty;
use carrel_platform::{Answer, Json, Router};
use carrel_records::{Failure, time};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/inventory-reports/items-in-transit", |call| async move {
        let tenant = call.tenant()?;
        let settings = CirculationSettings::of(tenant).await?;
        let rows = tenant.reader().await?.query(ON_THEIR_WAY.as_str(), vec![]).await?;
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            let document = |place: usize| row.get::<_, Option<Json>>(place).map(|json| json.parse());
            let group: Option<String> = row.get(2);
            let Some(item) = ItemAtDesk::read(row, 3)? else { continue };
            entries.push(entry(&item, document(0), document(1), group, &settings));
        }
        // Items without such a loan come last.
        let desk = |entry: &Value| {
            let name = entry.pointer("/loan/checkInServicePoint/name").and_then(Value::as_str);
            (name.is_none(), name.unwrap_or_default().to_owned())
        };
        entries.sort_by_cached_key(desk);
        let total = entries.len();
        Ok::<_, Failure>(Answer::json_bytes(pretty(&json!({"items": entries, "totalRecords": total}))))
    });
}

static ON_THEIR_WAY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT sent.doc, waiting.doc, requester.doc->>'patronGroup', {COLUMNS}
         FROM {TABLES}
         LEFT JOIN LATERAL (
             SELECT loan.doc FROM loan WHERE loan.item_id = item.id AND loan.doc->>'itemStatus' = 'In transit'
             ORDER BY carrel.instant(loan.doc->>'loanDate') DESC NULLS LAST LIMIT 1) sent ON true
         LEFT JOIN LATERAL (
             SELECT request.doc, request.requester_id FROM request
             WHERE request.item_id = item.id AND request.is_open
             ORDER BY request.position LIMIT 1) waiting ON true
         LEFT JOIN users requester ON requester.id = waiting.requester_id
         WHERE {in_transit}",
        in_transit = super::status_is("in transit")
    )
});

fn entry(
    item: &ItemAtDesk,
    loan: Option<Value>,
    request: Option<Value>,
    group: Option<String>,
    settings: &CirculationSettings,
) -> Value {
    let record = &item.record;
    let mut entry = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            entry.insert(key.to_owned(), value);
        }
    };
    let text = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(Value::from);
    put("id", Some(item.id.to_string().into()));
    put("title", text(item.title.title.as_deref()));
    put("barcode", text(record.barcode.as_deref()));
    let contributors: Vec<Value> = item.contributor_names().map(|name| json!({"name": name})).collect();
    put("contributors", Some(contributors.into()).filter(|names: &Value| names != &json!([])));
    put("callNumber", text(item.call_number()));
    put("enumeration", text(record.enumeration.as_deref()));
    put("displaySummary", text(record.display_summary.as_deref()));
    put("volume", text(record.volume.as_deref()));
    put("yearCaption", (!record.year_caption.is_empty()).then(|| record.year_caption.clone().into()));
    put("status", Some(json!({"name": item.status})));
    let named = |id: Uuid| {
        let point = settings.service_points.get(&id)?;
        Some(json!({"id": id, "name": point.name}))
    };
    put("inTransitDestinationServicePointId", item.in_transit_destination.map(|id| id.to_string().into()));
    put("copyNumber", text(item.copy_number()));
    put("effectiveCallNumberComponents", item.call_number_components());
    put("inTransitDestinationServicePoint", item.in_transit_destination.and_then(named));
    let location = record.effective_location_id.and_then(|id| settings.locations.get(&id));
    put(
        "location",
        location.map(|location| {
            let mut shown = json!({"name": location.name, "code": location.code});
            if let Some(settings_with) = location.library_id.and_then(|id| settings.libraries.get(&id)) {
                shown["libraryName"] = settings_with.name.as_str().into();
            }
            shown
        }),
    );
    put("request", request.map(|request| request_of(&request, group, settings)));
    put("loan", loan.map(|loan| loan_of(&loan, settings)));
    put("lastCheckIn", item.last_check_in.as_ref().map(|last| last_check_in(last, &named)));
    Value::Object(entry)
}

fn point_at<'a>(document: &Value, key: &str, settings: &'a CirculationSettings) -> Option<&'a ServicePoint> {
    settings.service_points.get(&document[key].as_str().and_then(|id| Uuid::parse_str(id).ok())?)
}

fn instant(document: &Value, key: &str) -> Option<Value> {
    document[key].as_str().and_then(time::parse).map(|at| slip::instant(at).into())
}

fn request_of(request: &Value, group: Option<String>, settings: &CirculationSettings) -> Value {
    let mut shown = json!({"requestType": request["requestType"]});
    for key in ["requestDate", "requestExpirationDate"] {
        if let Some(at) = instant(request, key) {
            shown[key] = at;
        }
    }
    if let Some(point) = point_at(request, "pickupServicePointId", settings) {
        shown["requestPickupServicePointName"] = point.name.as_str().into();
    }
    if request["tags"]["tagList"].is_array() {
        shown["tags"] = request["tags"]["tagList"].clone();
    }
    let group = group.and_then(|id| Uuid::parse_str(&id).ok()).and_then(|id| settings.patron_groups.get(&id));
    if let Some(description) = group.and_then(|group| group.description.as_deref()) {
        shown["requestPatronGroup"] = description.into();
    }
    shown
}

fn loan_of(loan: &Value, settings: &CirculationSettings) -> Value {
    let mut shown = json!({});
    if let Some(point) = point_at(loan, "checkinServicePointId", settings) {
        let mut desk = json!({"name": point.name, "code": point.code});
        for (key, value) in [
            ("discoveryDisplayName", point.discovery_display_name.clone().map(Value::from)),
            ("description", point.description.clone().map(Value::from)),
            ("shelvingLagTime", point.shelving_lag_time.map(Value::from)),
            ("pickupLocation", point.pickup_location.map(Value::from)),
        ] {
            if let Some(value) = value {
                desk[key] = value;
            }
        }
        shown["checkInServicePoint"] = desk;
    }
    if let Some(at) = instant(loan, "returnDate") {
        shown["checkInDateTime"] = at;
    }
    shown
}

fn last_check_in(last: &Value, named: &impl Fn(Uuid) -> Option<Value>) -> Value {
    let mut shown = json!({});
    if let Some(at) = instant(last, "dateTime") {
        shown["dateTime"] = at;
    }
    let point = last["servicePointId"].as_str().and_then(|id| Uuid::parse_str(id).ok());
    if let Some(point) = point.and_then(named) {
        shown["servicePoint"] = point;
    }
    shown
}
