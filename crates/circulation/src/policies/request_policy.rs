//! Validation of request policies: their service points must be pickup locations.

use crate::records::policies::REQUEST_POLICY;
use carrel_platform::record_store::routes;
use carrel_platform::record_store::write::Document;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, Refusal, RefusalCode};
use serde_json::Value;
use std::collections::HashSet;
use uuid::Uuid;

pub(super) fn connect(router: &mut Router) {
    router.on("POST", REQUEST_POLICY.path, |call| async move {
        refuse(&call).await?;
        routes::create(&REQUEST_POLICY, call).await
    });
    router.on("PUT", "/request-policy-storage/request-policies/{id}", replace);
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    refuse(&call).await?;
    routes::replace(&REQUEST_POLICY, call).await
}

async fn refuse(call: &Call) -> Result<(), Failure> {
    if call.caller.profile.unchecked_records {
        return Ok(());
    }
    let document = call.object()?;
    refuse_if_no_point_is_named(&document).map_or(Ok(()), |refusal| Err(Failure::from(refusal)))?;
    let Some(named) = points_named(&document) else { return Ok(()) };
    let connection = call.tenant()?.writer().await?;
    let rows = connection
        .query(
            "SELECT id FROM service_point WHERE id = ANY($1) AND doc->'pickupLocation' = 'true'::jsonb",
            vec![named.iter().copied().collect::<Vec<Uuid>>().into()],
        )
        .await?;
    if rows.len() == named.len() {
        return Ok(());
    }
    Err(Refusal::new("One or more Pickup locations are no longer available")
        .code(RefusalCode::InvalidAllowedServicePoint)
        .into())
}

/// An empty list is refused; without a list every pickup location is allowed.
fn refuse_if_no_point_is_named(document: &Document) -> Option<Refusal> {
    let allowed = document.get("allowedServicePoints")?.as_object()?;
    let (kind, _) = allowed.iter().find(|(_, points)| points.as_array().is_some_and(Vec::is_empty))?;
    Some(
        Refusal::new("size must be between 1 and 2147483647")
            .with(format!("allowedServicePoints.{kind}"), "[]"),
    )
}

/// The service points of all request types; `None` if one is not an id, which the shape refuses.
fn points_named(document: &Document) -> Option<HashSet<Uuid>> {
    let allowed = document.get("allowedServicePoints")?.as_object()?;
    let named: Option<HashSet<Uuid>> = allowed
        .values()
        .filter_map(Value::as_array)
        .flatten()
        .map(|point| point.as_str().and_then(|id| Uuid::parse_str(id).ok()))
        .collect();
    named.filter(|points| !points.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(value: Value) -> Document {
        let Value::Object(document) = value else { panic!("an object") };
        document
    }

    #[test]
    fn service_points_of_all_types_are_gathered_once() {
        let point = "d761632a-3193-415b-84aa-a9efbe3d4765";
        let policy =
            document(json!({"allowedServicePoints": {"Page": [point], "Hold": [point], "Recall": null}}));
        assert_eq!(points_named(&policy).map(|points| points.len()), Some(1));
        assert_eq!(points_named(&document(json!({"name": "All"}))), None);
    }

    #[test]
    fn an_empty_list_of_service_points_is_refused() {
        let policy = document(json!({"allowedServicePoints": {"Hold": []}}));
        let refusal = refuse_if_no_point_is_named(&policy).expect("refused");
        assert_eq!(refusal.parameters[0].0, "allowedServicePoints.Hold");
    }
}
