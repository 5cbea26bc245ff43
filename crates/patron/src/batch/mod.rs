//! Several copies of a title that a patron asks for at once, the volumes of a work for instance.
//!
//! Routes: `POST /patron/account/{accountId}/instance/{instanceId}/batch-request`, `GET …/{batchRequestId}/status`.
//! A batch is taken in at once and its requests are placed by the job `patron-batch-requests`, each as any hold
//! of a copy is, in a transaction of its own. The id of each request is chosen when the batch is taken in, so
//! that a run that was cut off places none twice. Changes the tables `patron_batch` and `patron_batch_line`.

mod hold_request;
mod run;
mod shown;
mod store;

pub use run::PLACING;
pub(super) use shown::status;
pub(super) use store::{AccountStatus, of_requests};

use super::shown_to_patron;
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Answer, Call, Router, jobs};
use carrel_records::Failure;
use hold_request::Batch;
use uuid::Uuid;

pub(super) fn connect(router: &mut Router) {
    router.on("POST", "/patron/account/{accountId}/instance/{instanceId}/batch-request", taken_in);
    router.on(
        "GET",
        "/patron/account/{accountId}/instance/{instanceId}/batch-request/{batchRequestId}/status",
        how_it_stands,
    );
}

async fn taken_in(call: Call) -> Result<Answer, Failure> {
    let (patron, _) = (call.id(0)?, call.id(1)?);
    let batch = Batch::read(call.object()?, patron, Uuid::new_v7(uuid_time(call.now)))?;
    let tenant = call.tenant()?;
    let document = hold_request::document(&call.caller, call.now, batch.comments.as_deref());
    store::take_in(tenant, &batch, &document, call.now).await.map_err(shown_to_patron)?;
    jobs::soon(&call.node.platform().await?, &tenant.id, PLACING.name).await?;
    Ok(Answer::json(&shown::receipt(&batch, &document)))
}

async fn how_it_stands(call: Call) -> Result<Answer, Failure> {
    let (patron, instance, id) = (call.id(0)?, call.id(1)?, call.id(2)?);
    let connection = call.tenant()?.reader().await?;
    let (account_status, title) = store::find(&connection, id, instance).await?;
    let account_status = account_status
        .filter(|account_status| account_status.requester == patron)
        .ok_or_else(|| Failure::NotFound(format!("Mediated Batch Request with ID [{id}] was not found")))?;
    Ok(Answer::json(&status(&account_status, &instance.to_string(), title.as_deref())))
}
