//! A request in the form of the circulation API: the stored record with the current item, instance, users, loan and
//! pickup service point.

use carrel_circulation::desk::item::Title;
use carrel_circulation::desk::{ItemAtDesk, Patron};
use carrel_circulation::request_snapshot::{
    Related, identifiers, item_snapshot, pickup_service_point, put, put_list,
};
use carrel_circulation::settings::CirculationSettings;
use carrel_records::ItemStatus;
use serde_json::{Map, Value, json};

/// Properties of the extended form besides the stored record.
#[derive(Clone, Copy, Default)]
pub struct DisplayContext<'a> {
    pub related: Related<'a>,
    /// Status of the item if it differs from the record's.
    pub item_status: Option<&'a ItemStatus>,
    /// Due date of the item's open loan, as stored.
    pub due_date: Option<&'a str>,
    /// `personal` of the user who printed the slip last.
    pub printed_by: Option<&'a Value>,
}

/// The extended form of a request.
pub fn extended(
    stored: &Map<String, Value>,
    context: &DisplayContext,
    settings: &CirculationSettings,
) -> Value {
    let mut request = stored.clone();
    let related = &context.related;
    request.remove("searchIndex");
    if let Some(item) = related.item {
        let status = context.item_status.unwrap_or(&item.status);
        request.insert("item".into(), item_summary(item, status, settings));
    }
    if let Some(title) = related.title {
        let mut shown = title_summary(title);
        if let Some(item) = related.item.filter(|item| item.is_of_another_library()) {
            shown["title"] = item.own_title().into();
        }
        request.insert("instance".into(), shown);
    }
    if request.get("requesterId").is_none_or(Value::is_null) {
        request.remove("requester");
        request.remove("deliveryAddress");
    } else if let Some(requester) = related.requester {
        request.insert("requester".into(), person(requester, settings));
        if let Some(address) = delivery_address(&request, requester) {
            request.insert("deliveryAddress".into(), address);
        }
    }
    match related.proxy {
        Some(proxy) => request.insert("proxy".into(), person(proxy, settings)),
        None => request.remove("proxy"),
    };
    if let Some(due) = context.due_date {
        request.insert("loan".into(), json!({"dueDate": due}));
    }
    if let Some(point) = pickup_service_point(&request, settings) {
        let shown = json!({
            "name": point.name, "code": point.code, "discoveryDisplayName": point.discovery_display_name,
            "description": point.description, "shelvingLagTime": point.shelving_lag_time,
            "pickupLocation": point.pickup_location.unwrap_or(false),
        });
        request.insert("pickupServicePoint".into(), shown);
    }
    if let (Some(by), Some(Value::Object(print))) = (context.printed_by, request.get_mut("printDetails")) {
        let at = |key: &str| by.get(key).cloned().unwrap_or(Value::Null);
        let who =
            json!({"firstName": at("firstName"), "lastName": at("lastName"), "middleName": at("middleName")});
        print.insert("lastPrintRequester".into(), who);
    }
    Value::Object(request)
}

fn item_summary(item: &ItemAtDesk, status: &ItemStatus, settings: &CirculationSettings) -> Value {
    let record = &item.record;
    let mut shown = Map::new();
    put(&mut shown, "barcode", record.barcode.as_deref());
    if let Some(location) = record.effective_location_id.and_then(|id| settings.locations.get(&id)) {
        let settings_with = location.library_id.and_then(|id| settings.libraries.get(&id));
        let mut place = Map::new();
        put(&mut place, "name", Some(&location.name));
        put(&mut place, "libraryName", settings_with.map(|settings_with| &*settings_with.name));
        put(&mut place, "code", location.code.as_deref());
        shown.insert("location".into(), place.into());
    }
    put(&mut shown, "enumeration", record.enumeration.as_deref());
    put(&mut shown, "volume", record.volume.as_deref());
    put(&mut shown, "chronology", record.chronology.as_deref());
    put(&mut shown, "displaySummary", record.display_summary.as_deref());
    if let Some(id) = item.loan_type() {
        shown.insert("loanTypeId".into(), id.to_string().into());
        put(&mut shown, "loanTypeName", settings.loan_types.get(&id).map(|named| &*named.name));
    }
    shown.insert("status".into(), status.into());
    put(&mut shown, "callNumber", item.call_number());
    if record.effective_call_number_components.is_some() {
        let components = item.call_number_components().unwrap_or_else(|| json!({}));
        shown.insert("callNumberComponents".into(), components);
    }
    put(&mut shown, "copyNumber", item.copy_number());
    // FOLIO shows its stored snapshot here, which is updated shortly after a rename or a move. The current records are
    // used, as in the rest of the answer, so that one answer never mixes two states.
    let place = item_snapshot(item, settings);
    for key in [
        "itemEffectiveLocationId",
        "itemEffectiveLocationName",
        "retrievalServicePointId",
        "retrievalServicePointName",
    ] {
        put(&mut shown, key, place.get(key).and_then(Value::as_str));
    }
    Value::Object(shown)
}

fn title_summary(title: &Title) -> Value {
    let mut shown = Map::new();
    put(&mut shown, "title", title.title.as_deref());
    put_list(&mut shown, "identifiers", identifiers(title));
    let names: Vec<Value> =
        title.contributors.iter().map(|contributor| json!({"name": contributor.name})).collect();
    put_list(&mut shown, "contributorNames", names);
    let publication: Vec<Value> = title
        .publication
        .iter()
        .map(|publication| {
            let mut shown = Map::new();
            put(&mut shown, "publisher", publication.publisher.as_deref());
            put(&mut shown, "place", publication.place.as_deref());
            put(&mut shown, "dateOfPublication", publication.date_of_publication.as_deref());
            put(&mut shown, "role", publication.role.as_deref());
            Value::Object(shown)
        })
        .collect();
    put_list(&mut shown, "publication", publication);
    put_list(&mut shown, "editions", title.editions.iter().map(|edition| edition.as_str().into()).collect());
    Value::Object(shown)
}

fn person(patron: &Patron, settings: &CirculationSettings) -> Value {
    let mut shown = Map::new();
    put(&mut shown, "lastName", patron.personal.last_name.as_deref());
    put(&mut shown, "firstName", patron.personal.first_name.as_deref());
    put(&mut shown, "middleName", patron.personal.middle_name.as_deref());
    put(&mut shown, "barcode", patron.barcode.as_deref());
    if let Some(id) = patron.patron_group {
        if let Some(group) = settings.patron_groups.get(&id) {
            let mut named = Map::new();
            named.insert("id".into(), id.to_string().into());
            put(&mut named, "group", Some(&group.name));
            put(&mut named, "desc", group.description.as_deref());
            shown.insert("patronGroup".into(), named.into());
        }
        shown.insert("patronGroupId".into(), id.to_string().into());
    }
    Value::Object(shown)
}

fn delivery_address(request: &Map<String, Value>, requester: &Patron) -> Option<Value> {
    let kind = request.get("deliveryAddressTypeId")?.as_str()?;
    let address = requester.personal.addresses.iter().find(|address| address["addressTypeId"] == kind)?;
    let mut shown = Map::new();
    for key in ["addressTypeId", "addressLine1", "addressLine2", "city", "region", "postalCode", "countryId"]
    {
        put(&mut shown, key, address.get(key).and_then(Value::as_str));
    }
    Some(shown.into())
}
