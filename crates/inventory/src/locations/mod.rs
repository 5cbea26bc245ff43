//! Locations and service points, and the validation of their documents.
//!
//! Routes: GET, POST and PUT of `/locations`, POST and PUT of `/service-points`; the rest is plain.

use crate::fields::filled;
use crate::records::locations::{LOCATION, SERVICE_POINT};
use crate::validated_records;
use carrel_platform::record_store::write::Document;
use carrel_platform::record_store::{read, stream};
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, Refusal};
use serde_json::Value;
use std::collections::HashSet;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    validated_records::connect(router, &LOCATION, refusals_of_location);
    validated_records::connect(router, &SERVICE_POINT, refusals_of_service_point);
    router.on("GET", LOCATION.path, list_locations);
}

/// Shadow locations represent locations of other libraries and are listed only on request.
async fn list_locations(call: Call) -> Result<Answer, Failure> {
    let mut requested = read::PageRequest::read(&call.query)?;
    if call.query.get("includeShadowLocations") != Some("true") {
        let not_shadow = read::parse("cql.allRecords=1 NOT isShadow==true")?;
        requested.query = Some(match requested.query {
            Some(query) => query.and(not_shadow.node),
            None => not_shadow,
        });
    }
    stream::plain(&call, &LOCATION, &requested).await
}

/// A location needs service points, without duplicates, including the primary one.
fn refusals_of_location(location: &Document) -> Vec<Refusal> {
    let served: Vec<&str> = location
        .get("servicePointIds")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let refusal = |field: &str, words: &str| Refusal::new(words).with_null(field).of_storage();
    let mut refusals = Vec::new();
    if served.is_empty() {
        refusals
            .push(refusal("servicePointIds", "A location must have at least one Service Point assigned."));
    }
    if served.len() != served.iter().collect::<HashSet<_>>().len() {
        refusals.push(refusal("servicePointIds", "A Service Point can only appear once on a Location."));
    }
    if !filled(location, "primaryServicePoint").is_some_and(|primary| served.contains(&primary)) {
        refusals.push(refusal(
            "primaryServicePoint",
            "A Location's Primary Service point must be included as a Service Point.",
        ));
    }
    refusals
}

/// A pickup location has a hold shelf expiry period, another service point has none.
fn refusals_of_service_point(service_point: &Document) -> Vec<Refusal> {
    let is_pickup_location = service_point.get("pickupLocation") == Some(&Value::Bool(true));
    let has_period = service_point.get("holdShelfExpiryPeriod").is_some_and(|period| !period.is_null());
    let words = match (is_pickup_location, has_period) {
        (false, true) => {
            "Hold shelf expiry period cannot be specified when service point cannot be used for pickup"
        }
        (true, false) => {
            "Hold shelf expiry period must be specified when service point can be used for pickup."
        }
        (true, true) | (false, false) => return Vec::new(),
    };
    vec![Refusal::new(words).with("name", filled(service_point, "name").unwrap_or_default()).of_storage()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn number_of(refusals: fn(&Document) -> Vec<Refusal>, document: Value) -> usize {
        refusals(document.as_object().expect("an object")).len()
    }

    #[test]
    fn a_location_names_its_primary_service_point_among_its_service_points() {
        for (document, faults) in [
            (json!({"primaryServicePoint": "a", "servicePointIds": ["a", "b"]}), 0),
            (json!({"primaryServicePoint": "c", "servicePointIds": ["a", "b"]}), 1),
            (json!({"primaryServicePoint": "a", "servicePointIds": ["a", "a"]}), 1),
            (json!({"primaryServicePoint": "a"}), 2),
        ] {
            assert_eq!(number_of(refusals_of_location, document.clone()), faults, "{document}");
        }
    }

    #[test]
    fn only_a_pickup_location_has_a_hold_shelf_expiry_period() {
        let period = json!({"duration": 1, "intervalId": "Days"});
        for (document, faults) in [
            (json!({"pickupLocation": true, "holdShelfExpiryPeriod": period}), 0),
            (json!({"pickupLocation": true}), 1),
            (json!({"pickupLocation": false, "holdShelfExpiryPeriod": period}), 1),
            (json!({}), 0),
        ] {
            assert_eq!(number_of(refusals_of_service_point, document.clone()), faults, "{document}");
        }
    }
}
