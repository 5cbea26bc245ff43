//! Refunds: payments and transfers are returned, and are owed again.
//!
//! Routes: POST of `/accounts/{id}/refund`, `/accounts-bulk/refund` and their `check-refund`. Reads accounts and their
//! payments, transfers and refunds; changes accounts; adds a credit and a refund for the patron and for each account
//! transferred to.

pub(crate) mod decide;
mod route;

pub use route::routes;

use crate::actions::{self, ActionRequest};
use carrel_platform::{Answer, Call};
use carrel_records::Failure;

async fn check(call: &Call, request: &ActionRequest) -> Result<Answer, Failure> {
    let connection = call.tenant()?.writer().await?;
    let accounts = actions::find_accounts(&connection, request).await?;
    let ids: Vec<_> = accounts.iter().map(|account| account.id).collect();
    let past = connection.query(actions::PAST_ACTIONS, vec![ids.into()]).await?;
    let checked = decide::check(request.amount.as_deref(), &actions::read_past_actions(&past));
    Ok(actions::answer_check(request, checked))
}

async fn refund(call: &Call, request: &ActionRequest) -> Result<Answer, Failure> {
    let mut tx = call.tenant()?.begin().await?;
    let accounts = actions::lock_accounts(&mut tx, request).await?;
    let ids: Vec<_> = accounts.iter().map(|account| account.id).collect();
    // Read after the lock, so that a refund that has just been stored counts.
    let past = tx.query(actions::PAST_ACTIONS, vec![ids.into()]).await?;
    let past = actions::read_past_actions(&past);
    let refund = match decide::refund(request.amount.as_deref(), &accounts, &past) {
        Ok(refund) => refund,
        Err(refusal) => return Ok(actions::answer_action(request, Err(refusal))),
    };
    let records = actions::store(call, tx, request, &accounts, &refund.changes, &refund.actions).await?;
    let remaining = refund.changes.iter().map(|change| change.remaining).sum();
    Ok(actions::answer_action(request, Ok((Some(refund.amount), remaining, records))))
}
