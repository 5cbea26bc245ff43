//! Declaring an item lost: staff do not expect its return, and the patron is charged by the policy.
//!
//! Route: `POST /circulation/loans/{id}/declare-item-lost`. Reads and locks loan, item and fees; changes loan and item
//! with a history row, reverses the fees of an item that had aged to lost, charges the new ones, or closes the loan as
//! lost and paid if nothing is charged; adds a note to a patron who claimed to have returned the item; announces
//! `circulation.loan`. Three round trips: loan, fees, changes.

mod decide;

use super::charge::{self, Charger, LostLoan};
use super::reversal::{self, Cause, FoundBy};
use super::{closing, policy_of};
use crate::desk::user_note;
use crate::document::text_at;
use crate::loans::find;
use crate::loans::{log, store};
use carrel_audit::circulation_log::{self, Action, description};
use carrel_fees_fines::charge::ChargedBy;
use carrel_inventory::item_state::{self, StateChange};
use carrel_loan_rules::lost_item_policy::Loss;
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, ItemStatus};
use decide::{DeclareLostRequest, declared_lost, refuse, refused_charge};
use jiff::SignedDuration;

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/loans/{id}/declare-item-lost", |call| async move {
        let request = DeclareLostRequest::read(&call.object()?)?;
        declare_lost(&call, &request).await?;
        Ok::<_, Failure>(Answer::no_content())
    });
}

async fn declare_lost(call: &Call, request: &DeclareLostRequest) -> Result<(), Failure> {
    let (tenant, now) = (call.tenant()?, call.now);
    let (mut tx, loan, settings) = find::locked(tenant, call.id(0)?).await?;
    let item = refuse(&loan)?;
    let mut pipeline = Pipeline::new();
    let charging = charge::find_facts(&mut pipeline, item);
    let reversal = reversal::find_facts(&mut pipeline, loan.id, call.caller.user_id);
    let results = tx.send(pipeline).await?;
    let charging = charge::read_facts(&results, &charging, item, &settings, tenant.profile);
    let reversal = reversal::read_facts(&results, &reversal);
    let policy = policy_of(&loan.document, &settings);
    let charges =
        charge::decide(&policy, Loss::DeclaredLost, &charging, |name| settings.fees.automatic_type(name))
            .map_err(|reason| refused_charge(reason, charging.permanent_location))?;

    let mut pipeline = Pipeline::new();
    let by = call.caller.user_id;
    let lost = store::versioned(declared_lost(&loan.document, request), by, now);
    store::replace(&mut pipeline, &tenant.id, loan.id, &loan.document, &lost, Some("declared-lost"), now);
    if loan.item_status() == ItemStatus::ClaimedReturned {
        let patron = text_at(&loan.document, "userId");
        user_note::add(&mut pipeline, patron, "Claimed returned item marked declared lost", by, now);
    }
    let service_point = Some(request.service_point);
    let found = FoundBy { cause: Cause::DeclaredLost, caller: &call.caller, service_point, now };
    reversal::apply(&mut pipeline, tenant, (loan.id, &lost), &reversal, &found, &settings)?;
    let comment = description::action_comment(Some(&request.comment));
    circulation_log::write(&mut pipeline, &log::entry(&loan, Action::DeclaredLost, comment, by), now);
    match charges {
        None => {
            // In the history, the closing follows the loss.
            let end = now + SignedDuration::from_millis(1);
            closing::close(&mut pipeline, tenant, loan.id, &lost, item.id, by, end);
        }
        Some(charges) => {
            let status = Loss::DeclaredLost.item_status();
            let change = StateChange { status, in_transit_destination: None, last_check_in: None };
            item_state::change(&mut pipeline, item.id, &change, now);
            let lost_loan = LostLoan {
                id: loan.id,
                document: &lost,
                item,
                patron: loan.patron.as_ref(),
                loss: Loss::DeclaredLost,
                lost: now,
            };
            let known = service_point.filter(|id| settings.service_points.contains_key(id));
            let charged_by = by.map_or(ChargedBy::System, ChargedBy::Staff);
            let by = Charger { caller: &call.caller, service_point: known, charged_by, now };
            charge::apply(&mut pipeline, tenant, &lost_loan, &charges, &charging, &by, &settings)?;
        }
    }
    tx.send_and_commit(pipeline).await?;
    Ok(())
}
