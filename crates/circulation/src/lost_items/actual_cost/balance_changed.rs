//! The notices of an actual cost that another module has charged: FOLIO's mod-feesfines reports the new balance.
//!
//! Route: `POST /circulation/handlers/fee-fine-balance-changed`. An actual cost that is billed here has its notices
//! already; an event that is repeated schedules none again.

use crate::document::text_at;
use crate::patron_notices::{self, About, NoticeEvent};
use crate::settings::CirculationSettings;
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::Failure;
use uuid::Uuid;

/// The automatic type of fees/fines.
const ACTUAL_COST: &str = "73785370-d3bd-4d92-942d-ae2268e02ded";

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/handlers/fee-fine-balance-changed", balance_changed);
}

/// The record of the charge of an account, if no notice of it is planned or sent.
const CHARGE_WITHOUT_NOTICES: &str = "SELECT charge.id FROM accounts JOIN loan ON loan.id = $2
    JOIN feefineactions charge ON charge.account_id = accounts.id
        AND charge.doc->>'typeAction' = accounts.doc->>'feeFineType'
    WHERE accounts.id = $1
        AND NOT EXISTS (SELECT FROM notice_event WHERE fee_fine_action_id = charge.id)
        AND NOT EXISTS (SELECT FROM patron_notice WHERE account_id = $1 AND doc->>'triggeringEvent' = $3)
        AND NOT EXISTS (SELECT FROM scheduled_notice
            WHERE loan_id = $2 AND doc->>'feeFineActionId' = charge.id::text)
    ORDER BY charge.doc->>'dateAction' LIMIT 1";

/// FOLIO quirk: an event that makes no sense is answered like any other.
async fn balance_changed(call: Call) -> Result<Answer, Failure> {
    let event = call.object()?;
    let id = |name: &str| Uuid::parse_str(text_at(&event, name)).ok();
    let (Some(account), Some(loan)) = (id("feeFineId"), id("loanId")) else {
        return Ok(Answer::no_content());
    };
    if text_at(&event, "feeFineTypeId") != ACTUAL_COST {
        return Ok(Answer::no_content());
    }
    let tenant = call.tenant()?;
    let settings = CirculationSettings::of(tenant).await?;
    let notice = NoticeEvent::AgedToLostFineCharged;
    let mut tx = tenant.begin().await?;
    let binds = vec![account.into(), loan.into(), notice.text().into()];
    let rows = tx.query(CHARGE_WITHOUT_NOTICES, binds).await?;
    let Some(action) = rows.first().map(|row| row.get("id")) else { return Ok(Answer::no_content()) };
    let about = About::FeeFineAction { action, loan, session: None };
    let causes = settings.notice_causes(&[notice], about);
    let mut pipeline = Pipeline::new();
    patron_notices::record(&mut pipeline, &causes, call.now);
    if !pipeline.is_empty() {
        tx.send_and_commit(pipeline).await?;
        patron_notices::process_soon(tenant);
    }
    Ok(Answer::no_content())
}
