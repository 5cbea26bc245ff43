//! The causes of patron notices, and the rows that record them in the transaction of their action.

use crate::settings::{CirculationSettings, NoticeEvent};
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Pipeline, RowChange};
use jiff::Timestamp;
use std::collections::BTreeSet;
use uuid::Uuid;

/// The record that an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    Loan(Uuid),
    Request(Uuid),
    /// A request, and the loan of its item that ended by the same action.
    RequestAfterLoan {
        request: Uuid,
        loan: Uuid,
    },
    /// A fee/fine action of a loan. The session is that of the check-in, if notices wait for its end.
    FeeFineAction {
        action: Uuid,
        loan: Uuid,
        session: Option<Uuid>,
    },
    /// A fee/fine action that is about the fee/fine alone.
    FeeFine(Uuid),
}

/// A cause of notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cause {
    pub event: NoticeEvent,
    pub about: About,
}

impl CirculationSettings {
    /// The causes for those of these events for which a notice policy or setting has a notice; usually none.
    pub fn notice_causes(&self, events: &[NoticeEvent], about: About) -> Vec<Cause> {
        let wanted = events.iter().filter(|event| self.wants_notices_of(**event));
        wanted.map(|event| Cause { event: *event, about }).collect()
    }

    /// Whether there are notices of such an event.
    pub fn wants_notices_of(&self, event: NoticeEvent) -> bool {
        let titles = &self.title_level_requests;
        self.notices.wants(event)
            || match event {
                NoticeEvent::PagingRequest | NoticeEvent::HoldRequest | NoticeEvent::RecallRequest => {
                    titles.confirmation_patron_notice_template_id.is_some()
                }
                NoticeEvent::RequestCancellation => titles.cancellation_patron_notice_template_id.is_some(),
                // One event covers both dates of a request.
                NoticeEvent::RequestExpiration => {
                    self.notices.wants(NoticeEvent::HoldExpiration)
                        || titles.expiration_patron_notice_template_id.is_some()
                }
                _ => false,
            }
    }
}

/// Records the loans of a session at the desk as one cause, in the caller's transaction.
pub fn record_group(pipeline: &mut Pipeline, event: NoticeEvent, loans: &BTreeSet<Uuid>, now: Timestamp) {
    let group = Uuid::new_v7(uuid_time(now));
    let ids: Vec<Uuid> = loans.iter().map(|_| Uuid::new_v7(uuid_time(now))).collect();
    pipeline.add(
        "INSERT INTO notice_event (id, event, loan_id, group_id, happened)
         SELECT one.id, $1, one.loan, $2, $3 FROM unnest($4::uuid[], $5::uuid[]) AS one (id, loan)",
        vec![
            event.text().into(),
            group.into(),
            now.into(),
            ids.into(),
            loans.iter().copied().collect::<Vec<Uuid>>().into(),
        ],
    );
}

/// Records causes in the caller's transaction; call [`super::process_soon`] after its commit.
pub fn record(pipeline: &mut Pipeline, causes: &[Cause], now: Timestamp) {
    for cause in causes {
        let (loan, request, action, session) = match cause.about {
            About::Loan(loan) => (Some(loan), None, None, None),
            About::Request(request) => (None, Some(request), None, None),
            About::RequestAfterLoan { request, loan } => (Some(loan), Some(request), None, None),
            About::FeeFineAction { action, loan, session } => (Some(loan), None, Some(action), session),
            About::FeeFine(action) => (None, None, Some(action), None),
        };
        pipeline.change_row(
            &NOTICE_EVENT,
            vec![
                Uuid::new_v7(uuid_time(now)).into(),
                cause.event.text().into(),
                loan.into(),
                request.into(),
                action.into(),
                session.into(),
                now.into(),
            ],
        );
    }
}

static NOTICE_EVENT: RowChange = RowChange {
    one: "INSERT INTO notice_event (id, event, loan_id, request_id, fee_fine_action_id, session_id, happened)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    several:
        "INSERT INTO notice_event (id, event, loan_id, request_id, fee_fine_action_id, session_id, happened)
         SELECT * FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::uuid[], $5::uuid[], $6::uuid[],
             $7::timestamptz[])",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_without_notices_records_nothing() {
        let settings = CirculationSettings::blank();
        let about = About::Loan(Uuid::nil());
        assert_eq!(settings.notice_causes(&NoticeEvent::ALL, about), []);
    }
}
