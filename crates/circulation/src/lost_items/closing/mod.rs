//! Closing the loan of a lost item as lost and paid when all fees for the loss are settled.
//!
//! Happens in the transaction that settles the last fee, through [`LoanFeesClosed`]. Routes: `POST
//! /circulation/handlers/loan-related-fee-fine-closed` does the same for modules behind a gateway; it may be called again
//! and answers 204. Reads the loan's fees and
//! actual cost record; changes loan and item; announces `circulation.loan`.

mod decide;

use super::LOST;
use crate::document::text_at;
use crate::loans::find::{LOCK_ITEM_OF_LOAN, LOCK_LOAN};
use crate::loans::store;
use carrel_fees_fines::loan_fees_closed::LoanFeesClosed;
use carrel_fees_fines::lost_item_fees::{LostItemFee, TYPES};
use carrel_inventory::item_state::{self, StateChange};
use carrel_loan_rules::LoanStatus;
use carrel_platform::transaction_listeners::Outcome;
use carrel_platform::{Answer, Bind, Changes, Json, Pipeline, Router, Tenant, Tx};
use carrel_records::{Failure, ItemStatus, time};
use decide::{LastRecord, is_lost_and_paid};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/handlers/loan-related-fee-fine-closed", |call| async move {
        let event = call.object()?;
        // FOLIO quirk: an invalid event gets the same answer as a valid one.
        if let Ok(loan) = Uuid::parse_str(text_at(&event, "loanId")) {
            let tenant = call.tenant()?;
            let mut tx = tenant.begin().await?;
            let mut pipeline = Pipeline::new();
            pipeline.add(LOCK_ITEM_OF_LOAN, vec![loan.into()]);
            pipeline.add(LOCK_LOAN, vec![loan.into()]);
            tx.send(pipeline).await?;
            let mut pipeline = Pipeline::new();
            let settled = Settled { loan, accounts: &[], record: None };
            if close_if_settled(&mut tx, &mut pipeline, tenant, &settled, call.caller.user_id, call.now)
                .await?
            {
                tx.send_and_commit(pipeline).await?;
            }
        }
        Ok(Answer::no_content())
    });
}

/// Closes the loan whose last fee is settled by the transaction.
pub fn close_when_settled<'a>(changes: &'a mut Changes<'_>, closed: &'a mut LoanFeesClosed) -> Outcome<'a> {
    Box::pin(async move {
        let settled = Settled { loan: closed.loan, accounts: &closed.accounts, record: None };
        let (by, now) = (changes.caller.user_id, changes.now);
        close_if_settled(changes.tx, changes.pipeline, changes.tenant, &settled, by, now).await?;
        Ok(())
    })
}

/// Changes of the transaction that the database does not have yet.
pub struct Settled<'a> {
    pub loan: Uuid,
    /// Accounts that it closes.
    pub accounts: &'a [Uuid],
    /// An actual cost record and its new status.
    pub record: Option<(Uuid, &'a str)>,
}

/// Adds the statements that close the loan, if its item is lost and everything is settled; returns whether it is. The
/// item is locked.
pub async fn close_if_settled(
    tx: &mut Tx,
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    settled: &Settled<'_>,
    by: Option<Uuid>,
    now: Timestamp,
) -> Result<bool, Failure> {
    let rows = tx
        .query(
            "SELECT loan.doc, item_state.item_id, item_state.status, record.id AS record_id,
                 record.doc->>'status' AS record_status, record.doc->>'expirationDate' AS record_expires,
                 (SELECT jsonb_agg(accounts.doc) FROM accounts
                  WHERE accounts.loan_id = loan.id AND accounts.doc->>'feeFineType' = ANY($3)) AS fees
             FROM loan JOIN item_state ON item_state.item_id = loan.item_id
             LEFT JOIN LATERAL (SELECT last.id, last.doc FROM actual_cost_record last
                 WHERE last.loan_id = loan.id ORDER BY last.doc->>'lossDate' DESC, last.id DESC LIMIT 1) record ON true
             WHERE loan.id = $1 AND loan.holds_item AND item_state.status = ANY($2)
             FOR NO KEY UPDATE OF loan",
            vec![
                settled.loan.into(),
                Bind::Texts(LOST.map(|status| status.to_string()).to_vec()),
                Bind::Texts(TYPES.map(str::to_owned).to_vec()),
            ],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(false) };
    let Value::Object(loan) = row.get::<_, Json>("doc").parse() else {
        return Err(Failure::internal("a stored loan is an object"));
    };
    let fees: Vec<LostItemFee> =
        Json::elements(row.get("fees")).into_iter().filter_map(LostItemFee::read).collect();
    let record: Option<Uuid> = row.get("record_id");
    let record = record.map(|id| LastRecord {
        status: match settled.record {
            Some((changed, status)) if changed == id => status.to_owned(),
            _ => row.get::<_, Option<String>>("record_status").unwrap_or_default(),
        },
        expires: row.get::<_, Option<String>>("record_expires").as_deref().and_then(time::parse),
    });
    let waits_for_its_bill = ItemStatus::from(row.get::<_, &str>("status")) == ItemStatus::AgedToLost
        && loan
            .get("agedToLostDelayedBilling")
            .is_some_and(|billing| billing["lostItemHasBeenBilled"] == false);
    let is_settled = |fee: &LostItemFee| fee.is_closed() || settled.accounts.contains(&fee.id);
    let closes = is_lost_and_paid(&fees, is_settled, record.as_ref(), !waits_for_its_bill, now);
    if closes {
        close(pipeline, tenant, settled.loan, &loan, row.get("item_id"), by, now);
    }
    Ok(closes)
}

/// Adds the statements that close the loan and mark its item as lost and paid. `loan` is the loan at that point of the
/// pipeline.
pub fn close(
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    id: Uuid,
    loan: &Map<String, Value>,
    item: Uuid,
    by: Option<Uuid>,
    now: Timestamp,
) {
    let changed = store::versioned(closed(loan, now), by, now);
    store::replace(pipeline, &tenant.id, id, loan, &changed, Some("closed-as-lost-and-paid"), now);
    let change =
        StateChange { status: ItemStatus::LostAndPaid, in_transit_destination: None, last_check_in: None };
    item_state::change(pipeline, item, &change, now);
}

/// The loan, closed as lost and paid.
pub fn closed(loan: &Map<String, Value>, now: Timestamp) -> Map<String, Value> {
    let mut changed = loan.clone();
    changed.insert("status".into(), json!({"name": LoanStatus::Closed}));
    changed.insert("action".into(), "closedLoan".into());
    changed.remove("actionComment");
    changed.insert("returnDate".into(), time::format(now).into());
    changed.insert("itemStatus".into(), (&ItemStatus::LostAndPaid).into());
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loan_that_is_lost_and_paid_ends_now_and_keeps_the_rest() {
        let loan = json!({"status": {"name": "Open"}, "action": "declaredLost", "actionComment": "gone",
            "itemStatus": "Declared lost", "own": 1});
        let now = time::parse("2026-05-01T10:00:00Z").expect("a time");
        assert_eq!(
            Value::Object(closed(loan.as_object().expect("an object"), now)),
            json!({"status": {"name": "Closed"}, "action": "closedLoan", "itemStatus": "Lost and paid", "own": 1,
                "returnDate": "2026-05-01T10:00:00.000+00:00"})
        );
    }
}
