//! Renewal by the loan policy.

use super::{Case, Renewed};
use crate::desk::QueuedRequest;
use crate::desk::override_blocks::{RENEWAL_BLOCK, RENEWAL_DUE_DATE_REQUIRED_BLOCK};
use crate::document::text_at;
use carrel_loan_rules::due_date::{self, Circumstances, DueDate, Renewal};
use carrel_records::{ItemStatus, Refusal, RefusalCode};
use serde_json::Value;
use uuid::Uuid;

impl Case<'_> {
    /// The refusal if the loan's overdue fine policy blocks renewal after a billed reminder.
    pub(super) fn refuse_for_reminders(&self) -> Option<Refusal> {
        let policy = Uuid::parse_str(text_at(&self.loan.document, "overdueFinePolicyId"))
            .ok()
            .and_then(|id| self.settings.overdue_fine_policies.get(&id));
        let allowed = policy
            .and_then(|policy| policy.pointer("/reminderFeesPolicy/allowRenewalOfItemsWithReminderFees"))
            == Some(&Value::Bool(true));
        (self.has_billed_reminders() && !allowed).then(|| {
            let words = "Renewals not allowed for loans with reminders.";
            let refusal =
                Refusal::new(words).with("reason", words).code(RefusalCode::RenewalBlockedByReminderFees);
            RENEWAL_BLOCK.mark(refusal, &self.actor.may)
        })
    }

    /// The renewed loan, or all refusals.
    pub(super) fn renew_by_the_rules(&self, refusals: &mut Vec<Refusal>) -> Option<Renewed> {
        let renewal =
            Renewal { due_date: self.due_date(), first_request_is_hold: self.first_request_is_hold() };
        let of_the_policy = self.refusals_of_the_policy(&renewal);
        let is_refused = !of_the_policy.is_empty();
        refusals.extend(of_the_policy);
        if is_refused {
            return None;
        }
        let desk =
            Uuid::parse_str(text_at(&self.loan.document, "checkoutServicePointId")).unwrap_or_default();
        let circumstances = Circumstances {
            now: self.actor.now,
            zone: &self.settings.zone,
            calendar: &self.settings.calendar(desk),
            patron_expires: self.patron.expires(),
        };
        let due = match due_date::due_date_of_renewal(self.terms, &renewal, &circumstances) {
            Ok(due) => due,
            Err(more) => {
                refusals.extend(more);
                return None;
            }
        };
        Some(self.renewed_by_the_rules(&due))
    }

    /// All refusals of the loan policy and of the item, in FOLIO's order.
    fn refusals_of_the_policy(&self, renewal: &Renewal) -> Vec<Refusal> {
        let policy = self.terms.policy;
        let due_date_required =
            |refusal: Refusal| RENEWAL_DUE_DATE_REQUIRED_BLOCK.mark(refusal, &self.actor.may);
        let mut refusals = Vec::new();
        if !policy.is_loanable() {
            refusals.push(due_date_required(
                policy.refusal("item is not loanable").code(RefusalCode::ItemNotLoanable),
            ));
        }
        refusals.extend(
            self.refusals_that_keep_the_due_date()
                .into_iter()
                .map(|refusal| RENEWAL_BLOCK.mark(refusal, &self.actor.may)),
        );
        refusals.extend(
            due_date::refusals_of_renewal(self.terms, renewal.first_request_is_hold)
                .into_iter()
                .map(due_date_required),
        );
        if self.loan.item_status() == ItemStatus::ClaimedReturned {
            refusals.push(
                Refusal::new("item is Claimed returned")
                    .with("itemId", self.item_id())
                    .code(RefusalCode::ItemClaimedReturnedNotRenewable),
            );
        }
        if policy.is_loanable() {
            let refusal = match due_date::proposed_for_renewal(self.terms, renewal, self.actor.now) {
                Ok(proposed) => {
                    due_date::refuse_if_renewal_changes_nothing(self.terms, renewal.due_date, proposed)
                }
                Err(refusal) => Some(refusal),
            };
            refusals.extend(refusal.map(due_date_required));
        }
        refusals
    }

    fn renewed_by_the_rules(&self, due: &DueDate) -> Renewed {
        let by_override = self.command.override_blocks.patron_block.is_some();
        let mut loan = self.renewed_until(due.at);
        let action = if by_override { "renewedThroughOverride" } else { "renewed" };
        loan.insert("action".into(), action.into());
        match &self.command.override_blocks.comment {
            Some(comment) if by_override => loan.insert("actionComment".into(), comment.clone().into()),
            _ => loan.remove("actionComment"),
        };
        if due.changed_by_near_expire_user {
            loan.insert("dueDateChangedByNearExpireUser".into(), true.into());
        }
        Renewed { loan, item_status: None, overdue_fine: None, first_reminder: None, log: Vec::new() }
    }

    fn first_request_is_hold(&self) -> bool {
        let waits_for_title = |request: &QueuedRequest| {
            request.is_title_level() && request.is_hold() && request.item_id().is_none()
        };
        let mut queue = self.loan.queue.iter();
        queue
            .find(|request| self.is_for_item(request) || waits_for_title(request))
            .is_some_and(QueuedRequest::is_hold)
    }

    /// The refusals that staff can override without a new due date.
    fn refusals_that_keep_the_due_date(&self) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        if let Some(recall) = self.recall() {
            refusals.push(
                Refusal::new("items cannot be renewed when there is an active recall request")
                    .with("requestId", recall.id.to_string())
                    .code(RefusalCode::RenewalBlockedByRecall),
            );
        }
        let code = match self.loan.item_status() {
            ItemStatus::AgedToLost => Some(RefusalCode::ItemAgedToLostNotRenewable),
            ItemStatus::DeclaredLost => Some(RefusalCode::ItemDeclaredLostNotRenewable),
            _ => None,
        };
        if let Some(code) = code {
            let words = format!("item is {}", self.loan.item_status());
            refusals.push(Refusal::new(words).with("itemId", self.item_id()).code(code));
        }
        if self.limit_is_reached() {
            refusals.push(
                self.terms
                    .policy
                    .refusal("loan at maximum renewal number")
                    .code(RefusalCode::LoanRenewalLimitReached),
            );
        }
        refusals
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use carrel_records::RefusalCode;
    use serde_json::json;

    #[test]
    fn all_refusals_of_a_renewal_are_returned_at_once_in_order() {
        let recalled = || waiting(lent("Checked out", json!({})), "Recall", json!(BOOK));
        let held = || waiting(lent("Checked out", json!({})), "Hold", json!(null));
        let limited = || json!({"renewalsPolicy": {"numberAllowed": 0, "renewFromId": "SYSTEM_DATE"}});
        let table = [
            (lent("Checked out", json!({})), json!({"loanable": false}), vec![RefusalCode::ItemNotLoanable]),
            (
                recalled(),
                json!({"loanable": false}),
                vec![RefusalCode::ItemNotLoanable, RefusalCode::RenewalBlockedByRecall],
            ),
            (
                recalled(),
                limited(),
                vec![RefusalCode::RenewalBlockedByRecall, RefusalCode::LoanRenewalLimitReached],
            ),
            (held(), json!({}), vec![RefusalCode::RenewalBlockedByHoldRequest]),
            (lent("Aged to lost", json!({})), json!({}), vec![RefusalCode::ItemAgedToLostNotRenewable]),
            (
                lent("Claimed returned", json!({})),
                json!({}),
                vec![RefusalCode::ItemClaimedReturnedNotRenewable],
            ),
            (
                lent("Checked out", json!({"dueDate": "2024-08-01T00:00:00Z"})),
                json!({"renewable": false}),
                vec![RefusalCode::LoanNotRenewable, RefusalCode::RenewalWouldNotChangeDueDate],
            ),
            (
                lent("Checked out", json!({"reminders": {"lastFeeBilled": {"number": 1}}})),
                json!({}),
                vec![RefusalCode::RenewalBlockedByReminderFees],
            ),
        ];
        for (facts, differs, expected) in table {
            assert_eq!(codes(&facts, &by_barcode(), &library(differs.clone())), expected, "{differs}");
        }
    }
}
