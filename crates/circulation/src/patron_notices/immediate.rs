//! Turns causes into notices, sent now or scheduled for later. Pure.

use super::context;
use super::deliver::{Notice, Reason, Subject, Unsent};
use super::event::About;
use super::facts::{FeeFacts, LoanFacts, People, Records, RequestFacts};
use super::policy::chosen;
use super::schedule::first_run;
use super::scheduled::notice::ScheduledNotice;
use crate::document::text_at;
use crate::settings::{CirculationSettings, Format, NoticeConfig, NoticeEvent, Timing};
use carrel_circulation_rules::PolicyKind;
use carrel_loan_rules::LoanStatus;
use carrel_loan_rules::request::{self, RequestStatus};
use carrel_records::time;
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// A recorded cause.
#[derive(Debug, Clone)]
pub struct RecordedCause {
    pub event: NoticeEvent,
    pub about: About,
    /// Causes of one group become one notice per recipient and policy.
    pub group: Option<Uuid>,
    pub happened: Timestamp,
}

/// Scheduled notices that are replaced by new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replanned {
    Loan(Uuid, NoticeEvent),
    Request(Uuid),
}

/// The result of planning.
#[derive(Debug, Default)]
pub struct Plan {
    pub notices: Vec<Notice>,
    pub unsent: Vec<Unsent>,
    /// Deleted before `scheduled` is stored.
    pub replanned: Vec<Replanned>,
    pub scheduled: Vec<ScheduledNotice>,
}

/// The inputs of planning.
pub struct PlanningFacts<'a> {
    pub records: &'a Records,
    pub people: &'a People,
    pub settings: &'a CirculationSettings,
    /// Notices whose time has passed are planned as well, as in FOLIO.
    pub keeps_late: bool,
}

/// Plans the notices of causes, in their order.
pub fn plan(causes: &[RecordedCause], known: &PlanningFacts, new_id: &mut impl FnMut() -> Uuid) -> Plan {
    let mut planner = Planner { known, plan: Plan::default(), groups: Vec::new(), new_id };
    for cause in causes {
        planner.add(cause);
    }
    planner.finish()
}

/// Loans that one notice lists.
struct Group {
    id: Uuid,
    event: NoticeEvent,
    recipient: Uuid,
    policy: Uuid,
    loans: Vec<Uuid>,
}

struct Planner<'a, F: FnMut() -> Uuid> {
    known: &'a PlanningFacts<'a>,
    plan: Plan,
    groups: Vec<Group>,
    new_id: &'a mut F,
}

impl<F: FnMut() -> Uuid> Planner<'_, F> {
    fn add(&mut self, cause: &RecordedCause) {
        match (cause.event, cause.about) {
            (event @ (NoticeEvent::DueDate | NoticeEvent::AgedToLost), About::Loan(loan)) => {
                self.schedule_loan(event, loan, cause.happened);
            }
            (NoticeEvent::RequestExpiration, About::Request(request)) => {
                self.schedule_request(request, cause.happened);
            }
            (event, About::FeeFineAction { action, loan, session }) => {
                self.schedule_fee(event, action, loan, session, cause.happened);
            }
            (event, About::FeeFine(action)) => self.notify_of_fee(event, action),
            (event, About::Loan(loan)) => self.notify_of_loan(event, loan, cause.group),
            (event, About::Request(request)) => self.notify_of_request(event, request, None),
            (event, About::RequestAfterLoan { request, loan }) => {
                self.notify_of_request(event, request, Some(loan));
            }
        }
    }

    fn fail(&mut self, event: NoticeEvent, subject: Subject, reason: impl Into<String>) {
        let reason = Reason::Failed(reason.into());
        self.plan.unsent.push(Unsent {
            event,
            subject,
            recipient: None,
            template: None,
            format: None,
            reason,
        });
    }

    /// The loan with its notice policy; a failure is recorded.
    fn loan(&mut self, event: NoticeEvent, loan: Uuid, subject: Subject) -> Option<(&LoanFacts, Uuid)> {
        let known = self.known;
        match policy_of_loan(known, loan) {
            Ok(found) => Some(found),
            Err(reason) => {
                self.fail(event, subject, reason);
                None
            }
        }
    }

    fn notify_of_loan(&mut self, event: NoticeEvent, id: Uuid, group: Option<Uuid>) {
        let known = self.known;
        let subject = Subject { loan: Some(id), ..Subject::default() };
        let Some((loan, policy)) = self.loan(event, id, subject) else { return };
        let patron = loan.patron.as_ref().map_or_else(Uuid::nil, |patron| patron.id);
        let recipient = known.people.recipient(patron, id_at(&loan.document, "proxyUserId"));
        if let Some(group) = group {
            let of = |other: &&mut Group| {
                (other.id, other.event, other.recipient, other.policy) == (group, event, recipient, policy)
            };
            match self.groups.iter_mut().find(of) {
                Some(known) => known.loans.push(id),
                None => self.groups.push(Group { id: group, event, recipient, policy, loans: vec![id] }),
            }
            return;
        }
        let context = context::of_loan(loan, known.settings);
        let subjects = vec![Subject { policy: Some(policy), ..subject }];
        self.notify(event, policy, patron, recipient, context, subjects);
    }

    /// Adds the notices of the policy, in the formats that the patron prefers.
    fn notify(
        &mut self,
        event: NoticeEvent,
        policy: Uuid,
        patron: Uuid,
        recipient: Uuid,
        context: Value,
        subjects: Vec<Subject>,
    ) {
        let known = self.known;
        let preference =
            known.people.contacts.get(&patron).map(|contact| contact.preference.clone()).unwrap_or_default();
        for config in chosen(known.settings.notices.of(policy, event), &preference) {
            self.plan.notices.push(Notice {
                event,
                recipient,
                template: config.template,
                format: config.format,
                context: context.clone(),
                subjects: subjects.clone(),
            });
        }
    }

    /// The notice includes the item's open loan, or the one that just ended.
    fn notify_of_request(&mut self, event: NoticeEvent, id: Uuid, ended: Option<Uuid>) {
        let known = self.known;
        let subject = Subject { request: Some(id), ..Subject::default() };
        let Some(request) = known.records.requests.get(&id) else {
            return self.fail(event, subject, "the request does not exist");
        };
        let Some(requester) = request.requester.as_ref().map(|requester| requester.id) else {
            return self.fail(event, subject, "the requester does not exist");
        };
        if event == NoticeEvent::RequestCancellation
            && request.document.get("dcbReRequestCancellation") == Some(&Value::Bool(true))
        {
            return;
        }
        let recipient = known.people.recipient(requester, id_at(&request.document, "proxyUserId"));
        let open = request.item.as_ref().and_then(|item| known.records.loan_of_item.get(&item.id));
        let loan = open.copied().or(ended).and_then(|loan| known.records.loans.get(&loan));
        let context = context::of_request(request, loan, known.settings);
        match policy_of_request(known, request) {
            Ok(Some(policy)) => {
                let subjects = vec![Subject { policy: Some(policy), ..subject }];
                self.notify(event, policy, requester, recipient, context, subjects);
            }
            // Without an item there is no notice policy: a setting has the template.
            Ok(None) => {
                let titles = &known.settings.title_level_requests;
                let template = match event {
                    NoticeEvent::RequestCancellation => titles.cancellation_patron_notice_template_id,
                    NoticeEvent::PagingRequest | NoticeEvent::HoldRequest | NoticeEvent::RecallRequest => {
                        titles.confirmation_patron_notice_template_id
                    }
                    _ => None,
                };
                if let Some(template) = template.filter(|_| titles.enabled()) {
                    let subjects = vec![subject];
                    let format = Format::Email;
                    self.plan.notices.push(Notice { event, recipient, template, format, context, subjects });
                }
            }
            Err(reason) => self.fail(event, subject, reason),
        }
    }

    /// Staff have the patron notified: by e-mail, with the template of the fee/fine's type or owner.
    fn notify_of_fee(&mut self, event: NoticeEvent, action: Uuid) {
        let known = self.known;
        let subject = Subject { fee_fine_action: Some(action), ..Subject::default() };
        let Some(fee) = known.records.fees.get(&action) else {
            return self.fail(event, subject, "the fee/fine action does not exist");
        };
        let subject =
            Subject { account: id_at(&fee.account, "id"), loan: id_at(&fee.account, "loanId"), ..subject };
        if !fee.is_action() && fee.action.contains_key("paymentMethod") {
            return self.fail(event, subject, "the record is neither of a charge nor of an action");
        }
        let recipient = id_at(&fee.action, "userId");
        match (fee.template(), recipient) {
            (Err(reason), _) => self.fail(event, subject, reason),
            (Ok(Some(template)), Some(recipient)) => {
                let context = context::of_fee(fee, known.settings);
                let (format, subjects) = (Format::Email, vec![subject]);
                self.plan.notices.push(Notice { event, recipient, template, format, context, subjects });
            }
            (Ok(_), recipient) => {
                let reason =
                    Reason::Skipped("neither the type of the fee/fine nor its owner has a template".into());
                let (template, format) = (None, None);
                self.plan.unsent.push(Unsent { event, subject, recipient, template, format, reason });
            }
        }
    }

    fn schedule_loan(&mut self, event: NoticeEvent, id: Uuid, planned: Timestamp) {
        let known = self.known;
        self.plan.replanned.push(Replanned::Loan(id, event));
        let subject = Subject { loan: Some(id), ..Subject::default() };
        let Some((loan, policy)) = self.loan(event, id, subject) else { return };
        let path = match event {
            NoticeEvent::AgedToLost => "agedToLostDelayedBilling/agedToLostDate",
            _ => "dueDate",
        };
        let moment = time::parse(text_at(&loan.document, path));
        let Some(moment) = moment.filter(|_| LoanStatus::of(&loan.document) != Some(LoanStatus::Closed))
        else {
            return;
        };
        let recipient = loan.patron.as_ref().map(|patron| patron.id);
        let configs: Vec<&NoticeConfig> = known.settings.notices.of(policy, event).collect();
        for config in configs {
            let run = first_run(config.timing, config.period.as_ref(), moment);
            let notice = ScheduledNotice {
                loan: Some(id),
                recipient,
                ..ScheduledNotice::of(config, (self.new_id)(), run)
            };
            self.schedule(notice, Subject { policy: Some(policy), ..subject }, planned);
        }
    }

    fn schedule_request(&mut self, id: Uuid, planned: Timestamp) {
        let known = self.known;
        self.plan.replanned.push(Replanned::Request(id));
        let Some(request) = known.records.requests.get(&id) else { return };
        if request::status(&request.document).is_some_and(RequestStatus::is_closed) {
            return;
        }
        let subject = Subject { request: Some(id), ..Subject::default() };
        let recipient = request.requester.as_ref().map(|requester| requester.id);
        let expires = time::parse(text_at(&request.document, "requestExpirationDate"));
        let shelf_ends = time::parse(text_at(&request.document, "holdShelfExpirationDate"));
        let policy = match policy_of_request(known, request) {
            Ok(Some(policy)) => policy,
            Ok(None) => {
                let template = known.settings.title_level_requests.expiration_patron_notice_template_id;
                if let (Some(template), Some(run)) = (template, expires) {
                    let config = NoticeConfig {
                        event: NoticeEvent::TitleLevelRequestExpiration,
                        template,
                        format: Format::Email,
                        timing: Timing::UponAt,
                        period: None,
                        recurring: None,
                        real_time: true,
                    };
                    let notice = ScheduledNotice {
                        request: Some(id),
                        recipient,
                        ..ScheduledNotice::of(&config, (self.new_id)(), run)
                    };
                    self.schedule(notice, subject, planned);
                }
                return;
            }
            Err(reason) => return self.fail(NoticeEvent::RequestExpiration, subject, reason),
        };
        for (event, moment) in
            [(NoticeEvent::RequestExpiration, expires), (NoticeEvent::HoldExpiration, shelf_ends)]
        {
            let Some(moment) = moment else { continue };
            let configs: Vec<&NoticeConfig> = known.settings.notices.of(policy, event).collect();
            for config in configs {
                let run = first_run(config.timing, config.period.as_ref(), moment);
                let notice = ScheduledNotice {
                    request: Some(id),
                    recipient,
                    ..ScheduledNotice::of(config, (self.new_id)(), run)
                };
                self.schedule(notice, Subject { policy: Some(policy), ..subject }, planned);
            }
        }
    }

    fn schedule_fee(
        &mut self,
        event: NoticeEvent,
        action: Uuid,
        loan: Uuid,
        session: Option<Uuid>,
        planned: Timestamp,
    ) {
        let known = self.known;
        let fee = known.records.fees.get(&action);
        let subject = Subject {
            loan: Some(loan),
            fee_fine_action: Some(action),
            account: fee.and_then(|fee: &FeeFacts| id_at(&fee.account, "id")),
            ..Subject::default()
        };
        let Some(fee) = fee else {
            return self.fail(event, subject, "the fee/fine action does not exist");
        };
        let moment = time::parse(text_at(&fee.action, "dateAction")).unwrap_or(planned);
        let Some((facts, policy)) = self.loan(event, loan, subject) else { return };
        let recipient = facts.patron.as_ref().map(|patron| patron.id);
        let configs: Vec<&NoticeConfig> = known.settings.notices.of(policy, event).collect();
        for config in configs {
            let run = match config.timing {
                Timing::After => first_run(Timing::After, config.period.as_ref(), moment),
                Timing::UponAt | Timing::Before => moment,
            };
            let notice = ScheduledNotice {
                loan: Some(loan),
                fee_fine_action: Some(action),
                recipient,
                session,
                ..ScheduledNotice::of(config, (self.new_id)(), run)
            };
            // A notice due with the charge itself is sent, however late the charge was recorded.
            let planned = if config.timing == Timing::After { planned } else { run };
            self.schedule(notice, Subject { policy: Some(policy), ..subject }, planned);
        }
    }

    /// Schedules a notice, unless its time had passed when it was planned.
    fn schedule(&mut self, notice: ScheduledNotice, subject: Subject, planned: Timestamp) {
        if notice.next_run >= planned || self.known.keeps_late {
            self.plan.scheduled.push(notice);
            return;
        }
        self.plan.unsent.push(Unsent {
            event: notice.event,
            subject,
            recipient: notice.recipient,
            template: Some(notice.template),
            format: Some(notice.format),
            reason: Reason::Skipped(format!(
                "its time, {}, had passed before it was planned",
                time::format(notice.next_run)
            )),
        });
        // Later repetitions of a recurring notice are still scheduled.
        if let Some(every) = notice.recurring.as_ref().filter(|_| notice.timing == Timing::After)
            && let Some(next_run) = super::schedule::next_run(every, notice.next_run, planned)
        {
            self.plan.scheduled.push(ScheduledNotice { next_run, ..notice });
        }
    }

    fn finish(mut self) -> Plan {
        let known = self.known;
        for group in std::mem::take(&mut self.groups) {
            let mut loans: Vec<&LoanFacts> =
                group.loans.iter().filter_map(|loan| known.records.loans.get(loan)).collect();
            loans.sort_by_key(|loan| (time::parse(text_at(&loan.document, "loanDate")), loan.id));
            let patron = loans.iter().find_map(|loan| loan.patron.as_ref());
            let contexts = loans.iter().map(|loan| context::loan(loan, known.settings)).collect();
            let context = context::of_several("loans", contexts, patron, known.settings);
            let subject = |loan: &&LoanFacts| Subject {
                loan: Some(loan.id),
                policy: Some(group.policy),
                ..Subject::default()
            };
            let subjects = loans.iter().map(subject).collect();
            let patron = patron.map_or(group.recipient, |patron| patron.id);
            self.notify(group.event, group.policy, patron, group.recipient, context, subjects);
        }
        self.plan
    }
}

/// A loan that can have notices, and its notice policy; otherwise why there is none.
pub fn policy_of_loan<'a>(known: &PlanningFacts<'a>, id: Uuid) -> Result<(&'a LoanFacts, Uuid), String> {
    let loan = known.records.loans.get(&id).ok_or("the loan does not exist")?;
    let item = loan.item.as_ref().ok_or("the item of the loan does not exist")?;
    let patron = loan.patron.as_ref().ok_or("the borrower does not exist")?;
    let group = patron.patron_group.ok_or("the borrower has no patron group")?;
    let matched = known.settings.matching(&item.rule_inputs(Some(group)), PolicyKind::Notice);
    Ok((loan, matched.map_err(|failure| failure.to_string())?.id))
}

/// The notice policy of a request; none for one without an item.
pub fn policy_of_request(known: &PlanningFacts, request: &RequestFacts) -> Result<Option<Uuid>, String> {
    if id_at(&request.document, "itemId").is_none() {
        return Ok(None);
    }
    let item = request.item.as_ref().ok_or("the item of the request does not exist")?;
    let group = request.requester.as_ref().and_then(|requester| requester.patron_group);
    let matched = known.settings.matching(&item.rule_inputs(group), PolicyKind::Notice);
    Ok(Some(matched.map_err(|failure| failure.to_string())?.id))
}

/// An id of a document.
pub fn id_at(document: &Map<String, Value>, path: &str) -> Option<Uuid> {
    Uuid::parse_str(text_at(document, path)).ok()
}
