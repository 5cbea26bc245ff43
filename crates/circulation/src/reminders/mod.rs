//! Reminder fees: patrons with overdue items are reminded by the schedule of the overdue fine policy, and reminders may
//! have a fee.
//!
//! Route: `POST /circulation/scheduled-digital-reminders-processing`; the job of the same name does the same every
//! hour. Reads due scheduled notices with their loans; charges the fee, sends the notice, changes the loan with a
//! history row and schedules the next reminder, in one transaction for each reminder; announces `circulation.loan` and
//! the balance. Check-out schedules the first reminder; renewal, recall and another due date schedule it again.

mod decide;
mod notice;

use crate::loans::{find, store};
use crate::patron_notices::{deliver, facts};
use crate::records::notices::SCHEDULED_NOTICE;
use crate::reminder_schedule::EVENT;
use carrel_fees_fines::charge::charge;
use carrel_platform::jobs::{self, Job};
use carrel_platform::{Answer, Json, Pipeline, Router, Tenant};
use carrel_records::{Failure, time};
use decide::{Outcome, Reminded, decide};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use uuid::Uuid;

/// Sends due reminders. Reminders are scheduled by the hour, and each waits for an open day.
pub static JOB: Job = Job {
    name: "scheduled-digital-reminders-processing",
    every: Duration::from_secs(3600),
    deadline: Duration::from_secs(1800),
    run: |run| {
        Box::pin(async move {
            let sent = remind(&run.tenant, Timestamp::now()).await?;
            Ok(format!("{sent} reminders sent"))
        })
    },
};

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/scheduled-digital-reminders-processing", |call| async move {
        remind(call.tenant()?, call.now).await?;
        Ok(Answer::no_content())
    });
}

/// At most this many due reminders are read at once.
const PAGE: i64 = 500;

/// When a scheduled notice is due, by the expression of its index.
static NEXT_RUN: LazyLock<String> = LazyLock::new(|| {
    let field = SCHEDULED_NOTICE.fields.iter().find(|field| field.name == "nextRunTime");
    carrel_cql::sql::expression(field.expect("scheduled notices have it"), "scheduled_notice")
});

static DUE: LazyLock<String> = LazyLock::new(|| {
    let next_run = &*NEXT_RUN;
    format!(
        "SELECT id, loan_id, {next_run} AS next_run FROM scheduled_notice
         WHERE {next_run} <= $1 AND doc->>'triggeringEvent' = $2
             AND doc->'noticeConfig'->>'sendInRealTime' = 'true'
             AND ($3::timestamptz IS NULL OR ({next_run}, id) > ($3, $4))
         ORDER BY {next_run}, id LIMIT $5"
    )
});

/// Processes all due reminders; returns the number of those sent.
pub async fn remind(tenant: &Arc<Tenant>, now: Timestamp) -> Result<usize, Failure> {
    let mut sent = 0;
    let mut after: (Option<Timestamp>, Option<Uuid>) = (None, None);
    loop {
        let binds = vec![now.into(), EVENT.text().into(), after.0.into(), after.1.into(), PAGE.into()];
        let rows = tenant.writer().await?.query(DUE.as_str(), binds).await?;
        for row in &rows {
            let (id, loan): (Uuid, Option<Uuid>) = (row.get("id"), row.get("loan_id"));
            sent += usize::from(work_on(tenant, id, loan, now).await?);
            after = (row.get("next_run"), Some(id));
        }
        if rows.is_empty() {
            return Ok(sent);
        }
    }
}

/// Sends one reminder, or deletes it if it no longer applies, in a separate transaction. Returns whether it was sent.
async fn work_on(
    tenant: &Arc<Tenant>,
    id: Uuid,
    loan: Option<Uuid>,
    now: Timestamp,
) -> Result<bool, Failure> {
    let located = match loan {
        Some(loan) => find::locked(tenant, loan).await,
        None => Err(Failure::NotFound("the notice names no loan".into())),
    };
    let (mut tx, loan, settings) = match located {
        Ok(found) => found,
        Err(Failure::NotFound(_)) => {
            delete(tenant, id, "the loan does not exist").await?;
            return Ok(false);
        }
        Err(failure) => return Err(failure),
    };
    // Another node may have sent it, or a renewal may have scheduled another one.
    let rows = tx.query(STILL_DUE.as_str(), vec![id.into(), now.into()]).await?;
    let Some(row) = rows.first() else { return Ok(false) };
    let document: Json = row.get("doc");
    let mut pipeline = Pipeline::new();
    let outcome = decide(&loan, row.get("template_exists"), &settings, now);
    match &outcome {
        Outcome::Wait(reason) => {
            tracing::debug!(notice.id = %id, loan.id = %loan.id, reason, "a reminder waits");
            return Ok(false);
        }
        Outcome::Delete(reason) => {
            tracing::info!(notice.id = %id, loan.id = %loan.id, reason, "a reminder is deleted");
            pipeline.add(DELETE, vec![id.into()]);
        }
        Outcome::Remind(reminded) => {
            let loan_id = loan.id;
            let changed = store::versioned(reminded.loan.clone(), None, now);
            store::replace(
                &mut pipeline,
                &tenant.id,
                loan_id,
                &loan.document,
                &changed,
                Some("reminder-fee"),
                now,
            );
            let charged = reminded.charge.as_ref().map(|fee| charge(&mut pipeline, fee, None, now));
            if let Some(notice) = notice::of(&loan, reminded, charged, &settings, now) {
                let (recipient, template) = (vec![notice.recipient], vec![notice.template]);
                let people = facts::people(tx.connection(), recipient, template, now).await?;
                deliver::write(&mut pipeline, &[notice], &[], &people, now);
            }
            write_next(&mut pipeline, id, document.parse(), reminded);
        }
    }
    tx.send_and_commit(pipeline).await?;
    let was_sent = matches!(outcome, Outcome::Remind(_));
    if was_sent {
        jobs::hint(tenant, carrel_notices::email::DELIVERY.name);
    }
    Ok(was_sent)
}

static STILL_DUE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT doc, EXISTS (SELECT FROM template
             WHERE template.id::text = scheduled_notice.doc->'noticeConfig'->>'templateId') AS template_exists
         FROM scheduled_notice WHERE id = $1 AND {} <= $2 FOR UPDATE OF scheduled_notice",
        *NEXT_RUN
    )
});

const DELETE: &str = "DELETE FROM scheduled_notice WHERE id = $1";

async fn delete(tenant: &Tenant, id: Uuid, reason: &str) -> Result<(), Failure> {
    tracing::info!(notice.id = %id, reason, "a reminder is deleted");
    tenant.writer().await?.query(DELETE, vec![id.into()]).await?;
    Ok(())
}

/// Adds the statement that schedules the next reminder, or deletes the last one.
fn write_next(pipeline: &mut Pipeline, id: Uuid, mut notice: Value, reminded: &Reminded) {
    let Some((next_run, reminder)) = &reminded.next else {
        pipeline.add(DELETE, vec![id.into()]);
        return;
    };
    notice["nextRunTime"] = time::format(*next_run).into();
    notice["noticeConfig"]["templateId"] = json!(reminder.notice_template_id);
    notice["noticeConfig"]["format"] = json!(reminder.notice_format);
    pipeline.add("UPDATE scheduled_notice SET doc = $2 WHERE id = $1", vec![id.into(), (&notice).into()]);
}
