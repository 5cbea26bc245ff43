//! Effective call numbers and shelving orders of items.

mod shelf_key;
mod sortable;

use crate::fields::{filled, set};
use serde_json::{Map, Value};

/// FOLIO's ids of the call number types whose shelf order is known.
const DEWEY: &str = "03dd64d0-5626-4ecd-8ece-4531e0069f35";
const LIBRARY_OF_CONGRESS: &str = "95467209-6d7b-468b-94df-0f5d7ad2747d";
const NATIONAL_LIBRARY_OF_MEDICINE: &str = "054d460d-d6b9-4469-9e37-7a78a2266655";
const SUPERINTENDENT_OF_DOCUMENTS: &str = "fc388041-6cd0-4806-8a74-ebe3b9ab4c6e";

/// Component, property of the item, property of the holdings record.
const COMPONENTS: [(&str, &str, &str); 4] = [
    ("callNumber", "itemLevelCallNumber", "callNumber"),
    ("prefix", "itemLevelCallNumberPrefix", "callNumberPrefix"),
    ("suffix", "itemLevelCallNumberSuffix", "callNumberSuffix"),
    ("typeId", "itemLevelCallNumberTypeId", "callNumberTypeId"),
];

/// The effective call number: each component is the item's own, else that of the holdings record.
pub fn components(item: &Map<String, Value>, holdings: Option<&Map<String, Value>>) -> Value {
    let mut components = Map::new();
    for (name, of_item, of_holdings) in COMPONENTS {
        let value = filled(item, of_item)
            .or_else(|| holdings.and_then(|holdings| filled(holdings, of_holdings)))
            .map(str::to_owned);
        set(&mut components, name, value);
    }
    components.into()
}

/// The shelving order; `None` without a call number.
///
/// `components` is the effective call number.
pub fn shelving_order(item: &Map<String, Value>, components: &Value) -> Option<String> {
    let component =
        |name: &str| components.get(name).and_then(Value::as_str).map(str::trim).unwrap_or_default();
    if component("callNumber").is_empty() {
        return None;
    }
    let mut parts = vec![component("callNumber")];
    let of_item = ["volume", "enumeration", "chronology", "copyNumber"];
    parts.extend(of_item.iter().filter_map(|name| filled(item, name)).map(str::trim));
    let number = parts.join(" ");
    let key = match component("typeId") {
        DEWEY => shelf_key::dewey(&number),
        LIBRARY_OF_CONGRESS | NATIONAL_LIBRARY_OF_MEDICINE => shelf_key::library_of_congress(&number),
        SUPERINTENDENT_OF_DOCUMENTS => shelf_key::superintendent_of_documents(&number),
        _ => number,
    };
    let mut key = key.trim().to_owned();
    let suffix = component("suffix");
    if !suffix.is_empty() {
        key.push(' ');
        key.push_str(suffix);
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().expect("an object")
    }

    #[test]
    fn each_component_of_the_item_goes_before_that_of_the_holdings_record() {
        let item = object(json!({"itemLevelCallNumber": "A 1", "itemLevelCallNumberSuffix": " "}));
        let holdings =
            object(json!({"callNumber": "B 2", "callNumberPrefix": "Ref", "callNumberSuffix": "x"}));
        assert_eq!(
            components(&item, Some(&holdings)),
            json!({"callNumber": "A 1", "prefix": "Ref", "suffix": "x"})
        );
        assert_eq!(components(&item, None), json!({"callNumber": "A 1"}));
    }

    #[test]
    fn the_shelving_order_counts_volume_and_copy_and_ends_with_the_suffix() {
        let item = object(json!({"volume": "v. 2 ", "copyNumber": "c.3", "chronology": ""}));
        let plain = json!({"callNumber": " 123 ", "suffix": "oversize"});
        assert_eq!(shelving_order(&item, &plain).as_deref(), Some("123 v. 2 c.3 oversize"));
        let classed = json!({"callNumber": "QA76 .B5", "typeId": LIBRARY_OF_CONGRESS});
        assert_eq!(shelving_order(&item, &classed).as_deref(), Some("QA 276 B5 V 12 C 13"));
    }

    #[test]
    fn without_call_number_there_is_no_shelving_order() {
        assert_eq!(shelving_order(&Map::new(), &json!({"suffix": "x"})), None);
    }
}
