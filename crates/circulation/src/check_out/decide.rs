//! Whether the item may go to the patron, and what the loan then is (circulation.md 1).

use super::facts::Facts;
use super::{Asking, Order};
use crate::desk::override_blocks::{
    Block, ITEM_LIMIT_BLOCK, ITEM_NOT_LOANABLE_BLOCK, MayOverride, PATRON_BLOCK,
};
use crate::desk::patron::Standing;
use crate::desk::{ItemAtDesk, Patron, QueuedRequest, blocks, queue};
use crate::due_date::{self, Circumstances, NewLoan};
use crate::loan_policy::LoanTerms;
use crate::patron_blocks::Action;
use crate::rulebook::{Matched, Rulebook};
use carrel_circulation_rules::PolicyKind;
use carrel_records::{Failure, Refusal, time};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// What changes when the item goes to the patron.
#[derive(Debug, Clone)]
pub struct CheckOut {
    pub loan: Map<String, Value>,
    pub loan_id: Uuid,
    pub item_id: Uuid,
    pub patron_id: Uuid,
    /// The request that this fills, and the new positions of those behind it.
    pub fills: Option<Uuid>,
    pub moves_up: queue::Moves,
}

/// The policies in force for the loan.
#[derive(Debug, Clone, Copy)]
pub struct Policies {
    pub loan: Uuid,
    pub overdue_fine: Uuid,
    pub lost_item: Uuid,
    pub notice: Uuid,
}

/// A check-out that nothing stands against.
struct Permitted<'a> {
    patron: &'a Patron,
    item: &'a ItemAtDesk,
    terms: LoanTerms<'a>,
    policies: Policies,
    /// The patron's request that is filled.
    request: Option<&'a QueuedRequest>,
}

/// Refusals in desk order, or the loan.
pub fn decide(facts: &Facts, order: &Order, asking: &Asking, book: &Rulebook) -> Result<CheckOut, Failure> {
    let Permitted { patron, item, terms, policies, request } = permit(facts, order, asking, book)?;
    if facts.locked_elsewhere && book.check_out_lock.enabled {
        return Err(Refusal::new("unable to acquire lock").with("", "").into());
    }
    let service_point = text(&order.service_point_id);
    let loan_date = order.loan_date.as_deref().and_then(time::parse).unwrap_or(asking.now);
    let due = due_date(facts, order, asking, book, &terms, patron, item, loan_date, service_point)?;
    let mut loan = loan(facts, order, asking, &policies, patron, item, loan_date, &due, service_point);
    let for_use_here =
        terms.policy.loans_policy.as_ref().is_some_and(|loans| loans.for_use_at_location == Some(true));
    if book.features.for_use_at_location && for_use_here {
        let used = json!({"status": "In use", "statusDate": time::format(asking.now)});
        loan.insert("forUseAtLocation".into(), used);
    }
    Ok(CheckOut {
        loan,
        loan_id: asking.loan_id,
        item_id: item.id,
        patron_id: patron.id,
        fills: request.map(|request| request.id),
        moves_up: request.map_or_else(Default::default, |filled| queue::without(&facts.queue, filled.id)),
    })
}

/// Refusals in desk order, or the policies that a loan would be made by: a dry run.
pub fn policies(facts: &Facts, order: &Order, asking: &Asking, book: &Rulebook) -> Result<Policies, Failure> {
    permit(facts, order, asking, book).map(|permitted| permitted.policies)
}

fn permit<'a>(
    facts: &'a Facts,
    order: &Order,
    asking: &Asking,
    book: &'a Rulebook,
) -> Result<Permitted<'a>, Failure> {
    let mut refusals = Vec::new();
    refuse_without_service_point(order, asking, &mut refusals);
    refuse_unknown_patron(facts, order, &mut refusals);
    refuse_for_patron_blocks(facts, order, asking, book, &mut refusals);
    refuse_unknown_proxy(facts, order, &mut refusals);
    refuse_for_standing(facts, order, asking.now, &mut refusals);
    refuse_for_proxy_relation(facts, order, asking.now, &mut refusals);
    refuse_for_item(facts, order, book, &mut refusals);
    let request =
        facts.item.as_ref().and_then(|item| queue::first_fulfillable_by_lending(&facts.queue, item, book));
    refuse_for_request(facts, order, request, &mut refusals);

    let (Some(patron), Some(item)) = (&facts.patron, &facts.item) else {
        return Err(Failure::refused_once_each(refusals));
    };
    let matched = loan_policy(patron, item, order, book)?;
    let terms = book.loan_terms(matched.id)?;
    refuse_for_item_limit(facts, order, asking, &matched, &terms, item, &mut refusals);
    refuse_if_not_loanable(order, asking, &terms, &mut refusals);
    if !refusals.is_empty() {
        return Err(Failure::refused_once_each(refusals));
    }
    let what = item.circumstance(patron.patron_group);
    let policies = Policies {
        loan: matched.id,
        overdue_fine: book.matching(&what, PolicyKind::Overdue)?.id,
        lost_item: book.matching(&what, PolicyKind::LostItem)?.id,
        notice: book.matching(&what, PolicyKind::Notice)?.id,
    };
    Ok(Permitted { patron, item, terms, policies, request })
}

fn refuse_without_service_point(order: &Order, asking: &Asking, refusals: &mut Vec<Refusal>) {
    if text(&order.service_point_id).is_empty() && !asking.dry_run {
        refusals.push(with_maybe(
            Refusal::new("Check out must be performed at a service point"),
            "servicePointId",
            &order.service_point_id,
        ));
    }
}

fn text(value: &Option<String>) -> &str {
    value.as_deref().map_or("", str::trim)
}

/// A parameter as it was sent: absent ones are told as null.
fn with_maybe(refusal: Refusal, key: &str, value: &Option<String>) -> Refusal {
    match value {
        Some(value) => refusal.with(key, value.clone()),
        None => refusal.with_null(key),
    }
}

fn refuse_unknown_patron(facts: &Facts, order: &Order, refusals: &mut Vec<Refusal>) {
    if facts.patron.is_none() {
        refusals.push(
            with_maybe(
                Refusal::new("Could not find user with matching barcode"),
                "userBarcode",
                &order.user_barcode,
            )
            .code("USER_BARCODE_NOT_FOUND"),
        );
    }
}

fn refuse_for_patron_blocks(
    facts: &Facts,
    order: &Order,
    asking: &Asking,
    book: &Rulebook,
    refusals: &mut Vec<Refusal>,
) {
    let Some(patron) = &facts.patron else { return };
    if order.override_blocks.patron_block.is_some() {
        refusals.extend(refuse_bad_override(PATRON_BLOCK, order, &asking.may));
        return;
    }
    let reasons = blocks::manual_reasons(&facts.manual_blocks, "borrowing", asking.now);
    if !reasons.is_empty() {
        let refusal = Refusal::new("Patron blocked from borrowing")
            .with("reason", reasons.join(";"))
            .code("USER_IS_BLOCKED_MANUALLY");
        refusals.push(PATRON_BLOCK.mark(refusal, &asking.may));
    }
    refusals.extend(Action::Borrowing.refusals(facts.counted.as_ref(), patron, book, &asking.may));
}

/// An override needs the permission and a comment.
fn refuse_bad_override(block: Block, order: &Order, may: &MayOverride) -> Option<Refusal> {
    if let Some(refusal) = block.refuse_override(may) {
        return Some(refusal);
    }
    text(&order.override_blocks.comment).is_empty().then(|| {
        with_maybe(
            Refusal::new("Override should be performed with the comment specified"),
            "comment",
            &order.override_blocks.comment,
        )
    })
}

fn refuse_unknown_proxy(facts: &Facts, order: &Order, refusals: &mut Vec<Refusal>) {
    if !text(&order.proxy_user_barcode).is_empty() && facts.proxy.is_none() {
        refusals.push(
            with_maybe(
                Refusal::new("Could not find user with matching barcode"),
                "proxyUserBarcode",
                &order.proxy_user_barcode,
            )
            .code("USER_BARCODE_NOT_FOUND"),
        );
    }
}

fn refuse_for_standing(facts: &Facts, order: &Order, now: Timestamp, refusals: &mut Vec<Refusal>) {
    let told = |patron: &Option<Patron>, inactive: &str, unknown: &str| match patron
        .as_ref()
        .map(|patron| patron.standing(now))
    {
        Some(Standing::Inactive) => Some(Refusal::new(inactive)),
        Some(Standing::Unknown) => Some(Refusal::new(unknown)),
        Some(Standing::Active) | None => None,
    };
    refusals.extend(
        told(&facts.patron, "Cannot check out to inactive user", "Cannot determine if user is active or not")
            .map(|refusal| with_maybe(refusal, "userBarcode", &order.user_barcode)),
    );
    refusals.extend(
        told(
            &facts.proxy,
            "Cannot check out via inactive proxying user",
            "Cannot determine if proxying user is active or not",
        )
        .map(|refusal| with_maybe(refusal, "proxyUserBarcode", &order.proxy_user_barcode)),
    );
}

fn refuse_for_proxy_relation(facts: &Facts, order: &Order, now: Timestamp, refusals: &mut Vec<Refusal>) {
    let (Some(patron), Some(proxy)) = (&facts.patron, &facts.proxy) else { return };
    if patron.id == proxy.id {
        refusals.push(
            Refusal::new("User cannot be proxy for themselves")
                .with("proxyUserId", proxy.id.to_string())
                .code("USER_CANNOT_BE_PROXY_FOR_THEMSELVES"),
        );
    } else if !facts.proxy_relations.iter().any(|relation| is_valid_relation(relation, now)) {
        refusals.push(with_maybe(
            Refusal::new("Cannot check out item via proxy when relationship is invalid"),
            "proxyUserBarcode",
            &order.proxy_user_barcode,
        ));
    }
}

/// Active and not past; older records keep both under `meta`.
pub fn is_valid_relation(relation: &Value, now: Timestamp) -> bool {
    let at = |key: &str| {
        relation.get(key).or_else(|| relation.pointer(&format!("/meta/{key}"))).and_then(Value::as_str)
    };
    at("status") == Some("Active")
        && at("expirationDate").and_then(time::parse).is_none_or(|expiration| expiration > now)
}

fn refuse_for_item(facts: &Facts, order: &Order, book: &Rulebook, refusals: &mut Vec<Refusal>) {
    let barcode = || order.item_barcode.clone().unwrap_or_default();
    let Some(item) = &facts.item else {
        refusals.push(with_maybe(
            Refusal::new(format!("No item with barcode {} could be found", barcode())),
            "itemBarcode",
            &order.item_barcode,
        ));
        return;
    };
    if item.status == "Checked out" {
        refusals.push(Refusal::new("Item is already checked out").with("itemBarcode", item.barcode()));
    }
    if ["Declared lost", "Claimed returned", "Aged to lost", "Intellectual item"].contains(&&*item.status) {
        refusals.push(
            Refusal::new(format!(
                "{} ({}) (Barcode: {}) has the item status {} and cannot be checked out",
                item.title(),
                item.material_type_name(book),
                item.barcode(),
                item.status
            ))
            .with("itemBarcode", item.barcode()),
        );
    }
    if facts.item_has_open_loan {
        refusals.push(
            Refusal::new("Cannot check out item that already has an open loan")
                .with("itemBarcode", item.barcode())
                .code("ITEM_HAS_OPEN_LOAN"),
        );
    }
}

fn refuse_for_request(
    facts: &Facts,
    order: &Order,
    request: Option<&QueuedRequest>,
    refusals: &mut Vec<Refusal>,
) {
    let (Some(patron), Some(item), Some(request)) = (&facts.patron, &facts.item, request) else { return };
    if request.requester_id() != Some(patron.id) {
        refusals.push(with_maybe(
            Refusal::new(format!(
                "{} (Barcode: {}) cannot be checked out to user {} because it has been requested by another patron",
                item.title(),
                item.barcode(),
                patron.said_name()
            )),
            "userBarcode",
            &order.user_barcode,
        ));
    }
}

fn loan_policy(
    patron: &Patron,
    item: &ItemAtDesk,
    order: &Order,
    book: &Rulebook,
) -> Result<Matched, Failure> {
    if let Some(id) = order.force_loan_policy_id {
        return Ok(Matched { id, conditions: Default::default() });
    }
    if patron.patron_group.is_none() {
        return Err(Failure::Misconfigured(
            "Unable to apply circulation rules to a user with null value as patronGroupId".into(),
        ));
    }
    book.matching(&item.circumstance(patron.patron_group), PolicyKind::Loan)
}

fn refuse_for_item_limit(
    facts: &Facts,
    order: &Order,
    asking: &Asking,
    matched: &Matched,
    terms: &LoanTerms,
    item: &ItemAtDesk,
    refusals: &mut Vec<Refusal>,
) {
    if order.override_blocks.item_limit_block.is_some() {
        refusals.extend(refuse_bad_override(ITEM_LIMIT_BLOCK, order, &asking.may));
        return;
    }
    let Some(limit) = terms.policy.loans_policy.as_ref().and_then(|loans| loans.item_limit) else { return };
    let (material, loan_type) = (matched.conditions.material_type, matched.conditions.loan_type);
    let group = matched.conditions.patron_group;
    // The limit counts things of a kind; a rule that names no kind limits nothing.
    let Some((what, code)) = (match (group, material, loan_type) {
        (true, true, true) => Some((
            "combination of patron group, material type and loan type",
            "ITEM_LIMIT_PATRON_GROUP_MATERIAL_TYPE_LOAN_TYPE",
        )),
        (true, true, false) => {
            Some(("combination of patron group and material type", "ITEM_LIMIT_PATRON_GROUP_MATERIAL_TYPE"))
        }
        (true, false, true) => {
            Some(("combination of patron group and loan type", "ITEM_LIMIT_PATRON_GROUP_LOAN_TYPE"))
        }
        (false, true, true) => {
            Some(("combination of material type and loan type", "ITEM_LIMIT_MATERIAL_TYPE_LOAN_TYPE"))
        }
        (false, true, false) => Some(("material type", "ITEM_LIMIT_MATERIAL_TYPE")),
        (false, false, true) => Some(("loan type", "ITEM_LIMIT_LOAN_TYPE")),
        (_, false, false) => None,
    }) else {
        return;
    };
    let counted = facts
        .open_loans
        .iter()
        .filter(|(lent_material, lent_type)| {
            (!material || *lent_material == item.record.material_type_id)
                && (!loan_type || *lent_type == item.loan_type())
        })
        .count();
    if counted >= limit as usize {
        let refusal = Refusal::new(format!("Patron has reached maximum limit of {limit} items for {what}"))
            .with("itemBarcode", item.barcode())
            .with("itemLimit", limit.to_string())
            .code(code);
        refusals.push(ITEM_LIMIT_BLOCK.mark(refusal, &asking.may));
    }
}

fn refuse_if_not_loanable(order: &Order, asking: &Asking, terms: &LoanTerms, refusals: &mut Vec<Refusal>) {
    let policy = terms.policy;
    let Some(asked) = &order.override_blocks.item_not_loanable_block else {
        if !policy.is_loanable() {
            let refusal = policy.refusal("Item is not loanable").code("ITEM_NOT_LOANABLE");
            let refusal = Refusal {
                parameters: std::iter::once(("itemBarcode".to_owned(), order.item_barcode.clone()))
                    .chain(refusal.parameters.clone())
                    .collect(),
                ..refusal
            };
            refusals.push(ITEM_NOT_LOANABLE_BLOCK.mark(refusal, &asking.may));
        }
        return;
    };
    if let Some(refusal) = refuse_bad_override(ITEM_NOT_LOANABLE_BLOCK, order, &asking.may) {
        refusals.push(refusal);
        return;
    }
    let loan_date = order.loan_date.as_deref().and_then(time::parse).unwrap_or(asking.now);
    match asked.due_date.as_deref().and_then(time::parse) {
        None => refusals.push(with_maybe(
            Refusal::new("Override should be performed with due date specified"),
            "dueDate",
            &asked.due_date,
        )),
        Some(due) if due <= loan_date => refusals.push(with_maybe(
            Refusal::new("Due date should be later than loan date"),
            "dueDate",
            &asked.due_date,
        )),
        Some(_) => {}
    }
}

struct Due {
    at: Timestamp,
    by_hold: bool,
    by_expiration: bool,
    by_recall: bool,
}

#[allow(
    clippy::too_many_arguments,
    reason = "a due date depends on all of them, and they have no other company"
)]
fn due_date(
    facts: &Facts,
    order: &Order,
    asking: &Asking,
    book: &Rulebook,
    terms: &LoanTerms,
    patron: &Patron,
    item: &ItemAtDesk,
    loan_date: Timestamp,
    service_point: &str,
) -> Result<Due, Failure> {
    let asked = order.override_blocks.item_not_loanable_block.as_ref();
    if let Some(at) = asked.and_then(|asked| asked.due_date.as_deref()).and_then(time::parse) {
        return Ok(Due { at, by_hold: false, by_expiration: false, by_recall: false });
    }
    let calendar = book.calendar(Uuid::parse_str(service_point).unwrap_or_default());
    let circumstances = Circumstances {
        now: asking.now,
        zone: &book.zone,
        calendar: &calendar,
        patron_expires: patron.expires(),
    };
    let others = || facts.queue.iter().filter(|request| request.requester_id() != Some(patron.id));
    let hold_is_pending = others().any(|request| {
        request.is_hold()
            && request.is_not_yet_filled()
            && request.item_id().is_none_or(|wanted| wanted == item.id)
    });
    let due = due_date::due_date_of_new_loan(terms, &NewLoan { loan_date, hold_is_pending }, &circumstances)?;
    // A recall that waits behind this loan shortens it at once.
    let recalled = others().any(|request| request.is_recall() && request.item_id() == Some(item.id));
    let mut answer = Due {
        at: due.at,
        by_hold: due.changed_by_hold,
        by_expiration: due.changed_by_near_expire_user,
        by_recall: false,
    };
    if recalled {
        let loan = due_date::RecalledLoan { loan_date, due_date: due.at, already_recalled: false };
        let moved =
            due_date::due_date_after_recall(terms, &loan, due_date::RecallMoment::AtCheckOut, &circumstances)
                .map_err(Failure::Refused)?;
        answer.by_recall = true;
        if let Some(moved) = moved {
            answer.at = moved.at;
            answer.by_expiration |= moved.changed_by_near_expire_user;
        }
    }
    Ok(answer)
}

#[allow(clippy::too_many_arguments, reason = "the loan says all of it")]
fn loan(
    facts: &Facts,
    order: &Order,
    asking: &Asking,
    policies: &Policies,
    patron: &Patron,
    item: &ItemAtDesk,
    loan_date: Timestamp,
    due: &Due,
    service_point: &str,
) -> Map<String, Value> {
    let overridden = {
        let blocks = &order.override_blocks;
        blocks.patron_block.is_some()
            || blocks.item_limit_block.is_some()
            || blocks.item_not_loanable_block.is_some()
    };
    let now = time::format(asking.now);
    let mut loan = Map::new();
    let mut put = |key: &str, value: Value| {
        loan.insert(key.to_owned(), value);
    };
    put("id", asking.loan_id.to_string().into());
    put("userId", patron.id.to_string().into());
    if let Some(proxy) = &facts.proxy {
        put("proxyUserId", proxy.id.to_string().into());
    }
    put("itemId", item.id.to_string().into());
    if let Some(location) = item.record.effective_location_id {
        put("itemEffectiveLocationIdAtCheckOut", location.to_string().into());
    }
    put("status", json!({"name": "Open"}));
    put("loanDate", time::format(loan_date).into());
    put("dueDate", time::format(due.at).into());
    put("action", if overridden { "checkedOutThroughOverride" } else { "checkedout" }.into());
    if overridden && let Some(comment) = &order.override_blocks.comment {
        put("actionComment", comment.clone().into());
    }
    put("itemStatus", "Checked out".into());
    put("loanPolicyId", policies.loan.to_string().into());
    put("overdueFinePolicyId", policies.overdue_fine.to_string().into());
    put("lostItemPolicyId", policies.lost_item.to_string().into());
    put("checkoutServicePointId", service_point.into());
    if let Some(group) = patron.patron_group {
        put("patronGroupIdAtCheckout", group.to_string().into());
    }
    if due.by_recall {
        put("dueDateChangedByRecall", true.into());
    }
    if due.by_hold {
        put("dueDateChangedByHold", true.into());
    }
    if due.by_expiration {
        put("dueDateChangedByNearExpireUser", true.into());
    }
    put("isDcb", (item.is_of_another_library() || patron.is_of_another_library()).into());
    let mut metadata = json!({"createdDate": now, "updatedDate": now});
    if let Some(by) = asking.by {
        metadata["createdByUserId"] = by.to_string().into();
        metadata["updatedByUserId"] = by.to_string().into();
    }
    put("metadata", metadata);
    loan
}
