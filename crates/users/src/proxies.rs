//! Proxy relationships: a sponsor and a proxy have at most one.
//!
//! Routes: `POST /proxiesfor`; the others are those of the record declaration.

use crate::records::people::PROXIES_FOR;
use carrel_platform::record_store::{routes, write};
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, Refusal};
use serde_json::Value;

pub fn connect(router: &mut Router) {
    router.on("POST", "/proxiesfor", create);
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let document = call.object()?;
    let sent_id = document.get("id").and_then(Value::as_str).map(str::to_owned);
    let tenant = call.tenant()?;
    let ready = write::prepare_new(&PROXIES_FOR, document, &call.caller, call.now)?;
    let mut tx = tenant.begin().await?;
    let pair = |key: &str| ready.document.get(key).and_then(Value::as_str).map(str::to_owned);
    if let (Some(user), Some(proxy)) = (pair("userId"), pair("proxyUserId")) {
        // The sponsor's row is locked, so that of two concurrent requests for one pair the second is refused.
        let mut pipeline = Pipeline::new();
        pipeline.add(
            "SELECT 1 FROM users WHERE id = $1::text::uuid FOR NO KEY UPDATE",
            vec![user.as_str().into()],
        );
        let existing = pipeline.add(
            "SELECT 1 FROM proxyfor WHERE user_id = $1::text::uuid AND proxy_user_id = $2::text::uuid",
            vec![user.into(), proxy.into()],
        );
        if tx.send(pipeline).await?.first(existing).is_some() {
            let refusal = Refusal::new("Proxy relationship already exists").of_storage();
            return Err(match sent_id {
                Some(id) => refusal.with("proxyFor", id),
                None => refusal.with_null("proxyFor"),
            }
            .into());
        }
    }
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &PROXIES_FOR, &ready, call.now);
    tx.send_and_commit(pipeline)
        .await
        .map_err(|error| write::constraint_failure(&PROXIES_FOR, error, &ready.document))?;
    Ok(routes::created(&PROXIES_FOR, &ready))
}
