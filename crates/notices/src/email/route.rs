//! Paths and shapes of e-mail.

use super::{Email, sender, store};
use crate::records::EMAIL;
use carrel_platform::record_store::write::{self, uuid_time};
use carrel_platform::{Answer, Pipeline, Router};
use carrel_records::Failure;
use http::StatusCode;
use jiff::civil::Date;
use serde_json::Value;
use std::sync::Arc;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/email", |call| async move {
        let tenant = Arc::clone(call.tenant()?);
        let mut document = call.object()?;
        write::check(&EMAIL, &mut document, &call.caller)?;
        let given = document.get("id").and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok());
        let id = given.unwrap_or_else(|| Uuid::new_v7(uuid_time(call.now)));
        let mut pipeline = Pipeline::new();
        store::queue(&mut pipeline, id, document.clone(), store::FirstAttempt::ByCaller, call.now);
        tenant.begin().await?.send_and_commit(pipeline).await?;
        let mut email: Email = serde_json::from_value(Value::Object(document))
            .map_err(|error| Failure::Invalid(format!("The e-mail cannot be read: {error}")))?;
        (email.id, email.attempt_count) = (id, 0);
        // The attempt continues if the client disconnects, so that its outcome is stored.
        let now = call.now;
        let attempt = tokio::spawn(async move {
            let configuration = store::configuration(&tenant).await?;
            let outcome = sender::send(&tenant, configuration.as_ref(), &email).await;
            let text = store::report(&tenant, &email, &outcome, now).await?;
            // FOLIO quirk: without a mail server the answer is only the reason, with 200.
            Ok(if configuration.is_none() { sender::NOT_CONFIGURED.to_owned() } else { text })
        });
        let text: Result<String, Failure> =
            attempt.await.map_err(|_| Failure::internal("sending an e-mail panicked"))?;
        Ok(Answer::text(StatusCode::OK, text?))
    });
    router.on("POST", "/delayedTask/retryFailedEmails", |call| async move {
        let tenant = Arc::clone(call.tenant()?);
        store::retry_failed(&tenant, call.now).await?;
        carrel_platform::jobs::hint(&tenant, super::DELIVERY.name);
        tokio::spawn(async move {
            if let Err(failure) = sender::send_due(&tenant).await {
                tracing::warn!(tenant = tenant.id, %failure, "failed e-mails could not be sent again");
            }
        });
        Ok::<_, Failure>(Answer::text(StatusCode::ACCEPTED, ""))
    });
    router.on("DELETE", "/delayedTask/expiredMessages", |call| async move {
        let date = match call.query.get("expirationDate").filter(|date| !date.trim().is_empty()) {
            Some(text) => Some(day(text).ok_or_else(|| {
                Failure::Invalid("Invalid date value, the parameter must be in the format: yyyy-MM-dd".into())
            })?),
            None => None,
        };
        let requested = call.query.get("emailStatus").unwrap_or_default().to_uppercase();
        let status = ["NEW", "DELIVERED", "FAILURE"].into_iter().find(|status| *status == requested);
        store::delete_expired(call.tenant()?, date, status.unwrap_or("DELIVERED"), call.now).await?;
        Ok(Answer::no_content())
    });
}

fn day(text: &str) -> Option<Date> {
    text.parse::<Date>().ok().filter(|_| text.len() == "2024-05-03".len())
}
