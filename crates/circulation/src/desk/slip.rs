//! The contexts for staff slips: hold, transit and delivery slips at check-in, pick and search slips.

use crate::desk::item::Title;
use crate::desk::{ItemAtDesk, Patron, QueuedRequest};
use crate::settings::CirculationSettings;
use carrel_records::names::country;
use carrel_records::time;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use uuid::Uuid;

/// The context of a slip; without a request only item and time.
pub fn context(
    item: Value,
    request: Option<&QueuedRequest>,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Value {
    let mut context = json!({"item": item});
    if let Some(request) = request {
        context["request"] = self::request(request, settings);
        if let Some(requester) = &request.requester {
            context["requester"] =
                self::requester(requester, request.id_at("deliveryAddressTypeId"), settings);
        }
    }
    context["currentDateTime"] = instant(now).into();
    context
}

/// An instant in the format of slips.
pub fn instant(at: Timestamp) -> String {
    time::format(at).replace("+00:00", "Z")
}

/// An item with its title.
pub fn item(item: &ItemAtDesk, settings: &CirculationSettings) -> Value {
    let title = &item.title;
    let record = &item.record;
    let joined = |values: Vec<&str>| values.join("; ");
    let mut context = json!({
        "title": item.own_title(),
        "instanceHrid": title.hrid,
        "primaryContributor": item.primary_contributor(),
        "allContributors": joined(item.contributor_names().collect()),
        "datesOfPublication": joined(item.dates_of_publication().collect()),
        "editions": title.editions.join("; "),
        "seriesStatements": joined(item.series_statements()),
        "physicalDescriptions": title.physical_descriptions.join("; "),
        "barcode": record.barcode,
        "status": item.status,
        "enumeration": record.enumeration,
        "volume": record.volume,
        "chronology": record.chronology,
        "yearCaption": record.year_caption.join("; "),
        "materialType": named(record.material_type_id, &settings.material_types),
        "loanType": named(item.loan_type(), &settings.loan_types),
        "copy": item.copy_number().unwrap_or(""),
        "numberOfPieces": record.number_of_pieces,
        "displaySummary": record.display_summary,
        "descriptionOfPieces": record.description_of_pieces,
        "accessionNumber": record.accession_number,
        "administrativeNotes": record.administrative_notes.join("; "),
        "shelvingOrder": record.effective_shelving_order,
    });
    if let Some(location) = record.effective_location_id.and_then(|id| settings.locations.get(&id)) {
        context["effectiveLocationSpecific"] = location.name.as_str().into();
        context["effectiveLocationLibrary"] = named(location.library_id, &settings.libraries);
        context["effectiveLocationCampus"] = named(location.campus_id, &settings.campuses);
        context["effectiveLocationInstitution"] = named(location.institution_id, &settings.institutions);
        context["effectiveLocationDiscoveryDisplayName"] = location.discovery_display_name.clone().into();
        if let Some(primary) = location.primary_service_point.and_then(|id| settings.service_points.get(&id))
        {
            let elsewhere = location.effective_location_primary_service_point_name.as_deref();
            context["effectiveLocationPrimaryServicePointName"] = elsewhere.unwrap_or(&primary.name).into();
        }
    }
    if item.is_of_another_library() {
        context["effectiveLocationInstitution"] = record.lending_library_code.clone().into();
    }
    if let Some(components) = item.record.effective_call_number_components.as_ref().filter(|c| c.is_object())
    {
        for (key, shown) in
            [("callNumber", "callNumber"), ("prefix", "callNumberPrefix"), ("suffix", "callNumberSuffix")]
        {
            context[shown] = components.get(key).cloned().unwrap_or_default();
        }
    }
    context
}

/// An instance without an item.
pub fn title(title: &Title) -> Value {
    let item = ItemAtDesk { title: title.clone(), ..ItemAtDesk::default() };
    let joined = |values: Vec<&str>| values.join("; ");
    json!({
        "title": title.title,
        "instanceHrid": title.hrid,
        "primaryContributor": item.primary_contributor(),
        "allContributors": joined(item.contributor_names().collect()),
        "datesOfPublication": joined(item.dates_of_publication().collect()),
        "editions": title.editions.join("; "),
        // FOLIO quirk: without an item, series are joined with a stray apostrophe.
        "seriesStatements": item.series_statements().join("; '"),
        "physicalDescriptions": title.physical_descriptions.join("; "),
    })
}

/// A request, without its item and requester.
pub fn request(request: &QueuedRequest, settings: &CirculationSettings) -> Value {
    let mut context = Map::new();
    let mut put = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            context.insert(key.to_owned(), value.into());
        }
    };
    let text = |key: &str| Some(request.text(key).to_owned()).filter(|text| !text.is_empty());
    let date = |key: &str| text(key).map(|text| time::parse(&text).map_or(text, instant));
    put("requestID", Some(request.id.to_string()));
    let point = request.pickup_service_point().and_then(|id| settings.service_points.get(&id));
    put("servicePointPickup", point.map(|point| point.name.clone()));
    put("requestDate", date("requestDate"));
    put("requestExpirationDate", date("requestExpirationDate"));
    put("holdShelfExpirationDate", date("holdShelfExpirationDate"));
    put("additionalInfo", text("cancellationAdditionalInformation"));
    let reason = request.id_at("cancellationReasonId").and_then(|id| settings.cancellation_reasons.get(&id));
    put(
        "reasonForCancellation",
        reason.map(|reason| reason.public_description.clone().unwrap_or_else(|| reason.name.clone())),
    );
    let address = request.id_at("deliveryAddressTypeId").and_then(|id| settings.address_types.get(&id));
    put("deliveryAddressType", address.map(|address| address.name.clone()));
    put("patronComments", text("patronComments"));
    Value::Object(context)
}

/// A patron, with the address of the type that the request is to be delivered to.
pub fn requester(patron: &Patron, delivery_address: Option<Uuid>, settings: &CirculationSettings) -> Value {
    let personal = &patron.personal;
    let departments: Vec<&str> = patron
        .departments
        .iter()
        .filter_map(|id| Uuid::parse_str(id).ok())
        .filter_map(|id| settings.departments.get(&id))
        .map(|department| department.name.as_str())
        .collect();
    let group = patron.patron_group.and_then(|id| settings.patron_groups.get(&id));
    let mut context = json!({
        "firstName": personal.first_name,
        "preferredFirstName": personal.preferred_first_name.as_ref().or(personal.first_name.as_ref()),
        "lastName": personal.last_name,
        "middleName": personal.middle_name,
        "barcode": patron.barcode,
        "patronGroup": group.map_or("", |group| &group.name),
        "departments": departments.join("; "),
    });
    let text = |address: &Value, key: &str| address.get(key).cloned().unwrap_or_default();
    if let Some(address) = personal.addresses.iter().find(|address| address["primaryAddress"] == true) {
        context["primaryAddressLine1"] = text(address, "addressLine1");
        context["primaryAddressLine2"] = text(address, "addressLine2");
        context["primaryCity"] = text(address, "city");
        context["primaryStateProvRegion"] = text(address, "region");
        context["primaryZipPostalCode"] = text(address, "postalCode");
        context["primaryCountry"] = address["countryId"].as_str().and_then(country).into();
        context["primaryDeliveryAddressType"] = text(address, "addressTypeName");
    }
    let of_type = |address: &&Value| {
        address["addressTypeId"].as_str().and_then(|id| Uuid::parse_str(id).ok()) == delivery_address
    };
    if let Some(address) = personal.addresses.iter().filter(|_| delivery_address.is_some()).find(of_type) {
        for key in ["addressLine1", "addressLine2", "city", "region", "postalCode", "countryId"] {
            context[key] = text(address, key);
        }
        // FOLIO quirk: the name of the type is shown only if the stored address contains it.
        context["addressType"] = text(address, "addressTypeName");
    }
    context
}

fn named(id: Option<Uuid>, records: &HashMap<Uuid, crate::settings::Named>) -> Value {
    id.and_then(|id| records.get(&id)).map(|named| named.name.as_str()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slip_of_another_librarys_item_names_that_library_and_its_title() {
        let mut theirs = ItemAtDesk::default();
        theirs.record.dcb_item = Some(true);
        theirs.record.instance_title = Some("Theirs".into());
        theirs.record.lending_library_code = Some("LIB".into());
        theirs.title.title = Some("DCB title".into());
        let slip = item(&theirs, &CirculationSettings::blank());
        assert_eq!(
            (&slip["title"], &slip["effectiveLocationInstitution"]),
            (&json!("Theirs"), &json!("LIB"))
        );
    }
}
