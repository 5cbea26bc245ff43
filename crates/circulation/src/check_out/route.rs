//! Paths and answers of check-outs.

use super::{Actor, CheckOutRequest, Done, check_out, dry_run};
use crate::desk::confirmation;
use crate::desk::idempotency::{self, IdempotencyKey};
use crate::desk::override_blocks::MayOverride;
use crate::loans::view::{LoanContext, extended, without};
use carrel_platform::http::pretty;
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, ItemStatus};
use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/check-out-by-barcode", |call| async move {
        let mut command: CheckOutRequest = call.read_json()?;
        command.refuses_unconfirmed = confirmation::is_wanted(&call);
        let [item, user] =
            [&command.item_barcode, &command.user_barcode].map(|text| text.as_deref().unwrap_or(""));
        let key = IdempotencyKey::of(&call, format!("check-out {item} {user}"))?;
        let (tenant, actor) = (call.tenant()?, actor(&call));
        let loan = idempotency::once(tenant, key.as_ref(), || async {
            check_out(tenant, command, actor, key.clone()).await.map(|done| answer(&done))
        })
        .await?;
        let location = format!("/circulation/loans/{}", loan["id"].as_str().unwrap_or_default());
        Ok(Answer::json_bytes(pretty(&loan)).status(StatusCode::CREATED).location(location))
    });
    router.on("POST", "/circulation/check-out-by-barcode-dry-run", |call| async move {
        let command: CheckOutRequest = call.read_json()?;
        let actor = Actor { dry_run: true, ..actor(&call) };
        let policies = dry_run(call.tenant()?, &command, &actor).await?;
        Ok::<_, Failure>(
            Answer::json_bytes(pretty(&json!({
                "loanPolicyId": policies.loan,
                "overdueFinePolicyId": policies.overdue_fine,
                "lostItemPolicyId": policies.lost_item,
                "patronNoticePolicyId": policies.notice,
            })))
            .status(StatusCode::CREATED),
        )
    });
}

/// The new loan with its item and patron.
pub(super) fn answer((decision, facts, settings): &Done) -> Value {
    let beside = LoanContext {
        item: facts.item.as_ref(),
        item_status: Some(&ItemStatus::CheckedOut),
        patron: facts.patron.as_ref(),
        amount_remaining: 0.0,
        reminders_block_renewal: None,
    };
    // FOLIO quirk: a check-out has its service point only as id.
    without(extended(&decision.loan, &beside, settings), &["checkoutServicePoint"])
}

fn actor(call: &Call) -> Actor {
    Actor {
        by: call.caller.user_id,
        may: MayOverride::of(&call.caller),
        now: call.now,
        loan_id: Uuid::new_v7(uuid_time(call.now)),
        dry_run: false,
    }
}
