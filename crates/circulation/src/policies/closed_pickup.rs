//! A service point that is no longer a pickup location is removed from all request policies; a request type that was
//! allowed only there is not allowed any more, as in FOLIO.

use crate::records::policies::REQUEST_POLICY;
use carrel_platform::http::Caller;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::{Json, Pipeline, Tenant};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

/// Removes a service point from all request policies, unless it is a pickup location again; returns their number.
pub async fn forget(tenant: &Tenant, point: Uuid, now: Timestamp) -> Result<usize, Failure> {
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    let open = pipeline.add(
        "SELECT 1 FROM service_point WHERE id = $1 AND doc->'pickupLocation' = 'true'::jsonb",
        vec![point.into()],
    );
    let policies = pipeline.add(
        "SELECT id, doc FROM request_policy WHERE doc->'allowedServicePoints' IS NOT NULL
         ORDER BY id FOR NO KEY UPDATE",
        vec![],
    );
    let results = tx.send(pipeline).await?;
    if results.first(open).is_some() {
        return Ok(0);
    }
    let mut pipeline = Pipeline::new();
    let mut changed = 0;
    for row in results.rows(policies) {
        let (id, stored): (Uuid, Json) = (row.get(0), row.get(1));
        let stored = stored.parse();
        let Some(document) = stored.as_object().and_then(|policy| without(policy, point)) else { continue };
        let ready =
            write::complete_replacement(&REQUEST_POLICY, id, document, &stored, &Caller::default(), now)?;
        write::update(&mut pipeline, tenant, &REQUEST_POLICY, &ready, &stored, now);
        changed += 1;
    }
    if changed > 0 {
        tx.send_and_commit(pipeline).await?;
    }
    Ok(changed)
}

/// The policy without the service point; `None` if it does not contain it.
fn without(policy: &Document, point: Uuid) -> Option<Document> {
    let point = point.to_string();
    let mut after = policy.clone();
    let allowed = after.get_mut("allowedServicePoints")?.as_object_mut()?;
    let mut named = false;
    let mut nowhere = Vec::new();
    for (kind, points) in allowed.iter_mut() {
        let Value::Array(points) = points else { continue };
        let before = points.len();
        points.retain(|named| !named.as_str().is_some_and(|id| id.eq_ignore_ascii_case(&point)));
        named |= points.len() < before;
        if points.is_empty() {
            nowhere.push(kind.clone());
        }
    }
    if !named {
        return None;
    }
    // A type that is `null` has no list of service points, like an absent one.
    allowed.retain(|kind, points| !points.is_null() && !nowhere.contains(kind));
    let none_left = allowed.is_empty();
    if none_left {
        after.remove("allowedServicePoints");
    }
    if let Some(Value::Array(kinds)) = after.get_mut("requestTypes") {
        kinds.retain(|kind| !kind.as_str().is_some_and(|kind| nowhere.iter().any(|gone| gone == kind)));
    }
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const POINT: Uuid = Uuid::from_u128(7);

    fn left(policy: Value) -> Option<Value> {
        without(policy.as_object().expect("an object"), POINT).map(Value::Object)
    }

    #[test]
    fn a_type_that_is_allowed_elsewhere_stays() {
        let policy = json!({"requestTypes": ["Hold"], "allowedServicePoints": {"Hold": [POINT, "other"]}});
        assert_eq!(
            left(policy),
            Some(json!({"requestTypes": ["Hold"], "allowedServicePoints": {"Hold": ["other"]}}))
        );
    }

    #[test]
    fn a_type_that_was_allowed_nowhere_else_goes() {
        let policy = json!({"requestTypes": ["Hold", "Page"], "allowedServicePoints": {"Hold": [POINT]}});
        assert_eq!(left(policy), Some(json!({"requestTypes": ["Page"]})));
    }

    #[test]
    fn types_that_are_null_do_not_keep_an_empty_object() {
        let policy = json!({"requestTypes": ["Hold"],
            "allowedServicePoints": {"Hold": [POINT], "Page": null, "Recall": null}});
        assert_eq!(left(policy), Some(json!({"requestTypes": []})));
    }

    #[test]
    fn a_policy_that_does_not_name_it_is_left_alone() {
        assert_eq!(left(json!({"allowedServicePoints": {"Hold": ["other"]}})), None);
        assert_eq!(left(json!({"requestTypes": ["Hold"]})), None);
    }
}
