//! The actual cost record of a lost item: a snapshot of patron, item and instance for the staff who determine the cost.

use crate::desk::ItemAtDesk;
use crate::lost_items::charge::{ActualCost, ChargingFacts, LostLoan};
use crate::lost_items::policy_of;
use crate::settings::CirculationSettings;
use carrel_records::time;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Ids of the types of the instance's identifiers.
pub fn identifier_types(item: &ItemAtDesk) -> Vec<Uuid> {
    let type_of = |identifier: &Value| Uuid::parse_str(identifier["identifierTypeId"].as_str()?).ok();
    item.title.identifiers.iter().filter_map(type_of).collect()
}

/// An open record.
pub fn document(
    loan: &LostLoan,
    cost: &ActualCost,
    owner: &(Uuid, String),
    facts: &ChargingFacts,
    settings: &CirculationSettings,
) -> Map<String, Value> {
    let mut record = Map::new();
    record.insert("lossType".into(), (&loan.loss.item_status()).into());
    record.insert("lossDate".into(), time::format(loan.lost).into());
    if let Some(end) = policy_of(loan.document, settings).charging_ends(loan.lost) {
        record.insert("expirationDate".into(), time::format(end).into());
    }
    record.insert("status".into(), "Open".into());
    record.insert("user".into(), user(loan, settings));
    record.insert("loan".into(), json!({"id": loan.id}));
    record.insert("item".into(), item(loan.item, facts, settings));
    record.insert("instance".into(), instance(loan.item, facts));
    let (type_id, type_name) =
        cost.fee_type.as_ref().map_or((None, None), |(id, name)| (Some(id), Some(name)));
    let fee = present([
        ("ownerId", json!(owner.0)),
        ("owner", json!(owner.1)),
        ("typeId", json!(type_id)),
        ("type", json!(type_name)),
    ]);
    record.insert("feeFine".into(), fee.into());
    record
}

/// The properties that have values.
fn present<const N: usize>(properties: [(&str, Value); N]) -> Map<String, Value> {
    let has_value = |(_, value): &(&str, Value)| !value.is_null();
    properties.into_iter().filter(has_value).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn user(loan: &LostLoan, settings: &CirculationSettings) -> Value {
    let Some(patron) = loan.patron else { return json!({"id": loan.document.get("userId")}) };
    let group = patron.patron_group.and_then(|id| settings.patron_groups.get(&id));
    Value::Object(present([
        ("id", json!(patron.id)),
        ("barcode", json!(patron.barcode)),
        ("firstName", json!(patron.personal.first_name)),
        ("lastName", json!(patron.personal.last_name)),
        ("middleName", json!(patron.personal.middle_name)),
        ("patronGroupId", json!(patron.patron_group)),
        ("patronGroup", json!(group.map(|group| &group.name))),
    ]))
}

fn item(item: &ItemAtDesk, facts: &ChargingFacts, settings: &CirculationSettings) -> Value {
    let record = &item.record;
    let location_name = |id: Option<Uuid>| {
        json!(id.and_then(|id| settings.locations.get(&id)).map(|location| &location.name))
    };
    let loan_type = item.loan_type();
    let loan_type_name = loan_type.and_then(|id| settings.loan_types.get(&id)).map(|named| &named.name);
    Value::Object(present([
        ("id", json!(item.id)),
        ("barcode", json!(record.barcode)),
        ("materialTypeId", json!(record.material_type_id)),
        ("materialType", item.material_type_name(settings).into()),
        ("permanentLocationId", json!(facts.permanent_location)),
        ("permanentLocation", location_name(facts.permanent_location)),
        ("effectiveLocationId", json!(record.effective_location_id)),
        ("effectiveLocation", location_name(record.effective_location_id)),
        ("loanTypeId", json!(loan_type)),
        ("loanType", json!(loan_type_name)),
        ("holdingsRecordId", json!(item.holdings_id)),
        ("effectiveCallNumberComponents", json!(item.call_number_components())),
        ("volume", json!(record.volume)),
        ("enumeration", json!(record.enumeration)),
        ("chronology", json!(record.chronology)),
        ("displaySummary", json!(record.display_summary)),
        ("copyNumber", json!(record.copy_number)),
    ]))
}

fn instance(item: &ItemAtDesk, facts: &ChargingFacts) -> Value {
    let identifier = |identifier: &Value| {
        let id = identifier["identifierTypeId"].as_str().and_then(|id| Uuid::parse_str(id).ok());
        let name = id.and_then(|id| facts.identifier_types.get(&id)).map_or("", String::as_str);
        json!({"value": identifier["value"], "identifierTypeId": identifier["identifierTypeId"],
            "identifierType": name})
    };
    let contributors: Vec<Value> = item.contributor_names().map(|name| json!({"name": name})).collect();
    json!({
        "id": item.instance_id,
        "title": item.title(),
        "identifiers": item.title.identifiers.iter().map(identifier).collect::<Vec<_>>(),
        "contributors": contributors,
    })
}
