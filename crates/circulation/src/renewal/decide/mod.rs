//! The decision of a renewal: refusals in FOLIO's order, or the renewed loan.
//!
//! `patron` finds the loan and checks its patron, `rules` renews by the loan policy, `by_override` by an override.

mod by_override;
#[cfg(test)]
mod fixtures;
mod patron;
mod rules;

use super::facts::Facts;
use super::{Actor, By, RenewalRequest};
use crate::desk::log as desk_log;
use crate::desk::override_blocks::RENEWAL_BLOCK;
use crate::desk::{ItemAtDesk, Patron, QueuedRequest};
use crate::document::text_at;
use crate::loans::find::LoanAtDesk;
use crate::loans::log;
use crate::overdue_fine::{Occasion, OverdueItem, overdue_fine};
use crate::reminder_schedule::{ScheduledReminder, first_reminder};
use crate::settings::CirculationSettings;
use carrel_audit::circulation_log::{Action, LogEntry};
use carrel_circulation_rules::PolicyKind;
use carrel_fees_fines::charge::Charge;
use carrel_loan_rules::loan_policy::LoanTerms;
use carrel_records::{Failure, ItemStatus, Refusal, RefusalCode, time};
use jiff::Timestamp;
use patron::{find, refuse_for_account_status, refuse_for_patron_blocks};
use serde_json::{Map, Value};
use uuid::Uuid;

/// The changes of a renewal.
#[derive(Debug, Clone, PartialEq)]
pub struct Renewed {
    pub loan: Map<String, Value>,
    /// The item's new status, if it changes.
    pub item_status: Option<ItemStatus>,
    /// The fine of the loan until now.
    pub overdue_fine: Option<Charge>,
    /// Its entries in the circulation log.
    pub log: Vec<LogEntry>,
    /// Reminders start again with the new due date.
    pub first_reminder: Option<ScheduledReminder>,
}

/// Refuses a request without item or patron, or with a malformed date.
pub fn refuse_incomplete(command: &RenewalRequest) -> Result<(), Failure> {
    let missing = |text: &Option<String>| text.as_deref().unwrap_or_default().trim().is_empty();
    let refusal = match command.by {
        By::Barcode if missing(&command.item_barcode) => {
            Refusal::new("Renewal request must have an item barcode")
                .with_null("itemBarcode")
                .code(RefusalCode::RenewalRequestItemBarcodeRequired)
        }
        By::Barcode if missing(&command.user_barcode) => {
            Refusal::new("Renewal request must have a user barcode")
                .with_null("userBarcode")
                .code(RefusalCode::RenewalRequestUserBarcodeRequired)
        }
        By::Id if missing(&command.item_id) => {
            Refusal::new("Renewal request must have an item ID").with_null("itemId")
        }
        By::Id if missing(&command.user_id) => {
            Refusal::new("Renewal request must have a user ID").with_null("userId")
        }
        By::Barcode | By::Id => return refuse_unreadable_date(command),
    };
    Err(refusal.into())
}

fn refuse_unreadable_date(command: &RenewalRequest) -> Result<(), Failure> {
    let block = command.override_blocks.renewal_due_date_required_block.as_ref();
    match block.and_then(|block| block.due_date.as_deref()) {
        Some(date) if !date.trim().is_empty() && time::parse(date).is_none() => Err(Failure::Invalid(
            "renewalDueDateRequiredBlock.dueDate must be a date and time in ISO 8601".into(),
        )),
        _ => Ok(()),
    }
}

/// All refusals in FOLIO's order, or the renewed loan.
pub fn decide(
    facts: &Facts,
    command: &RenewalRequest,
    actor: &Actor,
    settings: &CirculationSettings,
) -> Result<Renewed, Failure> {
    let overrides = &command.override_blocks;
    let is_override =
        overrides.renewal_block.is_some() || overrides.renewal_due_date_required_block.is_some();
    let mut refusals = Vec::new();
    let found = find(facts, command, &mut refusals)?;
    if let Some((_, patron)) = found {
        refusals.extend(refuse_for_account_status(patron, actor.now));
        refuse_for_patron_blocks(facts, patron, command, actor, settings, &mut refusals);
    }
    if is_override {
        refusals.extend(RENEWAL_BLOCK.refuse_override(&actor.may));
    }
    let Some((loan, patron)) = found else { return Err(Failure::refused_once_each(refusals)) };
    let item = loan.item.as_ref().ok_or_else(|| Failure::internal("a loan is found by its item"))?;
    if patron.patron_group.is_none() {
        return Err(Failure::Misconfigured(
            "Unable to apply circulation rules to a user with null value as patronGroupId".into(),
        ));
    }
    let matched = settings.matching(&item.rule_inputs(patron.patron_group), PolicyKind::Loan)?;
    let terms = settings.loan_terms(matched.id)?;
    let case = Case { loan, patron, terms: &terms, policy: matched.id, command, actor, settings };
    let renewed = if is_override {
        case.renew_by_override().map_err(|refusal| refusals.push(refusal)).ok()
    } else {
        refusals.extend(case.refuse_for_reminders());
        case.renew_by_the_rules(&mut refusals)
    };
    match renewed {
        Some(renewed) if refusals.is_empty() => {
            let log = case.log(&renewed.loan, is_override);
            let first_reminder = first_reminder(&renewed.loan, settings);
            Ok(Renewed { overdue_fine: case.overdue_fine(item), first_reminder, log, ..renewed })
        }
        _ => Err(Failure::refused_once_each(refusals)),
    }
}

/// A loan whose policy is known.
struct Case<'a> {
    loan: &'a LoanAtDesk,
    patron: &'a Patron,
    terms: &'a LoanTerms<'a>,
    policy: Uuid,
    command: &'a RenewalRequest,
    actor: &'a Actor,
    settings: &'a CirculationSettings,
}

impl Case<'_> {
    /// Separate entries for the new due date and for the renewal.
    fn log(&self, renewed: &Map<String, Value>, is_override: bool) -> Vec<LogEntry> {
        let renewal = if is_override { Action::RenewedThroughOverride } else { Action::Renewed };
        [Action::ChangedDueDate, renewal]
            .into_iter()
            .filter_map(|action| {
                log::new_due_date(self.loan, renewed, action, self.actor.by, &self.settings.zone)
            })
            .map(|entry| LogEntry { patron: desk_log::patron(self.patron), ..entry })
            .collect()
    }
    fn item_id(&self) -> &str {
        text_at(&self.loan.document, "itemId")
    }
    fn is_for_item(&self, request: &QueuedRequest) -> bool {
        request.item_id().is_some_and(|item| Some(item) == self.loan.item.as_ref().map(|item| item.id))
    }
    fn recall(&self) -> Option<&QueuedRequest> {
        self.loan.queue.iter().find(|request| request.is_recall() && self.is_for_item(request))
    }
    /// A loan without due date counts as due now.
    fn due_date(&self) -> Timestamp {
        time::parse(text_at(&self.loan.document, "dueDate")).unwrap_or(self.actor.now)
    }
    fn renewals_so_far(&self) -> i64 {
        self.loan.document.get("renewalCount").and_then(Value::as_i64).unwrap_or(0)
    }
    fn limit_is_reached(&self) -> bool {
        self.terms.policy.renewal_limit_is_reached(self.renewals_so_far())
    }

    fn overdue_fine(&self, item: &ItemAtDesk) -> Option<Charge> {
        let overdue = OverdueItem {
            loan: &self.loan.document,
            item,
            patron_group: self.patron.patron_group,
            occasion: Occasion::Renewal,
            by: self.actor.by,
            now: self.actor.now,
        };
        overdue_fine(&overdue, self.settings)
    }

    /// Whether reminders of this loan have been billed.
    fn has_billed_reminders(&self) -> bool {
        let reminders = self.loan.document.get("reminders");
        let number = reminders.and_then(|reminders| reminders.pointer("/lastFeeBilled/number"));
        number.and_then(Value::as_i64).unwrap_or(0) > 0
    }

    /// The changes that every renewal makes to the loan; action and comment are set by the caller.
    fn renewed_until(&self, due_date: Timestamp) -> Map<String, Value> {
        let mut loan = self.loan.document.clone();
        loan.insert("dueDate".into(), time::format(due_date).into());
        loan.insert("renewalCount".into(), (self.renewals_so_far() + 1).into());
        loan.insert("loanPolicyId".into(), self.policy.to_string().into());
        loan.insert("itemStatus".into(), (&self.loan.item_status()).into());
        loan.remove("reminders");
        let recalled =
            self.loan.queue.iter().any(|request| {
                request.is_recall() && request.is_not_yet_filled() && self.is_for_item(request)
            });
        if loan.get("dueDateChangedByRecall") == Some(&Value::Bool(true)) && !recalled {
            loan.insert("dueDateChangedByRecall".into(), false.into());
        }
        loan
    }
}

#[cfg(test)]
mod tests {
    use super::fixtures::*;
    use super::*;
    use serde_json::json;

    #[test]
    fn a_renewal_without_item_or_patron_is_refused() {
        assert!(refuse_incomplete(&by_barcode()).is_ok());
        assert!(refuse_incomplete(&RenewalRequest::default()).is_err());
        assert!(refuse_incomplete(&RenewalRequest { by: By::Id, ..by_barcode() }).is_err());
        assert!(refuse_incomplete(&overriding(Some("next week"), None)).is_err());
    }

    #[test]
    fn a_renewal_is_counted_and_resets_the_reminders() {
        let facts = lent(
            "Checked out",
            json!({"renewalCount": 1, "dueDateChangedByRecall": true, "reminders": {"lastFeeBilled": {}}}),
        );
        let renewed = decided(&facts, &by_barcode(), &usual()).expect("renewed");
        assert_eq!(
            Value::Object(renewed.loan),
            json!({"id": BOOK, "itemId": BOOK, "userId": READER, "status": {"name": "Open"},
                "dueDate": "2024-06-05T08:00:00.000+00:00", "action": "renewed", "own": 1, "renewalCount": 2,
                "loanPolicyId": POLICY, "itemStatus": "Checked out", "dueDateChangedByRecall": false})
        );
        assert_eq!(renewed.item_status, None);
    }
}
