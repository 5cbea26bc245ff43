//! Items for staff: with title, contributors, and the names of referenced records.
//!
//! Routes: `/inventory/items` (GET by query, POST, DELETE), `/inventory/items/{id}` (GET, PUT, PATCH, DELETE),
//! `/inventory/items/retrieve`, `/inventory/items-by-holdings-id`, `/inventory/tenant-items`. Reads items with holdings record, instance,
//! types and locations; changes items through their own use case.

mod circulation_notes;
mod facts;
mod route;
mod shape;
mod tenant_items;

pub use route::routes;
pub(crate) use route::show;

use carrel_platform::record_store::write::Document;
use carrel_records::{Failure, Refusal};
use serde_json::Value;

/// Refuses changes of an item that staff cannot make by hand.
fn refuse_replacement(old: &Value, new: &Document) -> Result<(), Failure> {
    if old.get("hrid") != new.get("hrid") {
        let refusal = Refusal::new("HRID can not be updated");
        return Err(match new.get("hrid").and_then(Value::as_str) {
            Some(hrid) => refusal.with("hrid", hrid).into(),
            None => refusal.with_null("hrid").into(),
        });
    }
    let status = |item: Option<&Value>| {
        item.and_then(|status| status.get("name")).and_then(Value::as_str).map(str::to_owned)
    };
    if status(old.get("status")).as_deref() == Some("Claimed returned")
        && status(new.get("status")).as_deref() == Some("Missing")
    {
        return Err(Refusal::new("Claimed returned item cannot be marked as missing")
            .with("status.name", "Missing")
            .into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(old: Value, new: Value) -> bool {
        refuse_replacement(&old, new.as_object().expect("an object")).is_err()
    }

    #[test]
    fn an_hrid_stays() {
        assert!(refused(json!({"hrid": "it1"}), json!({"hrid": "it2"})));
        assert!(refused(json!({"hrid": "it1"}), json!({})));
        assert!(!refused(json!({"hrid": "it1"}), json!({"hrid": "it1"})));
    }

    #[test]
    fn an_item_claimed_returned_is_not_set_to_missing_by_hand() {
        let (claimed, missing) =
            (json!({"status": {"name": "Claimed returned"}}), json!({"status": {"name": "Missing"}}));
        assert!(refused(claimed.clone(), missing.clone()));
        assert!(!refused(missing.clone(), missing));
        assert!(!refused(claimed.clone(), claimed));
    }
}
