//! The changes of a renewal, with the commit, in one round trip.

use super::Actor;
use super::decide::Renewed;
use super::facts::Facts;
use crate::loans::store;
use crate::patron_notices::{self, About, NoticeEvent};
use crate::settings::CirculationSettings;
use crate::{overdue_fine, reminder_schedule};
use carrel_audit::circulation_log;
use carrel_inventory::item_state::{self, StateChange};
use carrel_platform::{Pipeline, Tenant, Tx};
use carrel_records::Failure;

/// Writes the changes; returns whether there are causes of notices.
pub async fn apply(
    tx: Tx,
    tenant: &Tenant,
    facts: &Facts,
    renewed: &Renewed,
    settings: &CirculationSettings,
    actor: &Actor,
) -> Result<bool, Failure> {
    let loan = facts.loan.as_ref().ok_or_else(|| Failure::internal("only a loan is renewed"))?;
    let mut pipeline = Pipeline::new();
    let changed = store::versioned(renewed.loan.clone(), actor.by, actor.now);
    store::replace(&mut pipeline, &tenant.id, loan.id, &loan.document, &changed, Some("renewal"), actor.now);
    circulation_log::write_all(&mut pipeline, &renewed.log, actor.now);
    if let (Some(status), Some(item)) = (renewed.item_status.clone(), &facts.item) {
        let change = StateChange { status, in_transit_destination: None, last_check_in: None };
        item_state::change(&mut pipeline, item.id, &change, actor.now);
    }
    if let Some(first) = &renewed.first_reminder {
        reminder_schedule::reschedule(&mut pipeline, first, actor.now);
    }
    let mut notices =
        settings.notice_causes(&[NoticeEvent::Renewed, NoticeEvent::DueDate], About::Loan(loan.id));
    if let Some(fine) = &renewed.overdue_fine {
        let action = overdue_fine::write(&mut pipeline, fine, actor.by, actor.now).action;
        let about = About::FeeFineAction { action, loan: loan.id, session: None };
        notices.extend(settings.notice_causes(&[NoticeEvent::OverdueFineRenewed], about));
    }
    patron_notices::record(&mut pipeline, &notices, actor.now);
    tx.send_and_commit(pipeline).await?;
    Ok(!notices.is_empty())
}
