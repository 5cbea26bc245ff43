//! The effects of a request on its item and on the loan that it recalls.

use super::actor::Actor;
use super::candidate::OpenLoan;
use carrel_circulation::desk::ItemAtDesk;
use carrel_circulation::settings::CirculationSettings;
use carrel_circulation_rules::PolicyKind;
use carrel_loan_rules::due_date::{Circumstances, RecallMoment, RecalledLoan, due_date_after_recall};
use carrel_loan_rules::request::RequestType;
use carrel_records::{Failure, ItemStatus, metadata, time};
use serde_json::{Map, Value};

/// The new status of an item after a change of its queue: paged by a page, and available if it was paged and has no
/// request left.
pub fn status_after(
    kind: Option<RequestType>,
    status: &ItemStatus,
    is_requested: bool,
) -> Option<ItemStatus> {
    match status {
        ItemStatus::Paged if !is_requested => Some(ItemStatus::Available),
        ItemStatus::Available if kind == Some(RequestType::Page) => Some(ItemStatus::Paged),
        _ => None,
    }
}

/// The loan after a recall; `None` if an earlier recall has changed it.
pub fn recall(
    loan: &OpenLoan,
    item: &ItemAtDesk,
    actor: &Actor,
    settings: &CirculationSettings,
) -> Result<Option<Map<String, Value>>, Failure> {
    let already = loan.document.get("dueDateChangedByRecall") == Some(&Value::Bool(true));
    let policy = match loan.borrower_group {
        Some(group) => settings.matching(&item.rule_inputs(Some(group)), PolicyKind::Loan)?.id,
        None => loan.id_at("loanPolicyId").unwrap_or_default(),
    };
    if already {
        return Ok(None);
    }
    let terms = settings.loan_terms(policy)?;
    let calendar = settings.calendar(loan.id_at("checkoutServicePointId").unwrap_or_default());
    let on_loan = RecalledLoan {
        loan_date: loan.instant_at("loanDate").unwrap_or(actor.now),
        due_date: loan.instant_at("dueDate").unwrap_or(actor.now),
        already_recalled: false,
    };
    let circumstances = Circumstances {
        now: actor.now,
        zone: &settings.zone,
        calendar: &calendar,
        patron_expires: loan.borrower_expires,
    };
    let Some(due) = due_date_after_recall(&terms, &on_loan, RecallMoment::OnLoan, &circumstances)
        .map_err(Failure::Refused)?
    else {
        return Ok(None);
    };
    let mut after = loan.document.clone();
    after.insert("dueDate".into(), time::format(due.at).into());
    after.insert("dueDateChangedByRecall".into(), true.into());
    if due.changed_by_near_expire_user {
        after.insert("dueDateChangedByNearExpireUser".into(), true.into());
    }
    after.insert("action".into(), "recallrequested".into());
    after.insert("itemStatus".into(), (&item.status).into());
    after.remove("actionComment");
    after.remove("reminders");
    if let Some(metadata) = after.get_mut("metadata") {
        metadata::change(metadata, actor.caller.user_id, actor.now);
    }
    Ok(Some(after))
}
