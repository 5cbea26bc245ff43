//! Path and shape of checking in.

use super::{CheckIn, Order, check_in};
use crate::desk::slip;
use crate::loans::view::{Beside, extended, without};
use crate::rulebook::Rulebook;
use carrel_platform::http::pretty;
use carrel_platform::{Answer, Router};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/check-in-by-barcode", |call| async move {
        let order = Order::read(&call.object()?, call.caller.user_id)?;
        let (decision, book) = check_in(call.tenant()?, &order, call.now).await?;
        Ok::<_, Failure>(Answer::json_bytes(pretty(&answer(&decision, &order, &book, call.now))))
    });
}

fn answer(decision: &CheckIn, order: &Order, book: &Rulebook, now: Timestamp) -> Value {
    let mut answer = Map::new();
    if let Some(closed) = &decision.loan {
        let beside = Beside {
            item: Some(&decision.item),
            item_status: None,
            patron: closed.borrower.as_ref(),
            amount_remaining: 0.0,
            reminders_block_renewal: None,
        };
        // FOLIO quirk: a check-in writes its own times with `Z`, and tells the desks and policies by their ids.
        let mut loan = without(
            extended(closed.change.document(), &beside, book),
            &["checkoutServicePoint", "checkinServicePoint", "patronGroupAtCheckout"],
        );
        loan["returnDate"] = slip::instant(order.returned).into();
        loan["systemReturnDate"] = slip::instant(now).into();
        for policy in ["loanPolicy", "overdueFinePolicy", "lostItemPolicy"] {
            loan[policy] = json!({"name": null});
        }
        answer.insert("loan".into(), loan);
    }
    answer.insert("item".into(), decision.item.summary(book, &decision.item.status));
    answer.insert("staffSlipContext".into(), staff_slip(decision, order, book, now));
    answer.insert("inHouseUse".into(), decision.in_house_use.into());
    Value::Object(answer)
}

fn staff_slip(decision: &CheckIn, order: &Order, book: &Rulebook, now: Timestamp) -> Value {
    let mut item = slip::item(&decision.item, book);
    item["lastCheckedInDateTime"] = slip::instant(now).into();
    let name = |id| book.service_points.get(&id).map(|point| point.name.as_str());
    if let Some(destination) = decision.state.in_transit_destination.and_then(name) {
        item["toServicePoint"] = destination.into();
    }
    if let Some(here) = name(order.service_point) {
        item["fromServicePoint"] = here.into();
    }
    slip::context(item, decision.request.as_ref().map(|moved| &moved.request), book, now)
}
