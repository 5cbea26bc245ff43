//! A new loan.

use super::{Decision, known_item, refuse_for_proxy, refuse_for_status_and_desks, with_text};
use crate::desk::{ItemAtDesk, Patron, queue};
use crate::document::text_at;
use crate::loans::sent::facts::Facts;
use crate::loans::store;
use crate::settings::CirculationSettings;
use carrel_circulation_rules::PolicyKind;
use carrel_loan_rules::LoanStatus;
use carrel_loan_rules::due_date::{self, Circumstances, RecallMoment, RecalledLoan};
use carrel_loan_rules::loan_policy::LoanTerms;
use carrel_records::{Failure, ItemStatus, Refusal, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// Refusals of a new loan in desk order, or the loan.
pub fn decide_new(
    facts: &Facts,
    sent: &Map<String, Value>,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Result<Decision, Failure> {
    refuse_for_status_and_desks(sent, settings)?;
    let item = known_item(facts, sent)?;
    refuse_for_status_of_item(item, settings)?;
    refuse_for_proxy(facts, sent, now)?;
    let Some(patron) = &facts.patron else {
        return Err(with_text(Refusal::new("user is not found"), "userId", sent).into());
    };
    let request = queue::first_fulfillable_by_lending(&facts.queue, item, settings);
    if request.is_some_and(|request| request.requester_id() != Some(patron.id)) {
        return Err(requested_by_another(item, patron, sent).into());
    }
    if patron.patron_group.is_none() {
        return Err(Failure::Misconfigured(
            "Unable to apply circulation rules to a user with null value as patronGroupId".into(),
        ));
    }
    let matched = settings.matching(&item.rule_inputs(patron.patron_group), PolicyKind::Loan)?;
    let terms = settings.loan_terms(matched.id)?;

    let is_open = LoanStatus::of(sent) == Some(LoanStatus::Open);
    let mut loan = store::stored(sent);
    loan.insert("loanPolicyId".into(), matched.id.to_string().into());
    let is_dcb = item.is_of_another_library() || patron.is_of_another_library();
    loan.insert("isDcb".into(), is_dcb.into());
    let recalled = facts
        .queue
        .iter()
        .filter(|waiting| request.is_none_or(|filled| filled.id != waiting.id))
        .any(|waiting| waiting.is_recall() && waiting.item_id() == Some(item.id));
    if recalled
        && is_open
        && let Some(due_date) = recalled_due_date(sent, patron, &terms, settings, now)?
    {
        loan.insert("dueDate".into(), time::format(due_date).into());
        loan.insert("dueDateChangedByRecall".into(), true.into());
    }
    let item_status = (is_open && item.status != ItemStatus::CheckedOut).then_some(ItemStatus::CheckedOut);
    loan.insert("itemStatus".into(), item_status.as_ref().unwrap_or(&item.status).into());
    Ok(Decision {
        loan,
        item_id: item.id,
        item_status,
        fills: request.map(|request| request.id),
        moves_up: request.map_or_else(Default::default, |filled| queue::without(&facts.queue, filled.id)),
        moved: None,
    })
}

fn refuse_for_status_of_item(item: &ItemAtDesk, settings: &CirculationSettings) -> Result<(), Refusal> {
    let words = match item.status {
        ItemStatus::CheckedOut => "Item is already checked out".to_owned(),
        ItemStatus::Missing | ItemStatus::DeclaredLost => format!(
            "{} ({}) (Barcode: {}) has the item status {}, loan cannot be created",
            item.title(),
            item.material_type_name(settings),
            item.barcode(),
            item.status
        ),
        _ => return Ok(()),
    };
    Err(Refusal::new(words).with("itemId", item.id.to_string()))
}

fn requested_by_another(item: &ItemAtDesk, patron: &Patron, sent: &Map<String, Value>) -> Refusal {
    let words = format!(
        "{} (Barcode: {}) cannot be checked out to user {} because it has been requested by another patron",
        item.title(),
        item.barcode(),
        patron.display_name()
    );
    with_text(Refusal::new(words), "userId", sent)
}

/// The due date of a loan that another patron's recall shortens immediately; `None` if it stays as sent.
fn recalled_due_date(
    sent: &Map<String, Value>,
    patron: &Patron,
    terms: &LoanTerms,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Result<Option<Timestamp>, Failure> {
    let moment = |key: &str| time::parse(text_at(sent, key));
    let (Some(loan_date), Some(due_date)) = (moment("loanDate"), moment("dueDate")) else { return Ok(None) };
    let desk = Uuid::parse_str(text_at(sent, "checkoutServicePointId")).unwrap_or_default();
    let circumstances = Circumstances {
        now,
        zone: &settings.zone,
        calendar: &settings.calendar(desk),
        patron_expires: patron.expires(),
    };
    let already_recalled = sent.get("dueDateChangedByRecall") == Some(&Value::Bool(true));
    let loan = RecalledLoan { loan_date, due_date, already_recalled };
    let moved = due_date::due_date_after_recall(terms, &loan, RecallMoment::AtCheckOut, &circumstances)
        .map_err(Failure::Refused)?;
    Ok(moved.map(|moved| moved.at))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use super::*;
    use serde_json::json;

    #[test]
    fn an_item_that_is_out_lost_or_missing_is_refused() {
        let refused = |status: &str| {
            let sent = loan("Open", json!({}));
            let refused = decide_new(&item(status), &sent, &library(), now());
            refused.expect_err("refused").to_string()
        };
        assert_eq!(refused("Checked out"), "refused: Item is already checked out");
        assert!(refused("Missing").ends_with("has the item status Missing, loan cannot be created"));
        assert_eq!(refused("Available"), "refused: user is not found");
    }
}
