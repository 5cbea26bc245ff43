//! The effective location of an item or a holdings record, computed from up to four locations in their documents.

use crate::fields::filled;
use serde_json::{Map, Value};

/// An item's effective location: its temporary or permanent one, else that of its holdings record.
pub fn of_item<'d>(
    item: &'d Map<String, Value>,
    holdings: Option<&'d Map<String, Value>>,
) -> Option<&'d str> {
    // An item of another library has its effective location in its document.
    let of_another_library = item.get("dcbItem") == Some(&Value::Bool(true));
    let named = if of_another_library { filled(item, "effectiveLocationId") } else { None };
    named
        .or_else(|| filled(item, "temporaryLocationId"))
        .or_else(|| filled(item, "permanentLocationId"))
        .or_else(|| holdings.and_then(of_holdings))
}

/// A holdings record's effective location: the temporary one, else the permanent one.
pub fn of_holdings(holdings: &Map<String, Value>) -> Option<&str> {
    filled(holdings, "temporaryLocationId").or_else(|| filled(holdings, "permanentLocationId"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(temporary: Option<&str>, permanent: Option<&str>) -> Map<String, Value> {
        let mut record = Map::new();
        crate::fields::set(&mut record, "temporaryLocationId", temporary.map(|id| json!(id)));
        crate::fields::set(&mut record, "permanentLocationId", permanent.map(|id| json!(id)));
        record
    }

    #[test]
    fn the_nearest_and_most_passing_location_counts() {
        let holdings = record(Some("holdings temporary"), Some("holdings permanent"));
        for (item, location) in [
            (record(Some("temporary"), Some("permanent")), "temporary"),
            (record(None, Some("permanent")), "permanent"),
            (record(None, None), "holdings temporary"),
        ] {
            assert_eq!(of_item(&item, Some(&holdings)), Some(location));
        }
        let holdings = record(None, Some("holdings permanent"));
        assert_eq!(of_item(&record(None, None), Some(&holdings)), Some("holdings permanent"));
        assert_eq!(of_item(&record(None, None), None), None);
    }
}
