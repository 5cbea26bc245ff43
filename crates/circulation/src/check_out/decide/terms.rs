//! Refusals of the loan policy: item limits, and items that are not loanable.

use super::{Scan, with_maybe};
use crate::desk::ItemAtDesk;
use crate::desk::override_blocks::{ITEM_LIMIT_BLOCK, ITEM_NOT_LOANABLE_BLOCK};
use crate::settings::Matched;
use carrel_circulation_rules::AppliedConditions;
use carrel_loan_rules::loan_policy::LoanTerms;
use carrel_records::{Refusal, RefusalCode, time};

impl Scan<'_> {
    pub(super) fn refuse_for_item_limit(
        &self,
        matched: &Matched,
        terms: &LoanTerms,
        item: &ItemAtDesk,
    ) -> Option<Refusal> {
        if self.command.override_blocks.item_limit_block.is_some() {
            return self.refuse_bad_override(ITEM_LIMIT_BLOCK);
        }
        let limit = terms.policy.loans_policy.as_ref().and_then(|loans| loans.item_limit)?;
        let (what, code) = counted_by(&matched.conditions)?;
        let AppliedConditions { material_type, loan_type, .. } = matched.conditions;
        let counted = self
            .facts
            .open_loans
            .iter()
            .filter(|(lent_material, lent_type)| {
                (!material_type || *lent_material == item.record.material_type_id)
                    && (!loan_type || *lent_type == item.loan_type())
            })
            .count();
        (counted >= limit as usize).then(|| {
            let words = format!("Patron has reached maximum limit of {limit} items for {what}");
            let refusal = Refusal::new(words)
                .with("itemBarcode", item.barcode())
                .with("itemLimit", limit.to_string())
                .code(code);
            ITEM_LIMIT_BLOCK.mark(refusal, &self.actor.may)
        })
    }

    pub(super) fn refuse_if_not_loanable(&self, terms: &LoanTerms) -> Option<Refusal> {
        let Some(requested) = &self.command.override_blocks.item_not_loanable_block else {
            return (!terms.policy.is_loanable()).then(|| {
                let mut refusal = with_maybe(
                    Refusal::new("Item is not loanable"),
                    "itemBarcode",
                    &self.command.item_barcode,
                )
                .code(RefusalCode::ItemNotLoanable);
                refusal.parameters.extend(terms.policy.refusal("").parameters);
                ITEM_NOT_LOANABLE_BLOCK.mark(refusal, &self.actor.may)
            });
        };
        self.refuse_bad_override(ITEM_NOT_LOANABLE_BLOCK).or_else(|| {
            let words = match requested.due_date.as_deref().and_then(time::parse) {
                None => "Override should be performed with due date specified",
                Some(due) if due <= self.loan_date() => "Due date should be later than loan date",
                Some(_) => return None,
            };
            Some(with_maybe(Refusal::new(words), "dueDate", &requested.due_date))
        })
    }
}

/// The criteria by which an item limit counts, in words and as a code; `None` if the rule has neither material nor loan
/// type, since the limit then does not apply.
fn counted_by(conditions: &AppliedConditions) -> Option<(&'static str, RefusalCode)> {
    match (conditions.patron_group, conditions.material_type, conditions.loan_type) {
        (true, true, true) => Some((
            "combination of patron group, material type and loan type",
            RefusalCode::ItemLimitPatronGroupMaterialTypeLoanType,
        )),
        (true, true, false) => Some((
            "combination of patron group and material type",
            RefusalCode::ItemLimitPatronGroupMaterialType,
        )),
        (true, false, true) => {
            Some(("combination of patron group and loan type", RefusalCode::ItemLimitPatronGroupLoanType))
        }
        (false, true, true) => {
            Some(("combination of material type and loan type", RefusalCode::ItemLimitMaterialTypeLoanType))
        }
        (false, true, false) => Some(("material type", RefusalCode::ItemLimitMaterialType)),
        (false, false, true) => Some(("loan type", RefusalCode::ItemLimitLoanType)),
        (_, false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Facts;
    use super::super::fixtures::*;
    use crate::check_out::{Actor, CheckOutRequest};
    use crate::desk::override_blocks::{Empty, MayOverride, WithDueDate};
    use carrel_records::RefusalCode;
    use serde_json::json;

    #[test]
    fn an_item_limit_counts_by_the_types_that_the_rule_names() {
        let two = json!({"loansPolicy": {"profileId": "Rolling", "itemLimit": 2,
            "period": {"duration": 3, "intervalId": "Weeks"}}});
        let (same, other) = (Some(BOOK), Some(OTHER));
        let combination = "Patron has reached maximum limit of 2 items for combination of";
        for (rule, loans, expected) in [
            (
                "m {book}",
                vec![(same, same), (same, other)],
                Some("Patron has reached maximum limit of 2 items for material type".to_owned()),
            ),
            ("m {book}", vec![(same, same), (other, same)], None),
            (
                "m all",
                vec![(same, same), (same, same)],
                Some("Patron has reached maximum limit of 2 items for material type".to_owned()),
            ),
            (
                "t {book}",
                vec![(other, same), (same, same)],
                Some("Patron has reached maximum limit of 2 items for loan type".to_owned()),
            ),
            ("t {book}", vec![(same, other), (same, same)], None),
            (
                "t {book} + m {book}",
                vec![(same, same), (same, same)],
                Some(format!("{combination} material type and loan type")),
            ),
            ("t {book} + m {book}", vec![(same, other), (other, same), (same, same)], None),
            (
                "g {patron_group} + m {book}",
                vec![(same, same), (same, same)],
                Some(format!("{combination} patron group and material type")),
            ),
            (
                "g {patron_group} + t {book}",
                vec![(same, same), (same, same)],
                Some(format!("{combination} patron group and loan type")),
            ),
            (
                "g {patron_group} + t {book} + m {book}",
                vec![(same, same), (same, same)],
                Some(format!("{combination} patron group, material type and loan type")),
            ),
            ("g {patron_group}", vec![(same, same); 9], None),
            ("m {other}", vec![(same, same); 9], None),
        ] {
            let facts = Facts { open_loans: loans, ..facts() };
            let decided = decided(&facts, &command(), &server_with(rule, two.clone()));
            match expected {
                Some(words) => assert_eq!(messages(decided), [words], "{rule}"),
                None => assert!(decided.is_ok(), "{rule}"),
            }
        }
    }

    #[test]
    fn an_item_limit_is_refused_with_its_number_and_can_be_overridden() {
        let one = json!({"loansPolicy": {"profileId": "Rolling", "itemLimit": 1,
            "period": {"duration": 3, "intervalId": "Weeks"}}});
        let facts = Facts { open_loans: vec![(Some(BOOK), Some(BOOK))], ..facts() };
        let settings = server_with("m {book}", one);
        let refused = refusals(decided(&facts, &command(), &settings));
        assert_eq!(refused[0].code, Some(RefusalCode::ItemLimitMaterialType));
        assert_eq!(refused[0].parameters[1], ("itemLimit".to_owned(), Some("1".to_owned())));
        let mut overriding = command();
        overriding.override_blocks.item_limit_block = Some(Empty {});
        overriding.override_blocks.comment = Some("a favor".into());
        let loan = decided(&facts, &overriding, &settings).expect("a loan").loan;
        assert_eq!(loan["action"], "checkedOutThroughOverride");
        assert_eq!(loan["dueDate"], "2024-06-05T23:59:59.000+00:00", "the policy's own date");
    }

    #[test]
    fn an_item_that_is_not_loanable_is_refused_with_its_policy() {
        let refused = refusals(decided(&facts(), &command(), &library(json!({"loanable": false}))));
        let keys: Vec<&str> = refused[0].parameters.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(
            (refused[0].code, keys),
            (Some(RefusalCode::ItemNotLoanable), vec!["itemBarcode", "loanPolicyId", "loanPolicyName"])
        );
        assert_eq!(refused[0].overridable.as_ref().map(|block| block.name), Some("itemNotLoanableBlock"));
    }

    #[test]
    fn an_override_of_not_loanable_needs_comment_and_due_date() {
        let settings = library(json!({"loanable": false}));
        let overriding = |due_date: Option<&str>, comment: Option<&str>| {
            let mut command = command();
            command.override_blocks.item_not_loanable_block =
                Some(WithDueDate { due_date: due_date.map(str::to_owned) });
            command.override_blocks.comment = comment.map(str::to_owned);
            command
        };
        let messages_of = |command: &CheckOutRequest| messages(decided(&facts(), command, &settings));
        let date = "2024-05-20T10:00:00Z";
        assert_eq!(
            messages_of(&overriding(Some(date), None)),
            ["Override should be performed with the comment specified"]
        );
        assert_eq!(
            messages_of(&overriding(None, Some("why"))),
            ["Override should be performed with due date specified"]
        );
        assert_eq!(
            messages_of(&overriding(Some("2024-05-15T08:00:00Z"), Some("why"))),
            ["Due date should be later than loan date"]
        );
        let loan = decided(&facts(), &overriding(Some(date), Some("why")), &settings).expect("a loan").loan;
        assert_eq!(loan["dueDate"], "2024-05-20T10:00:00.000+00:00");

        let actor = Actor { may: MayOverride::default(), ..actor() };
        let refused = super::super::decide(&facts(), &overriding(None, None), &actor, &settings);
        assert_eq!(messages(refused), ["Insufficient override permissions"]);
    }
}
