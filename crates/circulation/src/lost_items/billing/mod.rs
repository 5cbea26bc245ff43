//! Billing items that have aged to lost, some time after they aged.
//!
//! Route: `POST /circulation/scheduled-age-to-lost-fee-charging`; the job `age-to-lost-billing` does the same every
//! thirty-five minutes. Reads loans by the date of their bill; charges each in a separate transaction, or closes it as
//! lost and paid if the policy charges nothing; announces `circulation.loan`. A loan whose fees have no owner, or whose
//! fee types do not exist, waits until they do.

mod decide;

use super::charge::{self, Charger, LostLoan, Unchargeable};
use super::{closing, policy_of};
use crate::document::text_at;
use crate::loans::find;
use crate::loans::store;
use crate::patron_notices::{self, About, NoticeEvent};
use carrel_fees_fines::charge::{Charged, ChargedBy};
use carrel_inventory::item_state::{self, StateChange};
use carrel_loan_rules::lost_item_policy::Loss;
use carrel_platform::http::Caller;
use carrel_platform::jobs::Job;
use carrel_platform::{Answer, Pipeline, Router, Tenant};
use carrel_records::{Failure, ItemStatus, time};
use decide::{billed, is_due};
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Bills items that have aged to lost.
pub static BILLING: Job = Job {
    name: "age-to-lost-billing",
    every: Duration::from_secs(35 * 60),
    deadline: Duration::from_secs(20 * 60),
    run: |run| {
        Box::pin(async move {
            let billed = bill_loans(&run.tenant, Timestamp::now()).await?;
            Ok(format!("{billed} loans of lost items billed"))
        })
    },
};

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/scheduled-age-to-lost-fee-charging", |call| async move {
        bill_loans(call.tenant()?, call.now).await?;
        Ok::<_, Failure>(Answer::no_content())
    });
}

/// At most this many loans are read at once.
const PAGE: i64 = 500;

/// When a loan is to be billed. An index in `tables.sql` has the same expression and the same condition.
const BILLING_DATE: &str =
    "carrel.instant(loan.doc->'agedToLostDelayedBilling'->>'dateLostItemShouldBeBilled')";
const IS_UNBILLED: &str = "loan.doc->'agedToLostDelayedBilling'->>'lostItemHasBeenBilled' = 'false'";

/// Bills all due loans; returns the number of loans that were billed or closed.
pub async fn bill_loans(tenant: &Arc<Tenant>, now: Timestamp) -> Result<usize, Failure> {
    let mut billed = 0;
    let mut after = (super::BEGINNING, Uuid::nil());
    loop {
        let rows = tenant
            .writer()
            .await?
            .query(
                format!(
                    "SELECT loan.id, loan.doc->'agedToLostDelayedBilling'->>'dateLostItemShouldBeBilled' AS billing
                     FROM loan WHERE {IS_UNBILLED} AND {BILLING_DATE} <= $1
                         AND ({BILLING_DATE}, loan.id) > ($2, $3)
                     ORDER BY {BILLING_DATE}, loan.id LIMIT $4"
                ),
                vec![now.into(), after.0.into(), after.1.into(), PAGE.into()],
            )
            .await?;
        for row in &rows {
            let id: Uuid = row.get("id");
            after = (time::parse(row.get("billing")).unwrap_or(after.0), id);
            if bill(tenant, id, now).await? {
                billed += 1;
            }
        }
        if rows.len() < PAGE as usize {
            if billed > 0 {
                patron_notices::process_soon(tenant);
            }
            return Ok(billed);
        }
    }
}

/// Bills one loan, if its state still requires it.
async fn bill(tenant: &Arc<Tenant>, id: Uuid, now: Timestamp) -> Result<bool, Failure> {
    let (mut tx, loan, settings) = match find::locked(tenant, id).await {
        Err(Failure::NotFound(_)) => return Ok(false),
        locked => locked?,
    };
    let Some(item) = loan.item.as_ref().filter(|_| is_due(&loan, now)) else { return Ok(false) };
    let mut pipeline = Pipeline::new();
    let steps = charge::find_facts(&mut pipeline, item);
    let results = tx.send(pipeline).await?;
    let facts = charge::read_facts(&results, &steps, item, &settings, tenant.profile);
    let policy = policy_of(&loan.document, &settings);
    let charges =
        match charge::decide(&policy, Loss::AgedToLost, &facts, |name| settings.fees.automatic_type(name)) {
            Ok(charges) => charges,
            Err(reason) => {
                report_unchargeable(tenant, id, reason);
                return Ok(false);
            }
        };
    let mut pipeline = Pipeline::new();
    let mut changed = billed(&loan.document);
    let cause = match &charges {
        None => {
            changed = closing::closed(&changed, now);
            let status = ItemStatus::LostAndPaid;
            let change = StateChange { status, in_transit_destination: None, last_check_in: None };
            item_state::change(&mut pipeline, item.id, &change, now);
            "closed-as-lost-and-paid"
        }
        Some(charges) => {
            let lost = text_at(&loan.document, "agedToLostDelayedBilling/agedToLostDate");
            let lost_loan = LostLoan {
                id,
                document: &loan.document,
                item,
                patron: loan.patron.as_ref(),
                loss: Loss::AgedToLost,
                lost: time::parse(lost).unwrap_or(now),
            };
            let by = Charger {
                caller: &Caller::default(),
                service_point: None,
                charged_by: ChargedBy::System,
                now,
            };
            let charged = charge::apply(&mut pipeline, tenant, &lost_loan, charges, &facts, &by, &settings)?;
            for Charged { action, .. } in charged {
                let about = About::FeeFineAction { action, loan: id, session: None };
                let notices = settings.notice_causes(&[NoticeEvent::AgedToLostFineCharged], about);
                patron_notices::record(&mut pipeline, &notices, now);
            }
            "lost-item-billed"
        }
    };
    let changed = store::versioned(changed, None, now);
    store::replace(&mut pipeline, &tenant.id, id, &loan.document, &changed, Some(cause), now);
    tx.send_and_commit(pipeline).await?;
    Ok(true)
}

fn report_unchargeable(tenant: &Tenant, loan: Uuid, reason: Unchargeable) {
    let why = match reason {
        Unchargeable::NoOwner => {
            "no owner has the primary service point of the item's permanent location".into()
        }
        Unchargeable::NoType(name) => format!("there is no automatic fee/fine type \"{name}\""),
    };
    tracing::warn!(tenant = tenant.id, loan.id = %loan, "a lost item is not billed: {why}");
}
