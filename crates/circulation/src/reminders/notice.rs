//! The notice of a reminder: what its template shows. Pure.

use super::decide::Reminded;
use crate::loans::find::LoanAtDesk;
use crate::patron_notices::context;
use crate::patron_notices::deliver::{Notice, Subject};
use crate::patron_notices::facts::{FeeFacts, LoanFacts};
use crate::reminder_schedule::EVENT;
use crate::settings::{CirculationSettings, Format};
use carrel_fees_fines::charge::Charged;
use jiff::Timestamp;
use uuid::Uuid;

/// The notice of a reminder: `user`, `item` and `loan`, and `feeCharge` if the reminder costs something. `None` where
/// the policy names no format or template.
pub fn of(
    loan: &LoanAtDesk,
    reminded: &Reminded,
    charged: Option<Charged>,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Option<Notice> {
    let reminder = &reminded.reminder;
    let format = Format::parse(reminder.notice_format.as_deref()?)?;
    let template = Uuid::parse_str(reminder.notice_template_id.as_deref()?).ok()?;
    let facts = LoanFacts {
        id: loan.id,
        document: loan.document.clone(),
        item: loan.item.clone(),
        patron: loan.patron.clone(),
        ..LoanFacts::default()
    };
    let context = match reminded.charge.as_ref().zip(charged) {
        Some((charge, charged)) => {
            let account = charge.account(charged.account, None, now);
            let fee = FeeFacts { account, ..FeeFacts::default() };
            context::with_user(context::fee(&fee, &facts, settings), facts.patron.as_ref(), settings)
        }
        None => context::of_loan(&facts, settings),
    };
    let subject = Subject {
        loan: Some(loan.id),
        account: charged.map(|charged| charged.account),
        fee_fine_action: charged.map(|charged| charged.action),
        ..Subject::default()
    };
    let recipient = loan.patron.as_ref()?.id;
    Some(Notice { event: EVENT, recipient, template, format, context, subjects: vec![subject] })
}
