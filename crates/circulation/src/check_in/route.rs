//! Path and answer of a check-in.

use super::{CheckIn, CheckInRequest, check_in};
use crate::desk::idempotency::{self, IdempotencyKey};
use crate::desk::{confirmation, slip};
use crate::loans::view::{LoanContext, extended, without};
use crate::settings::CirculationSettings;
use carrel_platform::http::pretty;
use carrel_platform::{Answer, Router};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/check-in-by-barcode", |call| async move {
        let mut command = CheckInRequest::read(&call.object()?, call.caller.user_id)?;
        command.refuses_unconfirmed = confirmation::is_wanted(&call);
        let key = IdempotencyKey::of(&call, format!("check-in {}", command.item_barcode))?;
        let tenant = call.tenant()?;
        let checked_in = idempotency::once(tenant, key.as_ref(), || async {
            let (decision, settings) = check_in(tenant, &command, call.now, key.clone()).await?;
            Ok(answer(&decision, &command, &settings, call.now))
        })
        .await?;
        Ok::<_, Failure>(Answer::json_bytes(pretty(&checked_in)))
    });
}

/// The item in its new state, its loan, and the context of a slip.
pub(super) fn answer(
    decision: &CheckIn,
    command: &CheckInRequest,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Value {
    let mut answer = Map::new();
    if let Some(closed) = &decision.loan {
        let beside = LoanContext {
            item: Some(&decision.item),
            item_status: None,
            patron: closed.borrower.as_ref(),
            amount_remaining: 0.0,
            reminders_block_renewal: None,
        };
        // FOLIO quirk: a check-in writes its times with `Z`, and service points and policies only as ids.
        let mut loan = without(
            extended(closed.change.document(), &beside, settings),
            &["checkoutServicePoint", "checkinServicePoint", "patronGroupAtCheckout"],
        );
        loan["returnDate"] = slip::instant(command.returned).into();
        loan["systemReturnDate"] = slip::instant(now).into();
        for policy in ["loanPolicy", "overdueFinePolicy", "lostItemPolicy"] {
            loan[policy] = json!({"name": null});
        }
        answer.insert("loan".into(), loan);
    }
    answer.insert("item".into(), decision.item.summary(settings, &decision.item.status));
    answer.insert("staffSlipContext".into(), staff_slip(decision, command, settings, now));
    answer.insert("inHouseUse".into(), decision.in_house_use.into());
    Value::Object(answer)
}

fn staff_slip(
    decision: &CheckIn,
    command: &CheckInRequest,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Value {
    let mut item = slip::item(&decision.item, settings);
    item["lastCheckedInDateTime"] = slip::instant(now).into();
    let name = |id| settings.service_points.get(&id).map(|point| point.name.as_str());
    if let Some(destination) = decision.state.in_transit_destination.and_then(name) {
        item["toServicePoint"] = destination.into();
    }
    if let Some(here) = name(command.service_point) {
        item["fromServicePoint"] = here.into();
    }
    slip::context(item, decision.request.as_ref().map(|moved| &moved.request), settings, now)
}
