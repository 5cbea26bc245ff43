//! Validation shared by placing and editing: status, level, fulfillment preference and pickup service point.

use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{self, FulfillmentPreference, RequestLevel, RequestStatus};
use carrel_records::{Failure, Refusal, RefusalCode, time};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use uuid::Uuid;

/// The status of a request as sent; not yet filled if absent.
pub fn status(document: &Map<String, Value>) -> Result<RequestStatus, Failure> {
    let Some(sent) = document.get("status") else { return Ok(RequestStatus::NotYetFilled) };
    RequestStatus::parse_ignoring_case(sent.as_str().unwrap_or_default()).ok_or_else(|| {
        let quoted: Vec<String> = RequestStatus::ALL.iter().map(|status| format!("\"{status}\"")).collect();
        Failure::Invalid(format!("Request status must be one of the following: {}", quoted.join(", ")))
    })
}

/// Refuses an unknown level, and one that the tenant has not enabled.
pub fn refuse_level(document: &Map<String, Value>, title_level_enabled: bool) -> Result<(), Refusal> {
    let level = document.get("requestLevel").and_then(Value::as_str);
    match level.and_then(RequestLevel::parse_ignoring_case) {
        Some(RequestLevel::Item) => return Ok(()),
        Some(RequestLevel::Title) if title_level_enabled => return Ok(()),
        _ => {}
    }
    let levels = if title_level_enabled { "\"Item\", \"Title\"" } else { "\"Item\"" };
    let refusal = Refusal::new(format!("Request level must be one of the following: {levels}"))
        .code(RefusalCode::RequestLevelIsNotAllowed);
    Err(match level {
        Some(level) => refusal.with("requestLevel", level),
        None => refusal.with_null("requestLevel"),
    })
}

/// Refuses an unknown fulfillment preference.
pub fn refuse_fulfillment(document: &Map<String, Value>) -> Result<(), Refusal> {
    let preference = document.get("fulfillmentPreference").and_then(Value::as_str);
    if preference.is_some_and(|preference| FulfillmentPreference::parse(preference).is_some()) {
        return Ok(());
    }
    let refusal = Refusal::new("Fulfillment preference must be one of the following: Hold Shelf, Delivery")
        .code(RefusalCode::FulfillmentPreferenceIsNotAllowed);
    Err(match preference {
        Some(preference) => refusal.with("fulfillmentPreference", preference),
        None => refusal.with_null("fulfillmentPreference"),
    })
}

/// Refuses a pickup service point that does not exist or is not a pickup location.
pub fn refuse_pickup(document: &Map<String, Value>, settings: &CirculationSettings) -> Result<(), Refusal> {
    let sent = |key: &str| document.get(key).and_then(Value::as_str);
    let Some(pickup) = sent("pickupServicePointId") else {
        if sent("fulfillmentPreference") != Some(FulfillmentPreference::HoldShelf.as_str()) {
            return Ok(());
        }
        let refusal = Refusal::new("Hold shelf fulfillment requests require a Pickup service point")
            .code(RefusalCode::HoldShelfRequestsRequirePickupServicePoint);
        return Err(match sent("id") {
            Some(id) => refusal.with("id", id),
            None => refusal.with_null("id"),
        });
    };
    match Uuid::parse_str(pickup).ok().and_then(|id| settings.service_points.get(&id)) {
        None => Err(Refusal::new("Pickup service point does not exist").with("pickupServicePointId", pickup)),
        Some(point) if point.pickup_location != Some(true) => {
            Err(Refusal::new("Service point is not a pickup location")
                .with("pickupServicePointId", pickup)
                .code(RefusalCode::ServicePointIsNotPickupLocation))
        }
        Some(_) => Ok(()),
    }
}

/// Removes the properties that the extended representation adds.
pub fn without_related(document: &mut Map<String, Value>) {
    for key in [
        "item",
        "requester",
        "proxy",
        "loan",
        "pickupServicePoint",
        "deliveryAddress",
        "requestProcessingParameters",
    ] {
        document.remove(key);
    }
    if let Some(Value::Object(print)) = document.get_mut("printDetails") {
        print.remove("lastPrintRequester");
    }
}

/// A request expires at the end of a day in the tenant's time zone.
pub fn expiration_at_end_of_day(document: &mut Map<String, Value>, zone: &TimeZone) {
    let Some(expires) = request::text(document, "requestExpirationDate").and_then(time::parse) else {
        return;
    };
    let last = expires.to_zoned(zone.clone()).date().at(23, 59, 59, 0).to_zoned(zone.clone());
    if let Ok(last) = last {
        // FOLIO quirk: this date alone is written with a Z.
        let text = time::format(last.timestamp()).replace("+00:00", "Z");
        document.insert("requestExpirationDate".into(), text.into());
    }
}
