//! Renews a loan for its patron.

use super::response::{ItemSummary, loan};
use super::shown_to_patron;
use carrel_circulation::desk::override_blocks::MayOverride;
use carrel_circulation::renewal::{Actor, By, RenewalRequest, renew};
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;

pub(super) fn connect(router: &mut Router) {
    router.on("POST", "/patron/account/{accountId}/item/{itemId}/renew", renewed);
}

async fn renewed(call: Call) -> Result<Answer, Failure> {
    let (patron, item) = (call.id(0)?, call.id(1)?);
    let order = RenewalRequest {
        by: By::Id,
        item_id: Some(item.to_string()),
        user_id: Some(patron.to_string()),
        ..RenewalRequest::default()
    };
    let actor = Actor { by: call.caller.user_id, may: MayOverride::default(), now: call.now };
    let (renewed, facts, settings) = renew(call.tenant()?, &order, &actor).await.map_err(shown_to_patron)?;
    let lent = facts.loan.ok_or_else(|| Failure::internal("only a loan is renewed"))?;
    let shown = lent.shown(&renewed.loan, renewed.item_status.as_ref(), &settings);
    Ok(Answer::created(&loan(&shown, &ItemSummary::of_loan(&shown), call.now)))
}
