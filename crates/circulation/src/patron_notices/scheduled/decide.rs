//! The decision about a due scheduled notice: sent, dropped, or kept waiting; and its next run. Pure.

use super::notice::ScheduledNotice;
use crate::desk::Patron;
use crate::document::text_at;
use crate::patron_notices::context;
use crate::patron_notices::deliver::{Reason, Subject, Unsent};
use crate::patron_notices::facts::{FeeFacts, LoanFacts, RequestFacts};
use crate::patron_notices::immediate::{PlanningFacts, id_at, policy_of_loan, policy_of_request};
use crate::patron_notices::policy::chosen;
use crate::patron_notices::schedule::next_run;
use crate::settings::{NoticeConfig, NoticeEvent, Timing};
use carrel_loan_rules::LoanStatus;
use carrel_loan_rules::request::{self, RequestStatus};
use carrel_records::{ItemStatus, time};
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

/// The decision about a notice.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub outcome: Outcome,
    pub next: Next,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Sent(Content),
    Unsent(Unsent),
    /// Neither now.
    Waits,
}

/// The scheduled notice afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Deleted,
    RunsAt(Timestamp),
    Unchanged,
}

/// The values of a notice's template.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    pub recipient: Uuid,
    pub subject: Subject,
    /// For a notice about one record.
    pub whole: Value,
    /// As an element of a notice about several records.
    pub part: Value,
}

/// Decides about one notice.
pub fn decide(notice: &ScheduledNotice, known: &PlanningFacts, now: Timestamp) -> Verdict {
    match notice.event {
        NoticeEvent::RequestExpiration
        | NoticeEvent::HoldExpiration
        | NoticeEvent::TitleLevelRequestExpiration => of_request(notice, known, now),
        NoticeEvent::OverdueFineReturned
        | NoticeEvent::OverdueFineRenewed
        | NoticeEvent::AgedToLostFineCharged
        | NoticeEvent::AgedToLostReturned => of_fee(notice, known, now),
        _ => of_loan(notice, known, now),
    }
}

fn of_loan(notice: &ScheduledNotice, known: &PlanningFacts, now: Timestamp) -> Verdict {
    let subject = Subject { loan: notice.loan, ..Subject::default() };
    let Some(loan) = notice.loan.and_then(|id| known.records.loans.get(&id)) else {
        return failed(notice, subject, "the loan does not exist".into());
    };
    if let Some(reason) = irrelevance_of_loan(notice, loan, now) {
        return skipped(notice, subject, reason, Next::Deleted);
    }
    let policy = match policy_of_loan(known, loan.id) {
        Ok((_, policy)) => policy,
        Err(reason) => return failed(notice, subject, reason),
    };
    let subject = Subject { policy: Some(policy), ..subject };
    let due = time::parse(text_at(&loan.document, "dueDate"));
    let next = next(notice, now, |run| notice.timing == Timing::Before && due.is_some_and(|due| run > due));
    if let Some(reason) = other_format_is_preferred(notice, policy, loan.patron.as_ref(), known) {
        return skipped(notice, subject, reason, next);
    }
    sent(notice, loan.patron.as_ref(), next, |recipient| Content {
        recipient,
        subject,
        whole: context::of_loan(loan, known.settings),
        part: context::loan(loan, known.settings),
    })
}

fn irrelevance_of_loan(notice: &ScheduledNotice, loan: &LoanFacts, now: Timestamp) -> Option<String> {
    let item = loan.item.as_ref().map(|item| &item.status);
    if LoanStatus::of(&loan.document) == Some(LoanStatus::Closed) {
        return Some("the loan is closed".into());
    }
    if let Some(item @ (ItemStatus::DeclaredLost | ItemStatus::ClaimedReturned)) = item {
        return Some(format!("the item is {item}"));
    }
    if notice.event == NoticeEvent::AgedToLost {
        if matches!(text_at(&loan.document, "action"), "renewed" | "renewedThroughOverride") {
            return Some("the loan was renewed".into());
        }
        return loan.has_lost_item_fees.then(|| "the lost item was charged".into());
    }
    if let Some(item @ ItemStatus::AgedToLost) = item {
        return Some(format!("the item is {item}"));
    }
    let due = time::parse(text_at(&loan.document, "dueDate"));
    let is_late = notice.timing == Timing::Before && due.is_some_and(|due| due < now);
    is_late.then(|| "the loan is overdue".into())
}

fn of_request(notice: &ScheduledNotice, known: &PlanningFacts, now: Timestamp) -> Verdict {
    let subject = Subject { request: notice.request, ..Subject::default() };
    let Some(request) = notice.request.and_then(|id| known.records.requests.get(&id)) else {
        return failed(notice, subject, "the request does not exist".into());
    };
    let status = request::status(&request.document);
    let is_closed = status.is_some_and(RequestStatus::is_closed);
    let is_not_yet_filled = status == Some(RequestStatus::NotYetFilled);
    let is_hold = notice.event == NoticeEvent::HoldExpiration;
    // The notice of an expired request waits until the request is closed.
    if notice.timing == Timing::UponAt && !is_closed && !(is_hold && is_not_yet_filled) {
        return Verdict { outcome: Outcome::Waits, next: Next::Unchanged };
    }
    let is_irrelevant = is_hold
        && match notice.timing {
            Timing::UponAt => {
                is_not_yet_filled || (is_closed && status != Some(RequestStatus::PickupExpired))
            }
            Timing::Before | Timing::After => is_closed,
        };
    if is_irrelevant {
        return skipped(
            notice,
            subject,
            format!("the request is {}", text_at(&request.document, "status")),
            Next::Deleted,
        );
    }
    if request.requester.is_none() {
        return failed(notice, subject, "the requester does not exist".into());
    }
    let policy = match policy_of_request(known, request) {
        Ok(policy) => policy,
        Err(reason) => return failed(notice, subject, reason),
    };
    let subject = Subject { policy, ..subject };
    let next = if is_closed {
        Next::Deleted
    } else {
        next(notice, now, |run| notice.timing == Timing::Before && is_after_expiration(run, request))
    };
    let other = policy
        .and_then(|policy| other_format_is_preferred(notice, policy, request.requester.as_ref(), known));
    if let Some(reason) = other {
        return skipped(notice, subject, reason, next);
    }
    let loan = request.item.as_ref().and_then(|item| known.records.loan_of_item.get(&item.id));
    let loan = loan.and_then(|loan| known.records.loans.get(loan));
    let whole = context::of_request(request, loan, known.settings);
    sent(notice, request.requester.as_ref(), next, |recipient| Content {
        recipient,
        subject,
        part: whole.clone(),
        whole,
    })
}

fn is_after_expiration(run: Timestamp, request: &RequestFacts) -> bool {
    ["requestExpirationDate", "holdShelfExpirationDate"]
        .into_iter()
        .filter_map(|key| time::parse(text_at(&request.document, key)))
        .any(|expires| run > expires)
}

fn of_fee(notice: &ScheduledNotice, known: &PlanningFacts, now: Timestamp) -> Verdict {
    let fee: Option<&FeeFacts> = notice.fee_fine_action.and_then(|id| known.records.fees.get(&id));
    let subject = Subject {
        loan: notice.loan,
        fee_fine_action: notice.fee_fine_action,
        account: fee.and_then(|fee| id_at(&fee.account, "id")),
        ..Subject::default()
    };
    let Some(fee) = fee else {
        return failed(notice, subject, "the fee/fine action does not exist".into());
    };
    if notice.event == NoticeEvent::OverdueFineReturned
        && notice.timing == Timing::UponAt
        && notice.session.is_some_and(|session| known.records.open_sessions.contains(&session))
    {
        return Verdict { outcome: Outcome::Waits, next: Next::Unchanged };
    }
    let is_adjustment = notice.event == NoticeEvent::AgedToLostReturned;
    if !is_adjustment && text_at(&fee.account, "status/name") == "Closed" {
        return skipped(notice, subject, "the fee/fine is closed".into(), Next::Deleted);
    }
    let loan = id_at(&fee.account, "loanId").or(notice.loan).unwrap_or_default();
    let (loan, policy) = match policy_of_loan(known, loan) {
        Ok(found) => found,
        Err(reason) => return failed(notice, subject, reason),
    };
    let subject = Subject { policy: Some(policy), ..subject };
    let next = next(notice, now, |_| false);
    if let Some(reason) = other_format_is_preferred(notice, policy, loan.patron.as_ref(), known) {
        return skipped(notice, subject, reason, next);
    }
    let part = context::fee(fee, loan, known.settings);
    let whole = if is_adjustment {
        context::of_fee_action(fee, loan, known.settings)
    } else {
        context::with_user(part.clone(), loan.patron.as_ref(), known.settings)
    };
    sent(notice, loan.patron.as_ref(), next, |recipient| Content { recipient, subject, whole, part })
}

fn sent(
    notice: &ScheduledNotice,
    patron: Option<&Patron>,
    next: Next,
    content: impl FnOnce(Uuid) -> Content,
) -> Verdict {
    let recipient = notice.recipient.or(patron.map(|patron| patron.id)).unwrap_or_default();
    Verdict { outcome: Outcome::Sent(content(recipient)), next }
}

/// When the notice runs next, unless it is no longer needed.
fn next(notice: &ScheduledNotice, now: Timestamp, is_pointless: impl FnOnce(Timestamp) -> bool) -> Next {
    let run = notice.recurring.as_ref().and_then(|every| next_run(every, notice.next_run, now));
    match run {
        Some(run) if !is_pointless(run) => Next::RunsAt(run),
        _ => Next::Deleted,
    }
}

fn failed(notice: &ScheduledNotice, subject: Subject, reason: String) -> Verdict {
    let outcome = Outcome::Unsent(unsent(notice, subject, Reason::Failed(reason)));
    Verdict { outcome, next: Next::Deleted }
}

fn skipped(notice: &ScheduledNotice, subject: Subject, reason: String, next: Next) -> Verdict {
    Verdict { outcome: Outcome::Unsent(unsent(notice, subject, Reason::Skipped(reason))), next }
}

fn unsent(notice: &ScheduledNotice, subject: Subject, reason: Reason) -> Unsent {
    Unsent {
        event: notice.event,
        subject,
        recipient: notice.recipient,
        template: Some(notice.template),
        format: Some(notice.format),
        reason,
    }
}

/// Why the notice is not sent in its format: the policy has it in several, and the patron prefers another.
fn other_format_is_preferred(
    notice: &ScheduledNotice,
    policy: Uuid,
    patron: Option<&Patron>,
    known: &PlanningFacts,
) -> Option<String> {
    let is_like = |config: &&NoticeConfig| {
        config.timing == notice.timing
            && config.real_time == notice.real_time
            && config.recurring == notice.recurring
    };
    let configs: Vec<&NoticeConfig> =
        known.settings.notices.of(policy, notice.event).filter(is_like).collect();
    let own = configs.iter().find(|config| config.template == notice.template)?;
    let alternatives = configs.iter().copied().filter(|config| config.is_alternative_to(own));
    let contact = patron.and_then(|patron| known.people.contacts.get(&patron.id));
    let preference = contact.map(|contact| contact.preference.clone()).unwrap_or_default();
    let chosen = chosen(alternatives, &preference);
    let is_chosen = chosen.iter().any(|config| config.format == notice.format);
    (!is_chosen).then(|| {
        let formats: Vec<&str> = chosen.iter().map(|config| config.format.text()).collect();
        format!("the patron gets this notice by {}", formats.join(" and "))
    })
}
