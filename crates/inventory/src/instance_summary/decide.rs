//! The summary of an instance. Values only.

use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashSet};

/// Facts about an instance.
#[derive(Debug, Default)]
pub struct Facts {
    pub instance: Value,
    pub instance_type: Option<Named>,
    pub mode_of_issuance: Option<Named>,
    pub formats: Vec<Named>,
    pub nature_of_content: Vec<Named>,
    pub holdings: Vec<Holdings>,
    /// Distinct, including those bound with the instance.
    pub items: Vec<Item>,
}

/// A record of reference data, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Named {
    pub name: String,
    pub id: String,
}

/// A holdings record of the instance.
#[derive(Debug, Default)]
pub struct Holdings {
    pub is_suppressed: bool,
    /// Whether it is bound with others.
    pub is_bound: bool,
    pub addresses: Vec<Value>,
}

/// An item of the instance.
#[derive(Debug, Default)]
pub struct Item {
    pub is_suppressed: bool,
    pub holdings_are_suppressed: bool,
    pub shelving_order: Option<String>,
    pub addresses: Vec<Value>,
    pub material_type: Option<Named>,
}

impl Item {
    fn is_hidden(&self) -> bool {
        self.is_suppressed || self.holdings_are_suppressed
    }
}

/// FOLIO's summary.
pub fn summary(facts: &Facts) -> Value {
    let items = |counts: fn(&Item) -> bool| facts.items.iter().filter(|item| counts(item)).count();
    let suppressed = facts.holdings.iter().filter(|record| record.is_suppressed).count();
    let mut reference_values = Map::new();
    reference_values.insert("instanceFormats".into(), json!(by_name(&facts.formats)));
    reference_values.insert("natureOfContentTerms".into(), json!(by_name(&facts.nature_of_content)));
    reference_values.insert("instanceType".into(), json!(facts.instance_type));
    if let Some(mode) = &facts.mode_of_issuance {
        reference_values.insert("modeOfIssuance".into(), json!(mode));
    }
    json!({
        "instance": facts.instance,
        "isBoundWith": facts.holdings.iter().any(|record| record.is_bound),
        "recordCounts": {
            "holdings": {
                "total": facts.holdings.len(),
                "suppressedFromDiscovery": suppressed,
                "notSuppressedFromDiscovery": facts.holdings.len() - suppressed,
            },
            "items": {
                "total": facts.items.len(),
                "suppressedFromDiscovery": items(|item| item.is_suppressed),
                "suppressedByHoldings": items(|item| item.holdings_are_suppressed),
                "suppressedFromDiscoveryOrByHoldings": items(Item::is_hidden),
                "notSuppressedFromDiscovery": items(|item| !item.is_hidden()),
            },
        },
        "aggregates": {
            "allRecords": aggregate(facts, false),
            "notSuppressedFromDiscoveryRecords": aggregate(facts, true),
        },
        "referenceValues": reference_values,
    })
}

/// Aggregates over all items, or over those that discovery shows.
fn aggregate(facts: &Facts, only_seen: bool) -> Value {
    let items: Vec<&Item> = facts.items.iter().filter(|item| !(only_seen && item.is_hidden())).collect();
    let records = facts.holdings.iter().filter(|record| !(only_seen && record.is_suppressed));
    let of_title = facts.instance.get("electronicAccess").and_then(Value::as_array).into_iter().flatten();
    let mut known = HashSet::new();
    let addresses: Vec<&Value> = of_title
        .chain(items.iter().flat_map(|item| &item.addresses))
        .chain(records.flat_map(|record| &record.addresses))
        .filter(|address| {
            let uri = address.get("uri").and_then(Value::as_str).unwrap_or_default();
            !uri.is_empty() && known.insert(uri)
        })
        .collect();
    let types: BTreeSet<&Named> = items.iter().filter_map(|item| item.material_type.as_ref()).collect();
    json!({
        "itemDerivedFields": {
            "effectiveShelvingOrder": items.iter().filter_map(|item| item.shelving_order.as_ref()).min(),
        },
        "electronicAccess": addresses,
        "referenceValues": {"itemMaterialTypes": types},
    })
}

fn by_name(named: &[Named]) -> BTreeSet<&Named> {
    named.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(order: &str, is_suppressed: bool, holdings_are_suppressed: bool) -> Item {
        Item {
            is_suppressed,
            holdings_are_suppressed,
            shelving_order: Some(order.to_owned()),
            addresses: vec![json!({"uri": "http://same"}), json!({"uri": order}), json!({"uri": ""})],
            material_type: Some(Named { name: "book".into(), id: "1".into() }),
        }
    }

    #[test]
    fn an_item_is_hidden_by_itself_or_by_its_holdings_record() {
        let items = vec![item("a", true, true), item("b", false, true), item("c", false, false)];
        let holdings = vec![Holdings { is_suppressed: true, ..Holdings::default() }, Holdings::default()];
        let summarized = summary(&Facts { items, holdings, ..Facts::default() });
        assert_eq!(
            summarized["recordCounts"]["items"],
            json!({"total": 3, "suppressedFromDiscovery": 1, "suppressedByHoldings": 2,
                "suppressedFromDiscoveryOrByHoldings": 2, "notSuppressedFromDiscovery": 1})
        );
        assert_eq!(
            summarized["recordCounts"]["holdings"],
            json!({"total": 2, "suppressedFromDiscovery": 1, "notSuppressedFromDiscovery": 1})
        );
    }

    #[test]
    fn shelving_order_and_distinct_links_are_aggregated_over_all_and_over_visible_items() {
        let summarized = summary(&Facts {
            instance: json!({"electronicAccess": [{"uri": "http://same", "linkText": "first"}]}),
            items: vec![item("b", false, false), item("a", true, false)],
            ..Facts::default()
        });
        let (all, seen) = (
            &summarized["aggregates"]["allRecords"],
            &summarized["aggregates"]["notSuppressedFromDiscoveryRecords"],
        );
        assert_eq!(all["itemDerivedFields"]["effectiveShelvingOrder"], "a");
        assert_eq!(seen["itemDerivedFields"]["effectiveShelvingOrder"], "b");
        assert_eq!(
            seen["electronicAccess"],
            json!([{"uri": "http://same", "linkText": "first"}, {"uri": "b"}])
        );
        assert_eq!(all["electronicAccess"].as_array().map(Vec::len), Some(3));
        assert_eq!(all["referenceValues"]["itemMaterialTypes"], json!([{"id": "1", "name": "book"}]));
    }

    #[test]
    fn an_instance_without_items_has_no_shelving_order_and_a_missing_mode_of_issuance_is_left_out() {
        let summarized = summary(&Facts::default());
        let all = &summarized["aggregates"]["allRecords"];
        assert_eq!(all["itemDerivedFields"], json!({"effectiveShelvingOrder": null}));
        assert!(summarized["referenceValues"].get("modeOfIssuance").is_none());
        assert_eq!(summarized["isBoundWith"], false);
    }
}
