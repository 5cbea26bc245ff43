//! Claimed returned: the patron claims that the item was returned.
//!
//! Routes: `POST /circulation/loans/{id}/claim-item-returned`, `…/declare-claimed-returned-item-as-missing`. Each reads
//! and locks loan and item, changes both with a history row, and announces `circulation.loan`; a missing item adds a
//! note to the patron.

use crate::desk::user_note;
use crate::document::text_at;
use crate::loans::change::refuse_if_closed;
use crate::loans::find::{self, LoanAtDesk};
use crate::loans::{log, store};
use carrel_audit::circulation_log::{self, Action, description};
use carrel_inventory::item_state::{self, StateChange};
use carrel_loan_rules::LoanStatus;
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, ItemStatus, Refusal, time};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/loans/{id}/claim-item-returned", |call| async move {
        let sent = call.object()?;
        let when = time::parse(text_at(&sent, "itemClaimedReturnedDateTime")).ok_or_else(|| {
            Refusal::new("Item claimed returned date is a required field")
                .with_null("itemClaimedReturnedDateTime")
        })?;
        apply(&call, ItemStatus::ClaimedReturned, |loan| {
            claim_returned(loan, when, text_at(&sent, "comment"))
        })
        .await
    });
    router.on(
        "POST",
        "/circulation/loans/{id}/declare-claimed-returned-item-as-missing",
        |call| async move {
            let sent = call.object()?;
            let comment = sent.get("comment").and_then(Value::as_str);
            let comment =
                comment.ok_or_else(|| Refusal::new("Comment is a required field").with_null("comment"))?;
            apply(&call, ItemStatus::Missing, |loan| declare_missing(loan, comment)).await
        },
    );
}

async fn apply(
    call: &Call,
    item_status: ItemStatus,
    decide: impl FnOnce(&LoanAtDesk) -> Result<Map<String, Value>, Refusal>,
) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let (tx, loan, _) = find::locked(tenant, call.id(0)?).await?;
    let changed = store::versioned(decide(&loan)?, call.caller.user_id, call.now);
    let mut pipeline = Pipeline::new();
    store::replace(&mut pipeline, &tenant.id, loan.id, &loan.document, &changed, Some("claim"), call.now);
    if let Some(item) = &loan.item {
        let change =
            StateChange { status: item_status.clone(), in_transit_destination: None, last_check_in: None };
        item_state::change(&mut pipeline, item.id, &change, call.now);
    }
    let action =
        if item_status == ItemStatus::Missing { Action::MarkedAsMissing } else { Action::ClaimedReturned };
    let comment = description::action_comment(changed.get("actionComment").and_then(Value::as_str));
    let entry = log::entry(&loan, action, comment, call.caller.user_id);
    circulation_log::write(&mut pipeline, &entry, call.now);
    if item_status == ItemStatus::Missing {
        let patron = text_at(&loan.document, "userId");
        let words = "Claimed returned item marked missing";
        user_note::add(&mut pipeline, patron, words, call.caller.user_id, call.now);
    }
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

/// The loan with the claim; it stays open until staff resolve the claim.
fn claim_returned(loan: &LoanAtDesk, when: Timestamp, comment: &str) -> Result<Map<String, Value>, Refusal> {
    if let Some(refusal) = refuse_if_closed(loan) {
        return Err(refusal);
    }
    let mut changed = loan.document.clone();
    changed.insert("action".into(), "claimedReturned".into());
    if !comment.trim().is_empty() {
        changed.insert("actionComment".into(), comment.into());
    }
    changed.insert("itemStatus".into(), (&ItemStatus::ClaimedReturned).into());
    changed.insert("claimedReturnedDate".into(), time::format(when).into());
    Ok(changed)
}

/// Closes the loan, since staff cannot find the item that the patron claims to have returned.
fn declare_missing(loan: &LoanAtDesk, comment: &str) -> Result<Map<String, Value>, Refusal> {
    if let Some(refusal) = refuse_if_closed(loan) {
        return Err(refusal);
    }
    if loan.item_status() != ItemStatus::ClaimedReturned {
        let item = text_at(&loan.document, "itemId");
        return Err(Refusal::new("Item is not Claimed returned").with("itemId", item));
    }
    let mut changed = loan.document.clone();
    changed.insert("status".into(), json!({"name": LoanStatus::Closed}));
    changed.insert("action".into(), "markedMissing".into());
    changed.insert("actionComment".into(), comment.into());
    changed.insert("itemStatus".into(), (&ItemStatus::Missing).into());
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loan(status: &str, item_status: &str) -> LoanAtDesk {
        let Value::Object(document) = json!({
            "itemId": "i", "status": {"name": status}, "itemStatus": item_status, "actionComment": "before"
        }) else {
            unreachable!("an object")
        };
        LoanAtDesk { document, ..LoanAtDesk::default() }
    }

    fn noon() -> Timestamp {
        time::parse("2024-05-01T12:00:00Z").expect("a time")
    }

    #[test]
    fn a_claim_without_comment_keeps_the_loans_comment() {
        let changed = claim_returned(&loan("Open", "Checked out"), noon(), "").expect("allowed");
        assert_eq!(changed["action"], "claimedReturned");
        assert_eq!(changed["actionComment"], "before");
        assert_eq!(changed["claimedReturnedDate"], "2024-05-01T12:00:00.000+00:00");
        assert_eq!(changed["status"]["name"], "Open");
    }

    #[test]
    fn a_claim_on_a_closed_loan_is_refused() {
        let refusal = claim_returned(&loan("Closed", "Available"), noon(), "x").expect_err("refused");
        assert_eq!(refusal.message, "Loan is closed");
    }

    #[test]
    fn only_an_item_claimed_returned_can_be_declared_missing() {
        let refusal = declare_missing(&loan("Open", "Checked out"), "gone").expect_err("refused");
        assert_eq!(refusal.message, "Item is not Claimed returned");
        let changed = declare_missing(&loan("Open", "Claimed returned"), "gone").expect("allowed");
        assert_eq!(
            (&changed["status"]["name"], &changed["action"]),
            (&json!("Closed"), &json!("markedMissing"))
        );
    }
}
