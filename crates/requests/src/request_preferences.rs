//! Request preferences: how a patron wants to receive requested items.
//!
//! Routes: POST and PUT of `/request-preference-storage/request-preference`, one for each patron; the others are those
//! of plain records.

use crate::records::REQUEST_PREFERENCE;
use carrel_circulation::policies::message_of;
use carrel_platform::record_store::routes;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, Refusal};
use serde_json::Value;
use std::sync::Arc;

pub fn connect(router: &mut Router) {
    router.on("POST", REQUEST_PREFERENCE.path, |call| save(call, false));
    router.on("PUT", "/request-preference-storage/request-preference/{id}", |call| save(call, true));
}

async fn save(call: Call, replaces: bool) -> Result<Answer, Failure> {
    let preference = call.object()?;
    let user = preference.get("userId").and_then(Value::as_str).unwrap_or_default();
    let tenant = Arc::clone(call.tenant()?);
    let (written, id) = if replaces {
        let id = call.id(0)?;
        (routes::replace(&REQUEST_PREFERENCE, call).await, Some(id))
    } else {
        (routes::create(&REQUEST_PREFERENCE, call).await, None)
    };
    message_of(written, &tenant, &REQUEST_PREFERENCE, ("userId", user), id, |user| {
        Refusal::new("Request preference for specified user already exists").with("userId", user).of_storage()
    })
    .await
}
