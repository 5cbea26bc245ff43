//! Computed properties of an item: effective location and call number, shelving order, ids of circulation notes. Values
//! only.

use crate::fields::set;
use crate::{call_number, effective_location};
use carrel_platform::record_store::write::{Document, uuid_time};
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

/// Computes effective location, call number and shelving order from the item and its holdings record, if it has one.
pub fn compute(item: &mut Document, holdings: Option<&Document>) {
    let location = effective_location::of_item(item, holdings).map(str::to_owned);
    set(item, "effectiveLocationId", location);
    let components = call_number::components(item, holdings);
    let order = call_number::shelving_order(item, &components);
    item.insert("effectiveCallNumberComponents".into(), components);
    set(item, "effectiveShelvingOrder", order);
}

/// Assigns ids to circulation notes.
pub fn name_circulation_notes(item: &mut Document, now: Timestamp) {
    let notes = item.get_mut("circulationNotes").and_then(Value::as_array_mut).into_iter().flatten();
    for note in
        notes.filter_map(Value::as_object_mut).filter(|note| note.get("id").is_none_or(Value::is_null))
    {
        note.insert("id".into(), Uuid::new_v7(uuid_time(now)).to_string().into());
    }
}

/// Sets the status date of a new item to now; in a batch a sent date is kept, as in FOLIO.
pub fn date_new_status(item: &mut Document, keeps_date: bool, now: &str) {
    if let Some(Value::Object(status)) = item.get_mut("status")
        && !(keeps_date && status.get("date").is_some_and(Value::is_string))
    {
        status.insert("date".into(), now.into());
    }
}

/// Keeps the status date of a replaced item unless the status changes.
pub fn date_status(item: &mut Document, old: &Value, now: &str) {
    let Some(Value::Object(status)) = item.get_mut("status") else { return };
    let same = status.get("name") == old.pointer("/status/name");
    let date = if same { old.pointer("/status/date").cloned() } else { Some(now.into()) };
    set(status, "date", date);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Document {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn an_item_without_holdings_record_is_computed_from_itself() {
        let mut item = object(json!({"effectiveLocationId": "sent", "effectiveShelvingOrder": "sent"}));
        compute(&mut item, None);
        assert_eq!(Value::Object(item), json!({"effectiveCallNumberComponents": {}}));
    }

    #[test]
    fn an_item_takes_location_and_call_number_from_its_holdings_record() {
        let mut item = object(json!({"itemLevelCallNumberPrefix": "Ref"}));
        let holdings = object(json!({"permanentLocationId": "main", "callNumber": "QA 76"}));
        compute(&mut item, Some(&holdings));
        assert_eq!(item["effectiveLocationId"], "main");
        assert_eq!(item["effectiveShelvingOrder"], "QA 76");
        assert_eq!(item["effectiveCallNumberComponents"], json!({"callNumber": "QA 76", "prefix": "Ref"}));
    }

    #[test]
    fn a_status_keeps_its_date_until_its_name_changes() {
        let old = json!({"status": {"name": "Available", "date": "before"}});
        for (name, date) in [("Available", "before"), ("Missing", "now")] {
            let mut item = object(json!({"status": {"name": name, "date": "sent"}}));
            date_status(&mut item, &old, "now");
            assert_eq!(item["status"]["date"], date);
        }
    }

    #[test]
    fn a_new_status_is_of_now_unless_a_batch_brings_its_date() {
        let status = json!({"status": {"name": "Available", "date": "sent"}});
        let mut item = object(status.clone());
        date_new_status(&mut item, false, "now");
        assert_eq!(item["status"]["date"], "now");
        let mut item = object(status);
        date_new_status(&mut item, true, "now");
        assert_eq!(item["status"]["date"], "sent");
    }
}
