//! Paying, waiving and transferring: an amount is settled and no longer owed.
//!
//! Routes: POST of `/accounts/{id}/{action}`, `/accounts-bulk/{action}` and their `check-…`, for `pay`, `waive` and
//! `transfer`. Reads and changes accounts; adds records of the action; announces `FEE_FINE_BALANCE_CHANGED` and
//! `LOAN_RELATED_FEE_FINE_CLOSED`.

mod decide;
mod route;

pub use route::routes;

use crate::actions::{self, ActionKind, ActionRequest};
use carrel_platform::{Answer, Call};
use carrel_records::Failure;

/// Checks whether the action is possible.
async fn check(call: &Call, request: &ActionRequest) -> Result<Answer, Failure> {
    let connection = call.tenant()?.writer().await?;
    let accounts = actions::find_accounts(&connection, request).await?;
    Ok(actions::answer_check(request, decide::check(request.amount.as_deref(), &accounts)))
}

/// Carries out the action.
async fn settle(call: &Call, kind: ActionKind, request: &ActionRequest) -> Result<Answer, Failure> {
    let mut tx = call.tenant()?.begin().await?;
    let accounts = actions::lock_accounts(&mut tx, request).await?;
    let settlement = match decide::settle(kind, request.amount.as_deref(), &accounts) {
        Ok(settlement) => settlement,
        Err(refusal) => return Ok(actions::answer_action(request, Err(refusal))),
    };
    let records =
        actions::store(call, tx, request, &accounts, &settlement.changes, &settlement.actions).await?;
    let done = (Some(settlement.amount), settlement.remaining, records);
    Ok(actions::answer_action(request, Ok(done)))
}
