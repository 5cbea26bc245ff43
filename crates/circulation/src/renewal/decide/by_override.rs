//! Renewal by override.

use super::{Case, Renewed};
use carrel_loan_rules::due_date::{self, Renewal};
use carrel_records::{ItemStatus, Refusal, RefusalCode, time};
use jiff::Timestamp;
use serde_json::Value;

impl Case<'_> {
    /// The loan renewed by override, or the refusals of the override.
    pub(super) fn renew_by_override(&self) -> Result<Renewed, Refusal> {
        let overrides = &self.command.override_blocks;
        let comment = overrides.comment.as_deref().unwrap_or_default();
        if comment.trim().is_empty() {
            return Err(Refusal::new("Override renewal request must have a comment")
                .with_null("comment")
                .code(RefusalCode::OverrideRenewalCommentRequired));
        }
        let due_date = self.due_date_by_override()?;
        let mut loan = self.renewed_until(due_date);
        loan.insert("action".into(), "renewedThroughOverride".into());
        loan.insert("actionComment".into(), comment.into());
        loan.insert("itemStatus".into(), (&ItemStatus::CheckedOut).into());
        if self.loan.item_status() == ItemStatus::AgedToLost
            && let Some(billing) = loan.get_mut("agedToLostDelayedBilling").and_then(Value::as_object_mut)
        {
            billing.remove("lostItemHasBeenBilled");
            billing.remove("dateLostItemShouldBeBilled");
        }
        let item_status =
            (self.loan.item_status() != ItemStatus::CheckedOut).then_some(ItemStatus::CheckedOut);
        Ok(Renewed { loan, item_status, overdue_fine: None, first_reminder: None, log: Vec::new() })
    }

    /// The date by the policy if it changes the due date, otherwise the date in the override.
    fn due_date_by_override(&self) -> Result<Timestamp, Refusal> {
        let policy = self.terms.policy;
        let wanted = self.command.override_blocks.renewal_due_date_required_block.as_ref();
        let wanted = wanted.and_then(|block| block.due_date.as_deref()).and_then(time::parse);
        // FOLIO quirk: an absent date is the text "null" in the refusal.
        let needs_date = |words: &str, code| Refusal::new(words).with("dueDate", "null").code(code);
        let named = || {
            wanted.ok_or_else(|| {
                needs_date(
                    "New due date must be specified when due date calculation fails",
                    RefusalCode::OverrideRenewalDueDateRequired,
                )
            })
        };
        if !policy.is_loanable() || !policy.is_renewable() {
            return named();
        }
        let due_date = self.due_date();
        let renewal = Renewal { due_date, first_request_is_hold: false };
        let Ok(proposed) = due_date::proposed_for_renewal(self.terms, &renewal, self.actor.now) else {
            return named();
        };
        let unchanged = due_date::refuse_if_renewal_changes_nothing(self.terms, due_date, proposed).is_some();
        let is_lost = self.loan.item_status().is_lost();
        let may_be_overridden = self.limit_is_reached()
            || self.recall().is_some()
            || is_lost
            || unchanged
            || self.has_billed_reminders();
        if !may_be_overridden {
            return Err(policy
                .refusal(NO_CASE_OF_OVERRIDE)
                .code(RefusalCode::OverrideRenewalNotAllowedForCurrentLoan));
        }
        if !unchanged {
            return Ok(proposed);
        }
        let wanted = wanted.ok_or_else(|| {
            needs_date(
                "New due date is required when renewal would not change the due date",
                RefusalCode::OverrideRenewalDueDateRequiredWhenDueDateUnchanged,
            )
        })?;
        match due_date::refuse_if_renewal_changes_nothing(self.terms, due_date, wanted) {
            Some(refusal) => Err(refusal),
            None => Ok(wanted),
        }
    }
}

const NO_CASE_OF_OVERRIDE: &str = "Override renewal does not match any of expected cases: item is not loanable, \
    item is not renewable, reached number of renewals limit,renewal date falls outside of the date ranges in the \
    loan policy, items cannot be renewed when there is an active recall request, item is Declared lost, item is \
    Aged to lost, renewal would not change the due date, loan has reminder fees";

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::fixtures::*;
    use crate::desk::override_blocks::MayOverride;
    use crate::renewal::Actor;
    use carrel_records::ItemStatus;
    use carrel_records::RefusalCode;
    use carrel_records::{Failure, time};
    use serde_json::json;

    #[test]
    fn an_override_needs_a_comment_and_a_due_date_if_the_policy_gives_none() {
        let facts = lent("Checked out", json!({}));
        let not_loanable = library(json!({"loanable": false}));
        assert_eq!(
            codes(&facts, &overriding(None, Some(" ")), &usual()),
            [RefusalCode::OverrideRenewalCommentRequired]
        );
        assert_eq!(
            codes(&facts, &overriding(None, Some("why")), &not_loanable),
            [RefusalCode::OverrideRenewalDueDateRequired]
        );
        assert_eq!(
            codes(&facts, &overriding(None, Some("why")), &usual()),
            [RefusalCode::OverrideRenewalNotAllowedForCurrentLoan]
        );
        let far = lent("Checked out", json!({"dueDate": "2024-08-01T00:00:00Z"}));
        assert_eq!(
            codes(&far, &overriding(None, Some("why")), &usual()),
            [RefusalCode::OverrideRenewalDueDateRequiredWhenDueDateUnchanged]
        );
        assert_eq!(
            codes(&far, &overriding(Some("2024-07-01T00:00:00Z"), Some("why")), &usual()),
            [RefusalCode::RenewalWouldNotChangeDueDate]
        );
        let renewed = decided(&facts, &overriding(Some("2024-05-16T00:00:00Z"), Some("why")), &not_loanable)
            .expect("renewed");
        assert_eq!(renewed.loan["dueDate"], "2024-05-16T00:00:00.000+00:00");
        assert_eq!(renewed.loan["actionComment"], "why");
    }

    #[test]
    fn a_lost_item_that_is_renewed_by_override_is_on_loan_again() {
        let facts = lent(
            "Aged to lost",
            json!({"agedToLostDelayedBilling": {"lostItemHasBeenBilled": false, "agedToLostDate": "then"}}),
        );
        let renewed = decided(&facts, &overriding(None, Some("found")), &usual()).expect("renewed");
        assert_eq!(renewed.item_status, Some(ItemStatus::CheckedOut));
        assert_eq!(renewed.loan["action"], "renewedThroughOverride");
        assert_eq!(renewed.loan["agedToLostDelayedBilling"], json!({"agedToLostDate": "then"}));
    }

    #[test]
    fn an_override_without_permission_is_refused() {
        let facts = lent("Checked out", json!({}));
        let now = time::parse(NOW).expect("a time");
        let actor = Actor { by: None, may: MayOverride::default(), now };
        let refused = decide(&facts, &overriding(None, None), &actor, &usual());
        let Err(Failure::Refused(refusals)) = refused else { unreachable!("a refusal was expected") };
        let codes: Vec<_> = refusals.iter().filter_map(|refusal| refusal.code).collect();
        assert_eq!(
            codes,
            [RefusalCode::InsufficientOverridePermissions, RefusalCode::OverrideRenewalCommentRequired]
        );
    }
}
