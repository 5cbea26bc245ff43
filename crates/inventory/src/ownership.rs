//! Changes of ownership: items and holdings records move to another tenant of a consortium.
//!
//! Routes: `/inventory/items/update-ownership`, `/inventory/holdings/update-ownership`. There is no consortium, so a
//! valid request is refused like in a FOLIO tenant outside of one; nothing changes.

use carrel_platform::record_store::write::Document;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, Refusal};
use serde_json::Value;

const OF_ITEMS: &[&str] = &["toHoldingsRecordId", "itemIds", TENANT];
const OF_HOLDINGS: &[&str] = &["toInstanceId", "holdingsRecordIds", "targetLocationId", TENANT];
const TENANT: &str = "targetTenantId";

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("POST", "/inventory/items/update-ownership", |call| refuse(call, OF_ITEMS));
    router.on("POST", "/inventory/holdings/update-ownership", |call| refuse(call, OF_HOLDINGS));
}

async fn refuse(call: Call, required: &[&str]) -> Result<Answer, Failure> {
    let tenant = &call.tenant()?.id;
    match refusal(&call.object()?, required, tenant) {
        Some(refusal) => Err(refusal.into()),
        None => Err(Failure::Invalid(format!("{tenant} tenant is not in consortia"))),
    }
}

/// The refusal of an invalid request.
fn refusal(order: &Document, required: &[&str], tenant: &str) -> Option<Refusal> {
    let is_missing = |name: &str| match order.get(name) {
        None | Some(Value::Null) => true,
        Some(Value::Array(list)) => list.is_empty(),
        Some(_) => false,
    };
    if let Some(name) = required.iter().find(|name| is_missing(name)) {
        return Some(Refusal::new(format!("{name} is a required field")).with_null(*name));
    }
    (order.get(TENANT)? == tenant).then(|| {
        Refusal::new("targetTenantId field cannot be equal to source tenant id").with(TENANT, tenant)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_missing_property_is_named_and_the_own_tenant_is_refused() {
        let refusal_text = |order: Value| {
            let order = order.as_object().cloned().expect("an object");
            refusal(&order, OF_ITEMS, "here").map(|refusal| refusal.message)
        };
        let whole =
            |tenant: &str| json!({"toHoldingsRecordId": "h", "itemIds": ["i"], "targetTenantId": tenant});
        assert_eq!(refusal_text(json!({})).as_deref(), Some("toHoldingsRecordId is a required field"));
        let nothing = json!({"toHoldingsRecordId": "h", "itemIds": [], "targetTenantId": "there"});
        assert_eq!(refusal_text(nothing).as_deref(), Some("itemIds is a required field"));
        assert_eq!(
            refusal_text(whole("here")).as_deref(),
            Some("targetTenantId field cannot be equal to source tenant id")
        );
        assert_eq!(refusal_text(whole("there")), None);
    }
}
