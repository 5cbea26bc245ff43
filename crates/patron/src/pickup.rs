//! The service points that a patron may choose for pickup.

use super::shown_to_patron;
use carrel_circulation::settings::{CirculationSettings, ServicePoint};
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;
use carrel_records::shape::Shape;
use carrel_requests::allowed_service_points::{Allowed, AllowedQuery, allowed};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;
use uuid::Uuid;

pub(super) fn connect(router: &mut Router) {
    router.on("GET", "/patron/account/{accountId}/item/{itemId}/allowed-service-points", |call| async move {
        let points = of(&call, Some(call.id(1)?), None).await?;
        Ok(Answer::json(&json!({"allowedServicePoints": points})))
    });
    router.on(
        "GET",
        "/patron/account/{accountId}/instance/{instanceId}/allowed-service-points",
        |call| async move {
            let points = of(&call, None, Some(call.id(1)?)).await?;
            Ok(Answer::json(&json!({"allowedServicePoints": points})))
        },
    );
    router.on(
        "POST",
        "/patron/account/{accountId}/instance/{instanceId}/allowed-service-points-multi-item",
        |call| async move {
            call.id(1)?;
            let mut each = Vec::new();
            for item in items(call.object()?)? {
                let points = of(&call, Some(item), None).await?;
                each.push(json!({"itemId": item, "allowedServicePoints": points}));
            }
            Ok(Answer::json(&json!({"allowedServicePointsPerItem": each})))
        },
    );
}

static SHAPE: LazyLock<Shape> = LazyLock::new(|| Shape::parse("itemIds:array<string(uuid)>*", false));

fn items(mut body: Map<String, Value>) -> Result<Vec<Uuid>, Failure> {
    let refusals = SHAPE.check(&mut body);
    if !refusals.is_empty() {
        return Err(Failure::Refused(refusals));
    }
    let ids = body.get("itemIds").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    ids.iter()
        .map(|id| {
            let text = id.as_str().unwrap_or_default();
            Uuid::parse_str(text).map_err(|_| Failure::Invalid(format!("'{text}' is not a UUID")))
        })
        .collect()
}

/// The service points for an item or an instance, for any request type.
async fn of(call: &Call, item: Option<Uuid>, instance: Option<Uuid>) -> Result<Value, Failure> {
    let tenant = call.tenant()?;
    let query = AllowedQuery { requester: Some(call.id(0)?), item, instance, ..AllowedQuery::default() };
    let settings = CirculationSettings::of(tenant).await?;
    let allowed = allowed(&tenant.reader().await?, query, &settings).await.map_err(shown_to_patron)?;
    Ok(shown(&allowed, &settings))
}

/// Each service point once, by name.
fn shown(allowed: &Allowed, settings: &CirculationSettings) -> Value {
    let once: BTreeSet<Uuid> = allowed.values().flatten().copied().collect();
    let mut points: Vec<(&ServicePoint, Uuid)> =
        once.into_iter().filter_map(|id| Some((settings.service_points.get(&id)?, id))).collect();
    points.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    let points = points.into_iter().map(|(point, id)| {
        let mut shown = json!({"id": id, "name": point.name});
        if let Some(name) = &point.discovery_display_name {
            shown["discoveryName"] = name.as_str().into();
        }
        shown
    });
    points.collect()
}
