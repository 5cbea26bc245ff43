//! The hold shelf clearance report: items awaiting pickup whose request was cancelled or has expired.
//!
//! Route: `GET /circulation/requests-reports/hold-shelf-clearance/{id}` of a service point. Reads the items, and for
//! each the request that was closed last.

use crate::read;
use crate::view::{DisplayContext, extended};
use carrel_circulation::request_snapshot::Related;
use carrel_circulation::settings::CirculationSettings;
use carrel_platform::http::pretty;
use carrel_platform::{Answer, Router};
use serde_json::{Value, json};
use std::sync::LazyLock;

pub fn connect(router: &mut Router) {
    router.on("GET", "/circulation/requests-reports/hold-shelf-clearance/{id}", |call| async move {
        let tenant = call.tenant()?;
        let settings = CirculationSettings::of(tenant).await?;
        let connection = tenant.reader().await?;
        let binds = vec![call.parameter(0).to_lowercase().into()];
        let found = read::found(&connection, &GIVEN_UP, binds).await?;
        let requests: Vec<Value> = found
            .iter()
            .map(|found| {
                // FOLIO quirk: of the related records only the item is read; instance and requester are shown from the
                // snapshots, the pickup service point by its id.
                let related = Related { item: found.item.as_ref(), ..Related::default() };
                let mut request = extended(
                    &found.document,
                    &DisplayContext { related, ..DisplayContext::default() },
                    &settings,
                );
                if let Some(request) = request.as_object_mut() {
                    request.remove("pickupServicePoint");
                }
                request
            })
            .collect();
        Ok(Answer::json_bytes(pretty(&json!({"requests": requests, "totalRecords": requests.len()}))))
    });
}

/// The last request that was cancelled or has expired, of items without a request awaiting pickup.
static GIVEN_UP: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT last.*, carrel.instant(last.doc->>'awaitingPickupRequestClosedDate') AS place
         FROM item_state
         CROSS JOIN LATERAL (
             SELECT request.* FROM request
             WHERE request.item_id = item_state.item_id
               AND request.doc->>'status' IN ('Closed - Pickup expired', 'Closed - Cancelled')
               AND request.doc->>'awaitingPickupRequestClosedDate' <> ''
             ORDER BY carrel.instant(request.doc->>'awaitingPickupRequestClosedDate') DESC NULLS LAST
             LIMIT 1) last
         WHERE {awaiting_pickup} AND lower(last.doc->>'pickupServicePointId') = $1
           AND NOT EXISTS (SELECT 1 FROM request waits WHERE waits.item_id = item_state.item_id
             AND waits.is_open AND waits.doc->>'status' = 'Open - Awaiting pickup')",
        awaiting_pickup = super::status_is("awaiting pickup")
    )
});
