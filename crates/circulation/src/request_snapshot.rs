//! Snapshots of related records in stored requests, by which lists of requests are searched and sorted.

use crate::desk::item::Title;
use crate::desk::{ItemAtDesk, Patron};
use crate::settings::{CirculationSettings, ServicePoint};
use carrel_loan_rules::request;
use serde_json::{Map, Value};
use uuid::Uuid;

/// The records that a request refers to.
#[derive(Clone, Copy, Default)]
pub struct Related<'a> {
    pub item: Option<&'a ItemAtDesk>,
    pub title: Option<&'a Title>,
    pub requester: Option<&'a Patron>,
    pub proxy: Option<&'a Patron>,
}

/// Writes the snapshots into a request before it is stored.
pub fn write(request: &mut Map<String, Value>, related: &Related, settings: &CirculationSettings) {
    request.remove("deliveryAddress");
    if let Some(item) = related.item {
        request.insert("item".into(), item_snapshot(item, settings));
    }
    if let Some(title) = related.title {
        let mut kept = Map::new();
        put(&mut kept, "title", title.title.as_deref());
        put_list(&mut kept, "identifiers", identifiers(title));
        request.insert("instance".into(), kept.into());
    }
    if let Some(requester) = related.requester {
        request.insert("requester".into(), person(requester));
    }
    if let Some(proxy) = related.proxy {
        request.insert("proxy".into(), person(proxy));
    }
    let mut index = related.item.map_or_else(Map::new, search_index);
    let pickup = pickup_service_point(request, settings);
    put(&mut index, "pickupServicePointName", pickup.map(|point| &*point.name));
    request.insert("searchIndex".into(), index.into());
}

/// The search properties that come from the item.
pub fn search_index(item: &ItemAtDesk) -> Map<String, Value> {
    let mut index = Map::new();
    if let Some(components) = item.call_number_components() {
        index.insert("callNumberComponents".into(), components);
    }
    put(&mut index, "shelvingOrder", item.record.effective_shelving_order.as_deref());
    index
}

/// The pickup service point of a request, from the settings.
pub fn pickup_service_point<'a>(
    request: &Map<String, Value>,
    settings: &'a CirculationSettings,
) -> Option<&'a ServicePoint> {
    settings.service_points.get(&request::id(request, "pickupServicePointId")?)
}

/// Inserts a text that is not blank: FOLIO omits blank ones.
pub fn put(into: &mut Map<String, Value>, key: &str, value: Option<&str>) {
    if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
        into.insert(key.to_owned(), value.into());
    }
}

/// Inserts a list that is not empty.
pub fn put_list(into: &mut Map<String, Value>, key: &str, values: Vec<Value>) {
    if !values.is_empty() {
        into.insert(key.to_owned(), values.into());
    }
}

/// `identifierTypeId` and `value` of a title's identifiers.
pub fn identifiers(title: &Title) -> Vec<Value> {
    let identifiers = title.identifiers.iter().filter_map(Value::as_object);
    identifiers
        .map(|identifier| {
            let mut shown = Map::new();
            for key in ["identifierTypeId", "value"] {
                put(&mut shown, key, identifier.get(key).and_then(Value::as_str));
            }
            Value::Object(shown)
        })
        .collect()
}

/// The item's effective location and the service point that retrieves it.
pub fn item_snapshot(item: &ItemAtDesk, settings: &CirculationSettings) -> Value {
    let mut shown = Map::new();
    put(&mut shown, "barcode", item.record.barcode.as_deref());
    let known = |id: Uuid| settings.locations.get(&id).map(|location| (id, location));
    if let Some((id, location)) = item.record.effective_location_id.and_then(known) {
        shown.insert("itemEffectiveLocationId".into(), id.to_string().into());
        shown.insert("itemEffectiveLocationName".into(), location.name.as_str().into());
        if let Some(primary) = location.primary_service_point
            && let Some(point) = settings.service_points.get(&primary)
        {
            shown.insert("retrievalServicePointId".into(), primary.to_string().into());
            let elsewhere = location.effective_location_primary_service_point_name.as_deref();
            shown.insert("retrievalServicePointName".into(), elsewhere.unwrap_or(&point.name).into());
        }
    }
    Value::Object(shown)
}

fn person(patron: &Patron) -> Value {
    let mut shown = Map::new();
    put(&mut shown, "lastName", patron.personal.last_name.as_deref());
    put(&mut shown, "firstName", patron.personal.first_name.as_deref());
    put(&mut shown, "middleName", patron.personal.middle_name.as_deref());
    put(&mut shown, "barcode", patron.barcode.as_deref());
    Value::Object(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desk::item::ItemRecord;
    use crate::settings::Location;

    #[test]
    fn an_item_of_another_library_is_fetched_from_where_it_really_stands() {
        let (place, desk) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let mut settings = CirculationSettings::blank();
        settings
            .service_points
            .insert(desk, ServicePoint { name: "Stand-in".into(), ..ServicePoint::default() });
        let location = Location { primary_service_point: Some(desk), ..Location::default() };
        let record = ItemRecord { effective_location_id: Some(place), ..ItemRecord::default() };
        let item = ItemAtDesk { record, ..ItemAtDesk::default() };
        for (elsewhere, shown) in [(None, "Stand-in"), (Some("Their desk".to_owned()), "Their desk")] {
            let location =
                Location { effective_location_primary_service_point_name: elsewhere, ..location.clone() };
            settings.locations.insert(place, location);
            assert_eq!(item_snapshot(&item, &settings)["retrievalServicePointName"], shown);
        }
    }
}
