//! Several items of an instance that a patron requests at once, for instance the volumes of a work.
//!
//! Routes: `POST /patron/account/{accountId}/instance/{instanceId}/batch-request`, `GET …/{batchRequestId}/status`. A
//! batch is stored at once, and the job `patron-batch-requests` places its requests, each like a hold of an item, in
//! separate transactions. The id of each request is chosen when the batch is stored, so that an interrupted run places
//! none twice. Changes the tables `patron_batch` and `patron_batch_line`.

mod hold_request;
mod response;
mod run;
mod store;

pub(super) use response::status;
pub use run::PLACING;
pub(super) use store::{BatchStatus, forget_request, of_requests};

use super::shown_to_patron;
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Answer, Call, Router, jobs};
use carrel_records::Failure;
use hold_request::Batch;
use uuid::Uuid;

pub(super) fn connect(router: &mut Router) {
    router.on("POST", "/patron/account/{accountId}/instance/{instanceId}/batch-request", create);
    router.on(
        "GET",
        "/patron/account/{accountId}/instance/{instanceId}/batch-request/{batchRequestId}/status",
        find_status,
    );
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let (patron, _) = (call.id(0)?, call.id(1)?);
    let batch = Batch::read(call.object()?, patron, Uuid::new_v7(uuid_time(call.now)))?;
    let tenant = call.tenant()?;
    let document = hold_request::document(&call.caller, call.now, batch.comments.as_deref());
    store::take_in(tenant, &batch, &document, call.now).await.map_err(shown_to_patron)?;
    jobs::soon(&call.node.platform().await?, &tenant.id, PLACING.name).await?;
    Ok(Answer::json(&response::receipt(&batch, &document)))
}

async fn find_status(call: Call) -> Result<Answer, Failure> {
    let (patron, instance, id) = (call.id(0)?, call.id(1)?, call.id(2)?);
    let connection = call.tenant()?.reader().await?;
    let (batch, title) = store::find(&connection, id, instance).await?;
    let batch = batch
        .filter(|batch| batch.requester == patron)
        .ok_or_else(|| Failure::NotFound(format!("Mediated Batch Request with ID [{id}] was not found")))?;
    Ok(Answer::json(&status(&batch, &instance.to_string(), title.as_deref())))
}
