//! Cancelling a fee/fine that was charged in error: the remaining balance is canceled.
//!
//! Routes: POST of `/accounts/{id}/cancel` and `/accounts-bulk/cancel`. Changes accounts and adds the records.

pub(crate) mod decide;

use crate::actions::{self, ActionRequest, Scope};
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, Money, Refusal};

/// Connects the routes.
pub fn routes(router: &mut Router) {
    for (path, scope) in [("/accounts/{id}/cancel", Scope::Single), ("/accounts-bulk/cancel", Scope::Bulk)] {
        router.on("POST", path, move |call: Call| async move {
            cancel(&call, &ActionRequest::read(&call, scope)?).await
        });
    }
}

async fn cancel(call: &Call, request: &ActionRequest) -> Result<Answer, Failure> {
    // Several accounts are always cancelled as error.
    let reason = request.cancellation_reason.as_deref().filter(|_| request.scope == Scope::Single);
    let Some(reason) = decide::reason(reason) else {
        let sent = reason.unwrap_or_default();
        return Err(Refusal::new("is not a reason of a cancellation")
            .with("cancellationReason", sent)
            .into());
    };
    let mut tx = call.tenant()?.begin().await?;
    let accounts = actions::lock_accounts(&mut tx, request).await?;
    let (changes, records) = match decide::cancel(reason, &accounts) {
        Ok(cancelled) => cancelled,
        Err(refusal) => return Ok(actions::answer_action(request, Err(refusal))),
    };
    let records = actions::store(call, tx, request, &accounts, &changes, &records).await?;
    Ok(actions::answer_action(request, Ok((None, Money::ZERO, records))))
}
