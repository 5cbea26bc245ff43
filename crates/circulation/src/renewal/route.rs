//! Paths and answers of renewals.

use super::{Actor, By, RenewalRequest, renew};
use crate::desk::override_blocks::MayOverride;
use crate::desk::slip;
use crate::loans::view::without;
use carrel_platform::http::pretty;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, time};
use serde_json::Value;

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/renew-by-barcode", |call| answer(call, By::Barcode));
    router.on("POST", "/circulation/renew-by-id", |call| answer(call, By::Id));
}

async fn answer(call: Call, by: By) -> Result<Answer, Failure> {
    let command = RenewalRequest { by, ..call.read_json()? };
    let actor = Actor { by: call.caller.user_id, may: MayOverride::of(&call.caller), now: call.now };
    let (renewed, facts, settings) = renew(call.tenant()?, &command, &actor).await?;
    let loan = facts.loan.ok_or_else(|| Failure::internal("only a loan is renewed"))?;
    // FOLIO quirk: a renewal shows neither service point nor patron group, and the lost item policy without its name.
    let mut shown = without(
        loan.shown(&renewed.loan, renewed.item_status.as_ref(), &settings),
        &["checkoutServicePoint", "patronGroupAtCheckout"],
    );
    shown["lostItemPolicy"]["name"] = Value::Null;
    // FOLIO quirk: the newly computed date is written with `Z`, all others with their offset.
    if let Some(due) = shown["dueDate"].as_str().and_then(time::parse) {
        shown["dueDate"] = slip::instant(due).into();
    }
    Ok(Answer::json_bytes(pretty(&shown)).location(format!("/circulation/loans/{}", loan.id)))
}
