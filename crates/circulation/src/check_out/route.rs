//! Paths and answers of check-outs.

use super::{Actor, CheckOutRequest, check_out, dry_run};
use crate::desk::override_blocks::MayOverride;
use crate::loans::view::{LoanContext, extended, without};
use carrel_platform::http::pretty;
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;
use http::StatusCode;
use serde_json::json;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/check-out-by-barcode", |call| async move {
        let command: CheckOutRequest = call.read_json()?;
        let (decision, facts, settings) = check_out(call.tenant()?, command, actor(&call)).await?;
        let beside = LoanContext {
            item: facts.item.as_ref(),
            item_status: Some("Checked out"),
            patron: facts.patron.as_ref(),
            amount_remaining: 0.0,
            reminders_block_renewal: None,
        };
        // FOLIO quirk: a check-out names its service point by id only.
        let loan = without(extended(&decision.loan, &beside, &settings), &["checkoutServicePoint"]);
        Ok(Answer::json_bytes(pretty(&loan))
            .status(StatusCode::CREATED)
            .location(format!("/circulation/loans/{}", decision.loan_id)))
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

fn actor(call: &Call) -> Actor {
    Actor {
        by: call.caller.user_id,
        may: MayOverride::of(&call.caller),
        now: call.now,
        loan_id: Uuid::new_v7(uuid_time(call.now)),
        dry_run: false,
    }
}
