//! Whether the patron may keep the item, and until when (circulation.md 4).

use super::facts::Facts;
use super::{Asking, By, Order};
use crate::desk::override_blocks::{
    Block, MayOverride, PATRON_BLOCK, RENEWAL_BLOCK, RENEWAL_DUE_DATE_REQUIRED_BLOCK,
};
use crate::desk::patron::Standing;
use crate::desk::{Patron, QueuedRequest, blocks};
use crate::due_date::{self, Circumstances, Renewal};
use crate::loan_policy::LoanTerms;
use crate::loans::find::{LoanAtDesk, text_at};
use crate::patron_blocks::Action;
use crate::rulebook::Rulebook;
use carrel_circulation_rules::PolicyKind;
use carrel_records::{Failure, Refusal, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// What changes when the loan is renewed.
#[derive(Debug, Clone, PartialEq)]
pub struct Renewed {
    pub loan: Map<String, Value>,
    /// The item's new status, where it changes.
    pub item_status: Option<&'static str>,
}

/// An order names both item and patron.
pub fn refuse_incomplete(order: &Order) -> Result<(), Failure> {
    let missing = |text: &Option<String>| text.as_deref().unwrap_or_default().trim().is_empty();
    let refusal = match order.by {
        By::Barcode if missing(&order.item_barcode) => {
            Refusal::new("Renewal request must have an item barcode")
                .with_null("itemBarcode")
                .code("RENEWAL_REQUEST_ITEM_BARCODE_REQUIRED")
        }
        By::Barcode if missing(&order.user_barcode) => {
            Refusal::new("Renewal request must have a user barcode")
                .with_null("userBarcode")
                .code("RENEWAL_REQUEST_USER_BARCODE_REQUIRED")
        }
        By::Id if missing(&order.item_id) => {
            Refusal::new("Renewal request must have an item ID").with_null("itemId")
        }
        By::Id if missing(&order.user_id) => {
            Refusal::new("Renewal request must have a user ID").with_null("userId")
        }
        By::Barcode | By::Id => return Ok(()),
    };
    Err(refusal.into())
}

/// Refusals in FOLIO's order, all of them, or the renewed loan.
pub fn decide(facts: &Facts, order: &Order, asking: &Asking, book: &Rulebook) -> Result<Renewed, Failure> {
    let overrides = &order.override_blocks;
    let insists = overrides.renewal_block.is_some() || overrides.renewal_due_date_required_block.is_some();
    let mut refusals = Vec::new();
    let found = find(facts, order, &mut refusals)?;
    if let Some((_, patron)) = found {
        refusals.extend(refuse_for_standing(patron, asking.now));
        refuse_for_patron_blocks(facts, patron, order, asking, book, &mut refusals);
    }
    if insists {
        refusals.extend(RENEWAL_BLOCK.refuse_override(&asking.may));
    }
    let Some((loan, patron)) = found else { return Err(Failure::refused_once_each(refusals)) };
    if !insists {
        refusals
            .extend(refuse_for_reminders(loan, book).map(|refusal| RENEWAL_BLOCK.mark(refusal, &asking.may)));
    }

    let item = loan.item.as_ref().ok_or_else(|| Failure::internal("a loan is found by its item"))?;
    if patron.patron_group.is_none() {
        return Err(Failure::Misconfigured(
            "Unable to apply circulation rules to a user with null value as patronGroupId".into(),
        ));
    }
    let matched = book.matching(&item.circumstance(patron.patron_group), PolicyKind::Loan)?;
    let terms = book.loan_terms(matched.id)?;
    let case = Case { loan, patron, terms: &terms, policy: matched.id, order, asking, book };
    let renewed = if insists {
        case.renew_by_override().map_err(|refusal| refusals.push(refusal)).ok()
    } else {
        case.renew_by_the_rules(&mut refusals)
    };
    match renewed {
        Some(renewed) if refusals.is_empty() => Ok(renewed),
        _ => Err(Failure::refused_once_each(refusals)),
    }
}

/// The loan and its borrower; `None` where a refusal stands against going on without them.
fn find<'a>(
    facts: &'a Facts,
    order: &Order,
    refusals: &mut Vec<Refusal>,
) -> Result<Option<(&'a LoanAtDesk, &'a Patron)>, Failure> {
    let Some(item) = &facts.item else {
        refusals.push(match order.by {
            By::Barcode => {
                let barcode = order.item_barcode.clone().unwrap_or_default();
                Refusal::new(format!("No item with barcode {barcode} exists"))
                    .with("itemBarcode", barcode)
                    .code("ITEM_BARCODE_NOT_FOUND")
            }
            By::Id => {
                let id = order.item_id.clone().unwrap_or_default();
                Refusal::new(format!("No item with ID {id} exists")).with("itemId", id)
            }
        });
        return Ok(None);
    };
    let Some(loan) = &facts.loan else {
        // FOLIO quirk: no open loan is told in the words of too many.
        return Err(Failure::Misconfigured(format!("More than one open loan for item {}", item.barcode())));
    };
    let Some(patron) = &loan.patron else {
        refusals.push(
            Refusal::new("user is not found")
                .with("userId", text_at(&loan.document, "userId"))
                .code("USER_NOT_FOUND"),
        );
        return Ok(None);
    };
    let (key, asked, is_borrower) = match order.by {
        By::Barcode => ("userBarcode", &order.user_barcode, patron.barcode == order.user_barcode),
        By::Id => ("userId", &order.user_id, order.user_id == Some(patron.id.to_string())),
    };
    if !is_borrower {
        refusals.push(
            Refusal::new("Cannot renew item checked out to different user")
                .with(key, asked.clone().unwrap_or_default())
                .code("ITEM_CHECKED_OUT_TO_DIFFERENT_USER"),
        );
        // FOLIO quirk: only who asks by id hears all other refusals too.
        if order.by == By::Barcode {
            return Ok(None);
        }
    }
    Ok(Some((loan, patron)))
}

fn refuse_for_standing(patron: &Patron, now: Timestamp) -> Option<Refusal> {
    match patron.standing(now) {
        Standing::Active => None,
        Standing::Inactive => Some(
            Refusal::new("Cannot renew loan when user is inactive or expired")
                .with("reason", "User is inactive.")
                .code("USER_IS_INACTIVE_OR_EXPIRED"),
        ),
        Standing::Unknown => Some(
            Refusal::new("Cannot determine if user is active.")
                .with("reason", "Cannot determine if user active.")
                .code("USER_STATUS_CANNOT_BE_DETERMINED"),
        ),
    }
}

fn refuse_for_patron_blocks(
    facts: &Facts,
    patron: &Patron,
    order: &Order,
    asking: &Asking,
    book: &Rulebook,
    refusals: &mut Vec<Refusal>,
) {
    if order.override_blocks.patron_block.is_some() {
        refusals.extend(PATRON_BLOCK.refuse_override(&asking.may));
        return;
    }
    let reasons = blocks::manual_reasons(&facts.manual_blocks, "renewals", asking.now);
    if !reasons.is_empty() {
        let refusal = Refusal::new("Patron blocked from renewing")
            .with("reason", reasons.join(";"))
            .code("USER_IS_BLOCKED_MANUALLY");
        refusals.push(PATRON_BLOCK.mark(refusal, &asking.may));
    }
    let counted = facts.counted.as_ref();
    refusals.extend(Action::Renewing.refusals(counted, patron, book, &asking.may));
}

fn has_billed_reminders(loan: &LoanAtDesk) -> bool {
    let number =
        loan.document.get("reminders").and_then(|reminders| reminders.pointer("/lastFeeBilled/number"));
    number.and_then(Value::as_i64).unwrap_or(0) > 0
}

fn refuse_for_reminders(loan: &LoanAtDesk, book: &Rulebook) -> Option<Refusal> {
    let policy = Uuid::parse_str(text_at(&loan.document, "overdueFinePolicyId"))
        .ok()
        .and_then(|id| book.overdue_fine_policies.get(&id));
    let allowed = policy
        .and_then(|policy| policy.pointer("/reminderFeesPolicy/allowRenewalOfItemsWithReminderFees"))
        == Some(&Value::Bool(true));
    (has_billed_reminders(loan) && !allowed).then(|| {
        Refusal::new("Renewals not allowed for loans with reminders.")
            .with("reason", "Renewals not allowed for loans with reminders.")
            .code("RENEWAL_BLOCKED_BY_REMINDER_FEES")
    })
}

/// A loan whose policy is known.
struct Case<'a> {
    loan: &'a LoanAtDesk,
    patron: &'a Patron,
    terms: &'a LoanTerms<'a>,
    policy: Uuid,
    order: &'a Order,
    asking: &'a Asking,
    book: &'a Rulebook,
}

impl Case<'_> {
    fn may(&self) -> &MayOverride {
        &self.asking.may
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
    fn first_request_is_hold(&self) -> bool {
        let waits_for_title = |request: &QueuedRequest| {
            request.is_title_level() && request.is_hold() && request.item_id().is_none()
        };
        let mut queue = self.loan.queue.iter();
        queue
            .find(|request| self.is_for_item(request) || waits_for_title(request))
            .is_some_and(QueuedRequest::is_hold)
    }
    /// A loan without due date counts as due now.
    fn due_date(&self) -> Timestamp {
        time::parse(text_at(&self.loan.document, "dueDate")).unwrap_or(self.asking.now)
    }
    fn renewals_so_far(&self) -> i64 {
        self.loan.document.get("renewalCount").and_then(Value::as_i64).unwrap_or(0)
    }
    fn limit_is_reached(&self) -> bool {
        self.terms.policy.renewal_limit_is_reached(self.renewals_so_far())
    }

    /// The renewed loan, or all refusals that stand against it.
    fn renew_by_the_rules(&self, refusals: &mut Vec<Refusal>) -> Option<Renewed> {
        let policy = self.terms.policy;
        let before = refusals.len();
        let due_date_required = |refusal: Refusal| RENEWAL_DUE_DATE_REQUIRED_BLOCK.mark(refusal, self.may());
        let loanable = policy.is_loanable();
        if !loanable {
            refusals
                .push(due_date_required(policy.refusal("item is not loanable").code("ITEM_NOT_LOANABLE")));
        }
        refusals.extend(
            self.refusals_that_keep_the_due_date().into_iter().map(|refusal| self.renewal_block(refusal)),
        );
        let renewal =
            Renewal { due_date: self.due_date(), first_request_is_hold: self.first_request_is_hold() };
        refusals.extend(
            due_date::refusals_of_renewal(self.terms, renewal.first_request_is_hold)
                .into_iter()
                .map(due_date_required),
        );
        if self.loan.item_status() == "Claimed returned" {
            refusals.push(
                Refusal::new("item is Claimed returned")
                    .with("itemId", self.item_id())
                    .code("ITEM_CLAIMED_RETURNED_NOT_RENEWABLE"),
            );
        }
        if !loanable {
            return None;
        }
        let refusal = match due_date::proposed_for_renewal(self.terms, &renewal, self.asking.now) {
            Ok(proposed) => {
                due_date::refuse_if_renewal_changes_nothing(self.terms, renewal.due_date, proposed)
            }
            Err(refusal) => Some(refusal),
        };
        refusals.extend(refusal.map(due_date_required));
        if refusals.len() > before {
            return None;
        }
        let desk =
            Uuid::parse_str(text_at(&self.loan.document, "checkoutServicePointId")).unwrap_or_default();
        let circumstances = Circumstances {
            now: self.asking.now,
            zone: &self.book.zone,
            calendar: &self.book.calendar(desk),
            patron_expires: self.patron.expires(),
        };
        let due = match due_date::due_date_of_renewal(self.terms, &renewal, &circumstances) {
            Ok(due) => due,
            Err(more) => {
                refusals.extend(more);
                return None;
            }
        };
        let by_override = self.order.override_blocks.patron_block.is_some();
        let mut loan = self.renewed_until(due.at);
        let action = if by_override { "renewedThroughOverride" } else { "renewed" };
        loan.insert("action".into(), action.into());
        match &self.order.override_blocks.comment {
            Some(comment) if by_override => loan.insert("actionComment".into(), comment.clone().into()),
            _ => loan.remove("actionComment"),
        };
        if due.changed_by_near_expire_user {
            loan.insert("dueDateChangedByNearExpireUser".into(), true.into());
        }
        Some(Renewed { loan, item_status: None })
    }

    fn renewal_block(&self, refusal: Refusal) -> Refusal {
        let block: Block = RENEWAL_BLOCK;
        block.mark(refusal, self.may())
    }

    /// What staff may override without naming a due date.
    fn refusals_that_keep_the_due_date(&self) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        if let Some(recall) = self.recall() {
            refusals.push(
                Refusal::new("items cannot be renewed when there is an active recall request")
                    .with("requestId", recall.id.to_string())
                    .code("RENEWAL_BLOCKED_BY_RECALL"),
            );
        }
        let code = match self.loan.item_status() {
            "Aged to lost" => Some("ITEM_AGED_TO_LOST_NOT_RENEWABLE"),
            "Declared lost" => Some("ITEM_DECLARED_LOST_NOT_RENEWABLE"),
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
                    .code("LOAN_RENEWAL_LIMIT_REACHED"),
            );
        }
        refusals
    }

    /// The loan renewed because staff insist, or the refusal of their wish.
    fn renew_by_override(&self) -> Result<Renewed, Refusal> {
        let overrides = &self.order.override_blocks;
        let comment = overrides.comment.as_deref().unwrap_or_default();
        if comment.trim().is_empty() {
            return Err(Refusal::new("Override renewal request must have a comment")
                .with_null("comment")
                .code("OVERRIDE_RENEWAL_COMMENT_REQUIRED"));
        }
        let due_date = self.due_date_by_override()?;
        let mut loan = self.renewed_until(due_date);
        loan.insert("action".into(), "renewedThroughOverride".into());
        loan.insert("actionComment".into(), comment.into());
        loan.insert("itemStatus".into(), "Checked out".into());
        if self.loan.item_status() == "Aged to lost"
            && let Some(billing) = loan.get_mut("agedToLostDelayedBilling").and_then(Value::as_object_mut)
        {
            billing.remove("lostItemHasBeenBilled");
            billing.remove("dateLostItemShouldBeBilled");
        }
        let item_status = (self.loan.item_status() != "Checked out").then_some("Checked out");
        Ok(Renewed { loan, item_status })
    }

    /// The policy's date where it moves the due date, else the one that staff name.
    fn due_date_by_override(&self) -> Result<Timestamp, Refusal> {
        let policy = self.terms.policy;
        let wanted = self.order.override_blocks.renewal_due_date_required_block.as_ref();
        let wanted = wanted.and_then(|block| block.due_date.as_deref()).and_then(time::parse);
        // FOLIO quirk: the absent date is told as the text "null".
        let needs_date = |words: &str, code| Refusal::new(words).with("dueDate", "null").code(code);
        let named = || {
            wanted.ok_or_else(|| {
                needs_date(
                    "New due date must be specified when due date calculation fails",
                    "OVERRIDE_RENEWAL_DUE_DATE_REQUIRED",
                )
            })
        };
        if !policy.is_loanable() || !policy.is_renewable() {
            return named();
        }
        let due_date = self.due_date();
        let renewal = Renewal { due_date, first_request_is_hold: false };
        let Ok(proposed) = due_date::proposed_for_renewal(self.terms, &renewal, self.asking.now) else {
            return named();
        };
        let unchanged = due_date::refuse_if_renewal_changes_nothing(self.terms, due_date, proposed).is_some();
        let is_lost = ["Declared lost", "Aged to lost"].contains(&self.loan.item_status());
        let may_be_overridden = self.limit_is_reached()
            || self.recall().is_some()
            || is_lost
            || unchanged
            || has_billed_reminders(self.loan);
        if !may_be_overridden {
            return Err(policy
                .refusal(NO_CASE_OF_OVERRIDE)
                .code("OVERRIDE_RENEWAL_NOT_ALLOWED_FOR_CURRENT_LOAN"));
        }
        if !unchanged {
            return Ok(proposed);
        }
        let wanted = wanted.ok_or_else(|| {
            needs_date(
                "New due date is required when renewal would not change the due date",
                "OVERRIDE_RENEWAL_DUE_DATE_REQUIRED_WHEN_DUE_DATE_UNCHANGED",
            )
        })?;
        match due_date::refuse_if_renewal_changes_nothing(self.terms, due_date, wanted) {
            Some(refusal) => Err(refusal),
            None => Ok(wanted),
        }
    }

    /// What any renewal does to the loan; action and comment are the caller's.
    fn renewed_until(&self, due_date: Timestamp) -> Map<String, Value> {
        let mut loan = self.loan.document.clone();
        loan.insert("dueDate".into(), time::format(due_date).into());
        loan.insert("renewalCount".into(), (self.renewals_so_far() + 1).into());
        loan.insert("loanPolicyId".into(), self.policy.to_string().into());
        loan.insert("itemStatus".into(), self.loan.item_status().into());
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

const NO_CASE_OF_OVERRIDE: &str = "Override renewal does not match any of expected cases: item is not loanable, \
    item is not renewable, reached number of renewals limit,renewal date falls outside of the date ranges in the \
    loan policy, items cannot be renewed when there is an active recall request, item is Declared lost, item is \
    Aged to lost, renewal would not change the due date, loan has reminder fees";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desk::ItemAtDesk;
    use crate::desk::override_blocks::{Empty, WithDueDate};
    use carrel_circulation_rules::Rules;
    use serde_json::json;

    const NOW: &str = "2024-05-15T08:00:00Z";
    const POLICY: Uuid = Uuid::from_u128(0x91850940_9ca5_472e_99bd_b434d5985fff);
    const BOOK: Uuid = Uuid::from_u128(4);
    const READER: Uuid = Uuid::from_u128(5);

    /// A library with one loan policy; `differs` replaces parts of it.
    fn library(differs: Value) -> Rulebook {
        let mut policy = json!({
            "id": POLICY, "name": "Three weeks", "loanable": true, "renewable": true,
            "loansPolicy": {"profileId": "Rolling", "period": {"duration": 3, "intervalId": "Weeks"},
                "closedLibraryDueDateManagementId": "CURRENT_DUE_DATE_TIME"},
            "renewalsPolicy": {"unlimited": true, "renewFromId": "SYSTEM_DATE"},
        });
        policy.as_object_mut().expect("an object").extend(differs.as_object().expect("an object").clone());
        let mut book = Rulebook::blank();
        let rules = format!(
            "priority: t, s, c, b, a, m, g\nfallback-policy: l {POLICY} r {POLICY} n {POLICY} o {POLICY} i {POLICY}"
        );
        book.rules = Rules::parse(&rules).expect("the rules can be read");
        book.loan_policies.insert(POLICY, serde_json::from_value(policy).expect("a policy"));
        book
    }

    /// A loan due on 20 May; `differs` replaces parts of it.
    fn lent(item_status: &str, differs: Value) -> Facts {
        let mut loan = json!({"id": BOOK, "itemId": BOOK, "userId": READER, "status": {"name": "Open"},
            "dueDate": "2024-05-20T10:00:00Z", "action": "checkedout", "actionComment": "old", "own": 1});
        loan.as_object_mut().expect("an object").extend(differs.as_object().expect("an object").clone());
        let mut item = ItemAtDesk { id: BOOK, status: item_status.into(), ..ItemAtDesk::default() };
        item.record.barcode = Some("036".into());
        let patron = Patron {
            id: READER,
            barcode: Some("card".into()),
            active: Some(true),
            patron_group: Some(READER),
            ..Patron::default()
        };
        Facts {
            item: Some(item.clone()),
            loan: Some(LoanAtDesk {
                document: loan.as_object().expect("an object").clone(),
                item: Some(item),
                patron: Some(patron),
                ..LoanAtDesk::default()
            }),
            manual_blocks: Vec::new(),
            counted: None,
        }
    }

    fn waiting(mut facts: Facts, kind: &str, item: Value) -> Facts {
        let request = json!({"id": READER, "requestType": kind, "status": "Open - Not yet filled",
            "requestLevel": if item.is_null() { "Title" } else { "Item" }, "itemId": item});
        facts.loan.as_mut().expect("a loan").queue.push(QueuedRequest {
            id: READER,
            document: request.as_object().expect("an object").clone(),
            requester: None,
            queue: None,
        });
        facts
    }

    fn by_barcode() -> Order {
        Order { item_barcode: Some("036".into()), user_barcode: Some("card".into()), ..Order::default() }
    }

    fn insisting(due_date: Option<&str>, comment: Option<&str>) -> Order {
        let mut order = by_barcode();
        order.override_blocks.renewal_block = Some(Empty {});
        order.override_blocks.renewal_due_date_required_block =
            Some(WithDueDate { due_date: due_date.map(str::to_owned) });
        order.override_blocks.comment = comment.map(str::to_owned);
        order
    }

    fn decided(facts: &Facts, order: &Order, book: &Rulebook) -> Result<Renewed, Failure> {
        let now = time::parse(NOW).expect("a time");
        decide(facts, order, &Asking { by: None, may: MayOverride::all(), now }, book)
    }

    fn codes(facts: &Facts, order: &Order, book: &Rulebook) -> Vec<&'static str> {
        match decided(facts, order, book) {
            Err(Failure::Refused(refusals)) => {
                refusals.iter().map(|refusal| refusal.code.unwrap_or("")).collect()
            }
            other => unreachable!("a refusal was expected: {other:?}"),
        }
    }

    fn usual() -> Rulebook {
        library(json!({}))
    }

    #[test]
    fn a_renewed_loan_counts_its_renewals_and_starts_its_reminders_again() {
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

    #[test]
    fn all_that_stands_against_a_renewal_is_told_at_once_and_in_order() {
        let recalled = || waiting(lent("Checked out", json!({})), "Recall", json!(BOOK));
        let held = || waiting(lent("Checked out", json!({})), "Hold", json!(null));
        let limited = || json!({"renewalsPolicy": {"numberAllowed": 0, "renewFromId": "SYSTEM_DATE"}});
        let table = [
            (lent("Checked out", json!({})), json!({"loanable": false}), vec!["ITEM_NOT_LOANABLE"]),
            (recalled(), json!({"loanable": false}), vec!["ITEM_NOT_LOANABLE", "RENEWAL_BLOCKED_BY_RECALL"]),
            (recalled(), limited(), vec!["RENEWAL_BLOCKED_BY_RECALL", "LOAN_RENEWAL_LIMIT_REACHED"]),
            (held(), json!({}), vec!["RENEWAL_BLOCKED_BY_HOLD_REQUEST"]),
            (lent("Aged to lost", json!({})), json!({}), vec!["ITEM_AGED_TO_LOST_NOT_RENEWABLE"]),
            (lent("Claimed returned", json!({})), json!({}), vec!["ITEM_CLAIMED_RETURNED_NOT_RENEWABLE"]),
            (
                lent("Checked out", json!({"dueDate": "2024-08-01T00:00:00Z"})),
                json!({"renewable": false}),
                vec!["LOAN_NOT_RENEWABLE", "RENEWAL_WOULD_NOT_CHANGE_DUE_DATE"],
            ),
            (
                lent("Checked out", json!({"reminders": {"lastFeeBilled": {"number": 1}}})),
                json!({}),
                vec!["RENEWAL_BLOCKED_BY_REMINDER_FEES"],
            ),
        ];
        for (facts, differs, expected) in table {
            assert_eq!(codes(&facts, &by_barcode(), &library(differs.clone())), expected, "{differs}");
        }
    }

    #[test]
    fn an_item_on_loan_to_somebody_else_is_refused_and_by_id_with_all_the_rest() {
        let book = library(json!({"loanable": false}));
        let facts = lent("Checked out", json!({}));
        let by_card = Order { user_barcode: Some("other".into()), ..by_barcode() };
        assert_eq!(codes(&facts, &by_card, &book), ["ITEM_CHECKED_OUT_TO_DIFFERENT_USER"]);
        let by_id = Order {
            by: By::Id,
            item_id: Some(BOOK.to_string()),
            user_id: Some(BOOK.to_string()),
            ..Order::default()
        };
        assert_eq!(codes(&facts, &by_id, &book), ["ITEM_CHECKED_OUT_TO_DIFFERENT_USER", "ITEM_NOT_LOANABLE"]);
    }

    #[test]
    fn staff_who_insist_say_why_and_where_the_policy_gives_no_date_until_when() {
        let facts = lent("Checked out", json!({}));
        let not_loanable = library(json!({"loanable": false}));
        assert_eq!(
            codes(&facts, &insisting(None, Some(" ")), &usual()),
            ["OVERRIDE_RENEWAL_COMMENT_REQUIRED"]
        );
        assert_eq!(
            codes(&facts, &insisting(None, Some("why")), &not_loanable),
            ["OVERRIDE_RENEWAL_DUE_DATE_REQUIRED"]
        );
        assert_eq!(
            codes(&facts, &insisting(None, Some("why")), &usual()),
            ["OVERRIDE_RENEWAL_NOT_ALLOWED_FOR_CURRENT_LOAN"]
        );
        let far = lent("Checked out", json!({"dueDate": "2024-08-01T00:00:00Z"}));
        assert_eq!(
            codes(&far, &insisting(None, Some("why")), &usual()),
            ["OVERRIDE_RENEWAL_DUE_DATE_REQUIRED_WHEN_DUE_DATE_UNCHANGED"]
        );
        assert_eq!(
            codes(&far, &insisting(Some("2024-07-01T00:00:00Z"), Some("why")), &usual()),
            ["RENEWAL_WOULD_NOT_CHANGE_DUE_DATE"]
        );
        let renewed = decided(&facts, &insisting(Some("2024-05-16T00:00:00Z"), Some("why")), &not_loanable)
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
        let renewed = decided(&facts, &insisting(None, Some("found")), &usual()).expect("renewed");
        assert_eq!(renewed.item_status, Some("Checked out"));
        assert_eq!(renewed.loan["action"], "renewedThroughOverride");
        assert_eq!(renewed.loan["agedToLostDelayedBilling"], json!({"agedToLostDate": "then"}));
    }

    #[test]
    fn without_the_permission_nobody_insists() {
        let facts = lent("Checked out", json!({}));
        let now = time::parse(NOW).expect("a time");
        let asking = Asking { by: None, may: MayOverride::default(), now };
        let refused = decide(&facts, &insisting(None, None), &asking, &usual());
        let Err(Failure::Refused(refusals)) = refused else { unreachable!("a refusal was expected") };
        let codes: Vec<_> = refusals.iter().filter_map(|refusal| refusal.code).collect();
        assert_eq!(codes, ["INSUFFICIENT_OVERRIDE_PERMISSIONS", "OVERRIDE_RENEWAL_COMMENT_REQUIRED"]);
    }

    #[test]
    fn an_order_names_item_and_patron() {
        assert!(refuse_incomplete(&by_barcode()).is_ok());
        assert!(refuse_incomplete(&Order::default()).is_err());
        assert!(refuse_incomplete(&Order { by: By::Id, ..by_barcode() }).is_err());
    }
}
