//! The loan as it will be stored, with its due date.

use super::{Permitted, Scan};
use carrel_loan_rules::due_date::{self, Circumstances, NewLoan, RecallMoment, RecalledLoan};
use carrel_records::{Failure, ItemStatus, metadata, time};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// When the loan is due, and the reasons for changes of the date.
pub(super) struct Due {
    at: Timestamp,
    by_hold: bool,
    by_expiration: bool,
    by_recall: bool,
}

impl Scan<'_> {
    pub(super) fn due_date(&self, permitted: &Permitted, service_point: Uuid) -> Result<Due, Failure> {
        let (queue, item) = (&self.facts.queue, permitted.item.id);
        let calendar = self.settings.calendar(service_point);
        let circumstances = Circumstances {
            now: self.actor.now,
            zone: &self.settings.zone,
            calendar: &calendar,
            patron_expires: permitted.patron.expires(),
        };
        let loan_date = self.loan_date();
        let named = self.command.override_blocks.item_not_loanable_block.as_ref();
        let mut due = match named.and_then(|block| block.due_date.as_deref()).and_then(time::parse) {
            Some(at) => Due { at, by_hold: false, by_expiration: false, by_recall: false },
            None => {
                // FOLIO quirk: a hold of the patron themselves, which this loan fulfills, shortens it as well.
                let hold_is_pending = queue.iter().any(|request| {
                    request.is_hold()
                        && request.is_not_yet_filled()
                        && request.item_id().is_none_or(|wanted| wanted == item)
                });
                let loan = NewLoan { loan_date, hold_is_pending };
                let due = due_date::due_date_of_new_loan(&permitted.terms, &loan, &circumstances)?;
                Due {
                    at: due.at,
                    by_hold: due.changed_by_hold,
                    by_expiration: due.changed_by_near_expire_user,
                    by_recall: false,
                }
            }
        };
        // A recall that remains in the queue shortens the loan immediately.
        let recalled = queue
            .iter()
            .filter(|request| Some(request.id) != permitted.fills)
            .any(|request| request.is_recall() && request.item_id() == Some(item));
        if recalled {
            let loan = RecalledLoan { loan_date, due_date: due.at, already_recalled: false };
            let moved = due_date::due_date_after_recall(
                &permitted.terms,
                &loan,
                RecallMoment::AtCheckOut,
                &circumstances,
            )
            .map_err(Failure::Refused)?;
            due.by_recall = true;
            if let Some(moved) = moved {
                due.at = moved.at;
                due.by_expiration |= moved.changed_by_near_expire_user;
            }
        }
        Ok(due)
    }

    pub(super) fn loan(&self, permitted: &Permitted, due: &Due, service_point: Uuid) -> Map<String, Value> {
        let Permitted { patron, item, policies, terms, .. } = permitted;
        let blocks = &self.command.override_blocks;
        let overridden = blocks.patron_block.is_some()
            || blocks.item_limit_block.is_some()
            || blocks.item_not_loanable_block.is_some();
        let mut loan = Map::new();
        let mut put = |key: &str, value: Value| {
            loan.insert(key.to_owned(), value);
        };
        put("id", self.actor.loan_id.to_string().into());
        put("userId", patron.id.to_string().into());
        if let Some(proxy) = &self.facts.proxy {
            put("proxyUserId", proxy.id.to_string().into());
        }
        put("itemId", item.id.to_string().into());
        if let Some(location) = item.record.effective_location_id {
            put("itemEffectiveLocationIdAtCheckOut", location.to_string().into());
        }
        put("status", json!({"name": "Open"}));
        put("loanDate", time::format(self.loan_date()).into());
        put("dueDate", time::format(due.at).into());
        put("action", if overridden { "checkedOutThroughOverride" } else { "checkedout" }.into());
        if overridden && let Some(comment) = &blocks.comment {
            put("actionComment", comment.clone().into());
        }
        put("itemStatus", (&ItemStatus::CheckedOut).into());
        put("loanPolicyId", policies.loan.to_string().into());
        put("overdueFinePolicyId", policies.overdue_fine.to_string().into());
        put("lostItemPolicyId", policies.lost_item.to_string().into());
        put("checkoutServicePointId", service_point.to_string().into());
        if let Some(group) = patron.patron_group {
            put("patronGroupIdAtCheckout", group.to_string().into());
        }
        for (flag, is_set) in [
            ("dueDateChangedByRecall", due.by_recall),
            ("dueDateChangedByHold", due.by_hold),
            ("dueDateChangedByNearExpireUser", due.by_expiration),
        ] {
            if is_set {
                put(flag, true.into());
            }
        }
        put("isDcb", (item.is_of_another_library() || patron.is_of_another_library()).into());
        put("metadata", metadata::created(self.actor.by, self.actor.now));
        let for_use_here =
            terms.policy.loans_policy.as_ref().is_some_and(|loans| loans.for_use_at_location == Some(true));
        if self.settings.features.for_use_at_location && for_use_here {
            put("forUseAtLocation", json!({"status": "In use", "statusDate": time::format(self.actor.now)}));
        }
        loan
    }
}

#[cfg(test)]
mod tests {
    use super::super::Facts;
    use super::super::fixtures::*;
    use crate::check_out::{Actor, CheckOutRequest};
    use crate::desk::override_blocks::WithDueDate;
    use serde_json::{Value, json};

    fn lent(
        facts: &Facts,
        command: &CheckOutRequest,
        settings: &crate::settings::CirculationSettings,
    ) -> Value {
        Value::Object(decided(facts, command, settings).expect("a loan").loan)
    }

    #[test]
    fn a_loan_has_patron_item_due_date_and_policies() {
        let by = Some(OTHER);
        let decided = super::super::decide(&facts(), &command(), &Actor { by, ..actor() }, &usual());
        let now = "2024-05-15T08:00:00.000+00:00";
        assert_eq!(
            Value::Object(decided.expect("a loan").loan),
            json!({
                "id": LOAN, "userId": PATRON, "itemId": BOOK, "itemEffectiveLocationIdAtCheckOut": STACKS,
                "status": {"name": "Open"}, "loanDate": now, "dueDate": "2024-06-05T23:59:59.000+00:00",
                "action": "checkedout", "itemStatus": "Checked out", "loanPolicyId": POLICY,
                "overdueFinePolicyId": POLICY, "lostItemPolicyId": POLICY, "checkoutServicePointId": DESK,
                "patronGroupIdAtCheckout": PATRON, "isDcb": false,
                "metadata": {"createdDate": now, "updatedDate": now, "createdByUserId": OTHER,
                    "updatedByUserId": OTHER},
            })
        );
    }

    #[test]
    fn a_loan_that_is_entered_later_counts_from_its_own_date() {
        let command = CheckOutRequest { loan_date: Some("2024-05-01T10:00:00Z".into()), ..command() };
        let loan = lent(&facts(), &command, &usual());
        assert_eq!(loan["loanDate"], "2024-05-01T10:00:00.000+00:00");
        assert_eq!(loan["dueDate"], "2024-05-22T23:59:59.000+00:00");
    }

    #[test]
    fn items_and_patrons_of_other_libraries_mark_the_loan() {
        let mut theirs = facts();
        theirs.item.as_mut().expect("an item").record.dcb_item = Some(true);
        assert_eq!(lent(&theirs, &command(), &usual())["isDcb"], true);
        let mut visitor = facts();
        visitor.patron.as_mut().expect("a patron").kind = Some("dcb".into());
        assert_eq!(lent(&visitor, &command(), &usual())["isDcb"], true);
    }

    #[test]
    fn a_waiting_hold_shortens_the_loan_also_the_patrons_own() {
        let days = json!({"holds": {"alternateCheckoutLoanPeriod": {"duration": 2, "intervalId": "Days"}}});
        let settings = library(json!({"requestManagement": days}));
        let due = |patron, differs: Value| {
            let behind = request(2, patron, differs);
            let facts =
                Facts { queue: vec![request(1, PATRON, json!({"requestType": "Page"})), behind], ..facts() };
            let loan = lent(&facts, &command(), &settings);
            (loan["dueDate"].clone(), loan.get("dueDateChangedByHold").cloned())
        };
        let short = (json!("2024-05-17T23:59:59.000+00:00"), Some(json!(true)));
        let usual = (json!("2024-06-05T23:59:59.000+00:00"), None);
        assert_eq!(due(OTHER, json!({})), short);
        assert_eq!(due(PATRON, json!({})), short);
        assert_eq!(due(OTHER, json!({"itemId": OTHER})), usual, "another copy is waited for");
        assert_eq!(due(OTHER, json!({"status": "Open - In transit"})), usual);
    }

    #[test]
    fn a_waiting_recall_shortens_the_loan_also_with_a_due_date_of_staff() {
        let recalls = json!({"recalls": {"recallReturnInterval": {"duration": 5, "intervalId": "Days"}}});
        let settings = library(json!({"requestManagement": recalls}));
        let queue = vec![request(1, PATRON, json!({})), request(2, OTHER, json!({"requestType": "Recall"}))];
        let facts = Facts { queue, ..facts() };
        let mut overriding = command();
        overriding.override_blocks.item_not_loanable_block =
            Some(WithDueDate { due_date: Some("2024-07-01T10:00:00Z".into()) });
        overriding.override_blocks.comment = Some("why".into());
        for command in [command(), overriding] {
            let loan = lent(&facts, &command, &settings);
            assert_eq!(loan["dueDate"], "2024-05-20T23:59:59.000+00:00");
            assert_eq!(loan["dueDateChangedByRecall"], true);
        }
    }

    #[test]
    fn an_account_that_expires_before_the_due_date_shortens_the_loan() {
        let mut facts = facts();
        facts.patron.as_mut().expect("a patron").expiration_date = Some("2024-05-20T00:00:00Z".into());
        let loan = lent(&facts, &command(), &usual());
        assert_eq!(loan["dueDate"], "2024-05-20T00:00:00.000+00:00");
        assert_eq!(loan["dueDateChangedByNearExpireUser"], true);
    }

    #[test]
    fn a_loan_for_use_at_location_is_in_use_if_the_feature_is_on() {
        let mut settings = library(json!({"loansPolicy": {"profileId": "Rolling", "forUseAtLocation": true,
            "period": {"duration": 3, "intervalId": "Hours"}}}));
        assert!(lent(&facts(), &command(), &settings).get("forUseAtLocation").is_none());
        settings.features.for_use_at_location = true;
        assert_eq!(lent(&facts(), &command(), &settings)["forUseAtLocation"]["status"], "In use");
    }
}
