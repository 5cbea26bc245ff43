//! The decision of a check-out: refusals in desk order, or the loan.
//!
//! `patron` has the refusals about patron and proxy, `item` those about the item and its requests, `terms` those of the
//! loan policy, `loan` the due date and the loan itself, `log` its entries in the circulation log.

#[cfg(test)]
mod fixtures;
mod item;
mod loan;
mod log;
mod patron;
mod terms;

use super::facts::Facts;
use super::{Actor, CheckOutRequest};
use crate::desk::override_blocks::Block;
use crate::desk::{ItemAtDesk, Patron, QueuedRequest, confirmation, queue};
use crate::patron_notices::{About, Cause, NoticeEvent};
use crate::reminder_schedule::{ScheduledReminder, first_reminder};
use crate::settings::{CirculationSettings, Matched};
use carrel_audit::circulation_log::LogEntry;
use carrel_circulation_rules::PolicyKind;
use carrel_loan_rules::loan_policy::LoanTerms;
use carrel_records::{Failure, Refusal, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// The changes of a check-out.
#[derive(Debug, Clone)]
pub struct CheckOut {
    pub loan: Map<String, Value>,
    pub loan_id: Uuid,
    pub item_id: Uuid,
    pub patron_id: Uuid,
    /// The request that this check-out fulfills, and the new positions of those after it.
    pub fills: Option<Uuid>,
    pub moves_up: queue::Moves,
    /// The first reminder by the overdue fine policy.
    pub first_reminder: Option<ScheduledReminder>,
    /// Its entries in the circulation log.
    pub log: Vec<LogEntry>,
    /// The causes of notices for the patron, and for the requester whose request is fulfilled.
    pub notices: Vec<Cause>,
}

/// The policies for the loan.
#[derive(Debug, Clone, Copy)]
pub struct Policies {
    pub loan: Uuid,
    pub overdue_fine: Uuid,
    pub lost_item: Uuid,
    pub notice: Uuid,
}

/// The inputs of the decision.
#[derive(Clone, Copy)]
struct Scan<'a> {
    facts: &'a Facts,
    command: &'a CheckOutRequest,
    actor: &'a Actor,
    settings: &'a CirculationSettings,
}

/// A check-out without refusals.
struct Permitted<'a> {
    patron: &'a Patron,
    item: &'a ItemAtDesk,
    terms: LoanTerms<'a>,
    policies: Policies,
    /// The patron's request that is fulfilled.
    fills: Option<Uuid>,
}

/// Refusals in desk order, or the loan.
pub fn decide(
    facts: &Facts,
    command: &CheckOutRequest,
    actor: &Actor,
    settings: &CirculationSettings,
) -> Result<CheckOut, Failure> {
    let scan = Scan { facts, command, actor, settings };
    if let Some(item) = facts.item.as_ref().filter(|_| command.refuses_unconfirmed)
        && let Some(refusal) = confirmation::refuse(item, "Check out", false)
    {
        return Err(refusal.into());
    }
    let permitted = scan.permit()?;
    let service_point = scan.service_point()?;
    if facts.locked_elsewhere && settings.check_out_lock.enabled {
        return Err(Refusal::new("unable to acquire lock").with("", "").into());
    }
    let due = scan.due_date(&permitted, service_point)?;
    let loan = scan.loan(&permitted, &due, service_point);
    let mut notices = settings.notice_causes(&[NoticeEvent::DueDate], About::Loan(actor.loan_id));
    if let Some(filled) = permitted.fills {
        notices.extend(settings.notice_causes(&[NoticeEvent::RequestExpiration], About::Request(filled)));
    }
    Ok(CheckOut {
        notices,
        log: scan.log(&permitted, &loan, service_point),
        first_reminder: first_reminder(&loan, settings),
        loan,
        loan_id: actor.loan_id,
        item_id: permitted.item.id,
        patron_id: permitted.patron.id,
        fills: permitted.fills,
        moves_up: permitted
            .fills
            .map_or_else(Default::default, |filled| queue::without(&facts.queue, filled)),
    })
}

/// Refusals in desk order, or the policies for a loan: a dry run.
pub fn policies(
    facts: &Facts,
    command: &CheckOutRequest,
    actor: &Actor,
    settings: &CirculationSettings,
) -> Result<Policies, Failure> {
    Scan { facts, command, actor, settings }.permit().map(|permitted| permitted.policies)
}

/// Refuses malformed dates, before any facts are gathered.
pub fn refuse_unreadable(command: &CheckOutRequest) -> Result<(), Failure> {
    let named = command.override_blocks.item_not_loanable_block.as_ref();
    for (name, date) in [
        ("loanDate", command.loan_date.as_deref()),
        ("itemNotLoanableBlock.dueDate", named.and_then(|block| block.due_date.as_deref())),
    ] {
        if date.is_some_and(|date| !date.trim().is_empty() && time::parse(date).is_none()) {
            return Err(Failure::Invalid(format!("{name} must be a date and time in ISO 8601")));
        }
    }
    Ok(())
}

impl<'a> Scan<'a> {
    fn permit(&self) -> Result<Permitted<'a>, Failure> {
        let mut refusals = Vec::new();
        refusals.extend(self.refuse_without_service_point());
        refusals.extend(self.refuse_unknown_patron());
        refusals.extend(self.refuse_for_patron_blocks());
        refusals.extend(self.refuse_unknown_proxy());
        refusals.extend(self.refuse_for_account_status());
        refusals.extend(self.refuse_for_proxy_relation());
        refusals.extend(self.refuse_for_item());
        let request = self.first_request();
        refusals.extend(request.and_then(|request| self.refuse_for_request(request)));

        let (Some(patron), Some(item)) = (&self.facts.patron, &self.facts.item) else {
            return Err(Failure::refused_once_each(refusals));
        };
        let matched = self.loan_policy(patron, item)?;
        let terms = self.settings.loan_terms(matched.id)?;
        refusals.extend(self.refuse_for_item_limit(&matched, &terms, item));
        refusals.extend(self.refuse_if_not_loanable(&terms));
        if !refusals.is_empty() {
            return Err(Failure::refused_once_each(refusals));
        }
        let what = item.rule_inputs(patron.patron_group);
        let policies = Policies {
            loan: matched.id,
            overdue_fine: self.settings.matching(&what, PolicyKind::Overdue)?.id,
            lost_item: self.settings.matching(&what, PolicyKind::LostItem)?.id,
            notice: self.settings.matching(&what, PolicyKind::Notice)?.id,
        };
        let fills = request.map(|request| request.id).or_else(|| self.own_request_filled_by(item, patron));
        Ok(Permitted { patron, item, terms, policies, fills })
    }

    fn refuse_without_service_point(&self) -> Option<Refusal> {
        let point = &self.command.service_point_id;
        (point.as_deref().is_none_or(|point| point.trim().is_empty()) && !self.actor.dry_run).then(|| {
            with_maybe(
                Refusal::new("Check out must be performed at a service point"),
                "servicePointId",
                point,
            )
        })
    }

    /// The service point; a malformed id is refused with storage's text, after all other refusals.
    fn service_point(&self) -> Result<Uuid, Refusal> {
        let given = self.command.service_point_id.as_deref().unwrap_or_default();
        Uuid::parse_str(given).map_err(|_| {
            Refusal::new(carrel_records::shape::NOT_A_UUID).with("checkoutServicePointId", given).of_storage()
        })
    }

    fn loan_policy(&self, patron: &Patron, item: &ItemAtDesk) -> Result<Matched, Failure> {
        if let Some(id) = self.command.force_loan_policy_id {
            // The policy comes from the caller and not from the circulation rules, so the text differs.
            if !self.settings.loan_policies.contains_key(&id) {
                return Err(Refusal::new(format!("Loan policy {id} could not be found"))
                    .with("forceLoanPolicyId", id.to_string())
                    .into());
            }
            return Ok(Matched { id, conditions: Default::default() });
        }
        if patron.patron_group.is_none() {
            return Err(Failure::Misconfigured(
                "Unable to apply circulation rules to a user with null value as patronGroupId".into(),
            ));
        }
        self.settings.matching(&item.rule_inputs(patron.patron_group), PolicyKind::Loan)
    }

    /// The first request that this item can fulfill, of this patron or another one.
    fn first_request(&self) -> Option<&'a QueuedRequest> {
        queue::first_fulfillable_by_lending(&self.facts.queue, self.facts.item.as_ref()?, self.settings)
    }

    /// The patron's own request that this item fulfills, including a recall of another item of the instance.
    fn own_request_filled_by(&self, item: &ItemAtDesk, patron: &Patron) -> Option<Uuid> {
        let own = |request: &&QueuedRequest| request.requester_id() == Some(patron.id);
        let own: Vec<QueuedRequest> = self.facts.queue.iter().filter(own).cloned().collect();
        queue::first_fulfillable(&own, item, self.settings).map(|request| request.id)
    }

    fn loan_date(&self) -> Timestamp {
        self.command.loan_date.as_deref().and_then(time::parse).unwrap_or(self.actor.now)
    }

    /// An override needs the permission and a comment.
    fn refuse_bad_override(&self, block: Block) -> Option<Refusal> {
        block.refuse_override(&self.actor.may).or_else(|| {
            self.command.override_blocks.comment.is_none().then(|| {
                Refusal::new("Override should be performed with the comment specified").with_null("comment")
            })
        })
    }
}

/// Adds a parameter as it was sent; an absent one is null.
fn with_maybe(refusal: Refusal, key: &str, value: &Option<String>) -> Refusal {
    match value {
        Some(value) => refusal.with(key, value.clone()),
        None => refusal.with_null(key),
    }
}

#[cfg(test)]
mod tests {
    use super::fixtures::*;
    use super::*;
    use carrel_records::RefusalCode;
    use serde_json::json;

    #[test]
    fn all_refusals_are_returned_at_once_in_desk_order() {
        let mut command = command();
        command.service_point_id = None;
        command.proxy_user_barcode = Some("proxy".into());
        let mut facts = facts();
        facts.manual_blocks = vec![json!({"borrowing": true, "desc": "owes"})];
        facts.patron.as_mut().expect("a patron").active = Some(false);
        facts.proxy = Some(Patron { id: BOOK, ..Patron::default() });
        facts.item.as_mut().expect("an item").status = "Checked out".into();
        facts.item_has_open_loan = true;
        facts.queue = vec![request(1, OTHER, json!({}))];
        let settings = library(json!({"loanable": false}));
        assert_eq!(
            messages(decided(&facts, &command, &settings)),
            [
                "Check out must be performed at a service point",
                "Patron blocked from borrowing",
                "Cannot check out to inactive user",
                "Cannot determine if proxying user is active or not",
                "Cannot check out item via proxy when relationship is invalid",
                "Item is already checked out",
                "Cannot check out item that already has an open loan",
                "Nod (Barcode: 036) cannot be checked out to user Reader, Joan because it has been requested by another patron",
                "Item is not loanable",
            ]
        );
    }

    #[test]
    fn an_unknown_barcode_is_refused_with_the_barcode_as_it_was_sent() {
        let mut command = command();
        command.proxy_user_barcode = Some("proxy".into());
        let refusals = refusals(decided(&Facts::default(), &command, &usual()));
        let codes: Vec<_> = refusals
            .iter()
            .map(|refusal| (refusal.message.as_str(), refusal.parameters[0].clone(), refusal.code))
            .collect();
        let unknown = "Could not find user with matching barcode";
        let sent = |key: &str, value: &str| (key.to_owned(), Some(value.to_owned()));
        assert_eq!(
            codes,
            [
                (unknown, sent("userBarcode", "card"), Some(RefusalCode::UserBarcodeNotFound)),
                (unknown, sent("proxyUserBarcode", "proxy"), Some(RefusalCode::UserBarcodeNotFound)),
                ("No item with barcode 036 could be found", sent("itemBarcode", "036"), None),
            ]
        );
    }

    #[test]
    fn the_patrons_own_request_is_filled_and_the_others_move_up() {
        let queue = vec![request(1, PATRON, json!({})), request(2, OTHER, json!({}))];
        let check_out = decided(&Facts { queue, ..facts() }, &command(), &usual()).expect("a loan");
        assert_eq!(check_out.fills, Some(id_of_request(1)));
        assert_eq!(check_out.moves_up.positions, [(id_of_request(2), 1)]);
    }

    #[test]
    fn a_recall_that_waits_for_another_copy_is_filled_by_this_one_for_its_own_patron_only() {
        let waiting = |patron| {
            let elsewhere = json!({"requestType": "Recall", "requestLevel": "Title", "itemId": OTHER});
            let facts = Facts { queue: vec![request(1, patron, elsewhere)], ..facts() };
            decided(&facts, &command(), &usual()).expect("a loan").fills
        };
        assert_eq!(waiting(PATRON), Some(id_of_request(1)));
        assert_eq!(waiting(OTHER), None);
    }

    #[test]
    fn a_dry_run_returns_the_policies_and_needs_no_service_point() {
        let command = CheckOutRequest { service_point_id: None, ..command() };
        let actor = Actor { dry_run: true, ..actor() };
        let applied = policies(&facts(), &command, &actor, &usual()).expect("policies");
        assert_eq!((applied.loan, applied.notice), (POLICY, POLICY));
    }

    #[test]
    fn a_patron_without_a_group_is_a_configuration_error() {
        let mut facts = facts();
        facts.patron.as_mut().expect("a patron").patron_group = None;
        let refused = decided(&facts, &command(), &usual()).expect_err("no policy").to_string();
        assert!(refused.ends_with("a user with null value as patronGroupId"), "{refused}");
    }

    #[test]
    fn blank_rules_and_unknown_policies_are_configuration_errors() {
        let mut blank = usual();
        blank.rules = carrel_circulation_rules::Rules::parse("").expect("blank rules can be read");
        let refused = decided(&facts(), &command(), &blank).expect_err("no policy").to_string();
        assert!(refused.ends_with("Cannot apply blank circulation rules"), "{refused}");
        let mut forgotten = usual();
        forgotten.loan_policies.clear();
        let refused = decided(&facts(), &command(), &forgotten).expect_err("no policy").to_string();
        assert!(
            refused.ends_with(&format!(
                "Loan policy {POLICY} could not be found, please check circulation rules"
            )),
            "{refused}"
        );
    }

    #[test]
    fn a_forced_policy_replaces_that_of_the_rules() {
        let mut settings = usual();
        let mut other = settings.loan_policies[&POLICY].clone();
        other.id = Some(OTHER.to_string());
        settings.loan_policies.insert(OTHER, other);
        let command = CheckOutRequest { force_loan_policy_id: Some(OTHER), ..command() };
        let loan = decided(&facts(), &command, &settings).expect("a loan").loan;
        assert_eq!(loan["loanPolicyId"], OTHER.to_string());
        let unknown = decided(&facts(), &command, &usual()).expect_err("no policy");
        assert!(matches!(unknown, Failure::Refused(_)), "{unknown}");
    }

    #[test]
    fn a_lock_in_the_lock_storage_refuses_the_check_out() {
        let facts = Facts { locked_elsewhere: true, ..facts() };
        let mut settings = usual();
        settings.check_out_lock.enabled = true;
        assert_eq!(messages(decided(&facts, &command(), &settings)), ["unable to acquire lock"]);
        settings.check_out_lock.enabled = false;
        assert!(decided(&facts, &command(), &settings).is_ok());
    }

    #[test]
    fn malformed_ids_and_dates_are_refused() {
        let command = CheckOutRequest { service_point_id: Some("desk".into()), ..command() };
        let refusals = refusals(decided(&facts(), &command, &usual()));
        assert_eq!(refusals[0].parameters, [("checkoutServicePointId".to_owned(), Some("desk".to_owned()))]);
        let on = |date: &str| {
            refuse_unreadable(&CheckOutRequest { loan_date: Some(date.into()), ..command.clone() })
        };
        assert!(on("2024-05-01T10:00:00Z").is_ok() && on("").is_ok());
        assert!(on("yesterday").is_err());
    }
}
