//! The changes of check-ins, with the commit, in one round trip.

use super::decide::CheckIn;
use super::{Done, Scan, route};
use crate::desk::idempotency;
use crate::moved_request;
use crate::overdue_fine;
use crate::patron_notices::{self, About, NoticeEvent};
use crate::settings::CirculationSettings;
use carrel_audit::circulation_log;
use carrel_inventory::item_state;
use carrel_platform::database::DatabaseError;
use carrel_platform::{Bind, Event, Pipeline, RowChange, Tenant, Tx, outbox};
use carrel_records::json_text;
use serde_json::json;

/// Writes the changes of check-ins of different items: all or none.
pub async fn apply(tx: Tx, tenant: &Tenant, scans: &[(&Scan, &Done)]) -> Result<(), DatabaseError> {
    let mut pipeline = Pipeline::new();
    for (scan, (decision, settings)) in scans {
        write(&mut pipeline, tenant, scan, decision, settings);
    }
    for (_, (decision, _)) in scans {
        if let Some(location) = decision.floats_to {
            pipeline.add(
                "UPDATE item SET doc = doc || $2 WHERE id = $1",
                vec![
                    decision.item.id.into(),
                    (&json!({"temporaryLocationId": location, "effectiveLocationId": location})).into(),
                ],
            );
        }
    }
    for (scan, (decision, settings)) in scans {
        if let Some(key) = &scan.key {
            let answer = route::answer(decision, &scan.command, settings, scan.now);
            let loan = decision.loan.as_ref().map(|loan| loan.change.id);
            idempotency::keep(&mut pipeline, key, loan, &answer, scan.now);
        }
    }
    tx.send_and_commit(pipeline).await.map(|_| ())
}

fn write(
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    scan: &Scan,
    decision: &CheckIn,
    settings: &CirculationSettings,
) {
    let (command, now) = (&scan.command, scan.now);
    if let Some(closed) = &decision.loan {
        crate::loans::store::update(pipeline, &tenant.id, &closed.change, None, now);
        if let Some(patron) = closed.patron {
            let visit = crate::loans::session::Visit { session: command.session, by: Some(command.by) };
            crate::loans::session::record(pipeline, patron, closed.change.id, "Check-in", &visit, now);
        }
    }
    if let Some(fine) = &decision.overdue_fine {
        let charged = overdue_fine::write(pipeline, fine, Some(command.by), now);
        if let Some(loan) = fine.loan {
            let about = About::FeeFineAction { action: charged.action, loan, session: command.session };
            let causes = settings.notice_causes(&[NoticeEvent::OverdueFineReturned], about);
            patron_notices::record(pipeline, &causes, now);
        }
    }
    if let Some(request) = &decision.request {
        moved_request::write(pipeline, tenant, request, now);
    }
    patron_notices::record(pipeline, &decision.notices, now);
    item_state::change(pipeline, decision.item.id, &decision.state, now);
    circulation_log::write_all(pipeline, &decision.log, now);
    let record = json_text(&decision.record);
    pipeline.change_row(&RECORD, vec![decision.record_id.into(), Bind::Json(record.clone())]);
    let event = Event::created(&tenant.id, &record).to_string();
    outbox::announce(pipeline, "circulation.check-in", decision.record_id.to_string(), event, now);
}

static RECORD: RowChange = RowChange {
    one: "INSERT INTO check_in (id, doc) VALUES ($1, $2)",
    several: "INSERT INTO check_in (id, doc) SELECT * FROM unnest($1::uuid[], $2::jsonb[])",
};
