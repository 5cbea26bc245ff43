//! Patron notices about loans, requests and fees, by the notice policy that the circulation rules select.
//!
//! A desk action records a *cause* (`notice_event`) in its transaction, if some notice policy has a notice for it.
//! Right after the commit, and again by the job `patron-notices`, causes are turned into e-mails, printed notices and
//! scheduled notices; the cause is deleted in the transaction that stores these, so a notice is planned exactly once
//! even if nodes die. E-mails then pass through the delivery queue of `carrel_notices`. Check-out and check-in notices
//! wait for the end of the session at the desk ([`crate::loans::session`]).
//!
//! Tables: `notice_event`, `patron_notice` (the outcome of each notice), `printed_notice`, `scheduled_notice`.

pub mod context;
pub mod deliver;
mod event;
mod explain;
pub mod facts;
mod immediate;
mod log;
mod policy;
mod preview;
mod retention;
mod schedule;
pub mod scheduled;
mod used_templates;

pub use crate::settings::NoticeEvent;
pub use event::{About, Cause, record, record_group};
pub use retention::RETENTION;

use crate::settings::CirculationSettings;
use carrel_fees_fines::patron_notified::PatronNotified;
use carrel_platform::jobs::{self, Job};
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::transaction_listeners::Outcome;
use carrel_platform::{Changes, Pipeline, Router, Tenant, TenantProfile, TransactionListeners};
use carrel_records::Failure;
use deliver::Count;
use facts::{Records, Wanted};
use immediate::{Plan, PlanningFacts, RecordedCause, Replanned};
use jiff::Timestamp;
use scheduled::notice::ScheduledNotice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use tokio_postgres::Row;
use uuid::Uuid;

/// Causes that are processed in one transaction, at most; a group of causes stays together.
const BATCH: i64 = 100;
/// The time for which causes are collected before processing.
const COLLECT: Duration = Duration::from_millis(50);

/// Connects the routes.
pub fn connect(router: &mut Router) {
    scheduled::connect(router);
    explain::connect(router);
    preview::connect(router);
}

/// Connects what is done in the transactions of modules below.
pub fn listen(listeners: &mut TransactionListeners) {
    listeners.connect(used_templates::refuse);
    listeners.connect(record_notified_fees);
}

/// Records charges and actions of which staff have the patron notified.
fn record_notified_fees<'a>(changes: &'a mut Changes<'_>, notified: &'a mut PatronNotified) -> Outcome<'a> {
    Box::pin(async move {
        let cause = |record: &Uuid| Cause { event: NoticeEvent::FeeFine, about: About::FeeFine(*record) };
        let causes: Vec<Cause> = notified.records.iter().map(cause).collect();
        record(changes.pipeline, &causes, changes.now);
        notified.after_commit.push(process_soon);
        Ok(())
    })
}

/// Turns causes into notices. This also happens right after each cause; the job processes causes after a crash.
pub static PROCESSING: Job = Job {
    name: "patron-notices",
    every: Duration::from_secs(30),
    deadline: Duration::from_secs(600),
    run: |run| Box::pin(async move { Ok(process(&run.tenant, WhenBusy::Wait).await?.to_string()) }),
};

/// The task of a tenant on this node that turns causes into notices.
#[derive(Default)]
struct Processing {
    wanted: AtomicBool,
    runs: AtomicBool,
}

/// Starts to turn recorded causes into notices, in the background. Call it after the commit of their transaction.
pub fn process_soon(tenant: &Arc<Tenant>) {
    let processing = tenant.state.of::<Processing>();
    processing.wanted.store(true, SeqCst);
    if processing.runs.swap(true, SeqCst) {
        return;
    }
    let tenant = Arc::clone(tenant);
    tokio::spawn(async move {
        loop {
            while processing.wanted.swap(false, SeqCst) {
                tokio::time::sleep(COLLECT).await;
                if let Err(failure) = process(&tenant, WhenBusy::Leave).await {
                    tracing::warn!(tenant = tenant.id, %failure, "notices wait for the job patron-notices");
                }
            }
            processing.runs.store(false, SeqCst);
            // Requested again since the last check.
            if !processing.wanted.load(SeqCst) || processing.runs.swap(true, SeqCst) {
                return;
            }
        }
    });
}

/// What to do if another node is processing the tenant's notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WhenBusy {
    Wait,
    /// Leave the rest to the other node or the job.
    Leave,
}

/// Turns all recorded causes into notices.
async fn process(tenant: &Arc<Tenant>, when_busy: WhenBusy) -> Result<Count, Failure> {
    let mut count = Count::default();
    loop {
        let Some((more, done)) = process_batch(tenant, when_busy).await? else { break };
        count += done;
        if !more {
            break;
        }
    }
    if count.sent > 0 {
        send_emails(tenant);
    }
    Ok(count)
}

/// One transaction; `None` if another node is processing the tenant's notices. Returns whether there may be more.
async fn process_batch(tenant: &Arc<Tenant>, when_busy: WhenBusy) -> Result<Option<(bool, Count)>, Failure> {
    let mut tx = tenant.begin().await?;
    let lock = match when_busy {
        WhenBusy::Wait => LOCK,
        WhenBusy::Leave => TRY_LOCK,
    };
    let mut pipeline = Pipeline::new();
    let locked = pipeline.add(lock, vec![]);
    let version = pipeline.add("SELECT value FROM settings_version WHERE id = 1", vec![]);
    let rows = pipeline.add(DUE, vec![BATCH.into()]);
    let results = tx.send(pipeline).await?;
    if !results.first(locked).is_some_and(|row| row.get("locked")) {
        return Ok(None);
    }
    let causes: Vec<RecordedCause> = results.rows(rows).iter().filter_map(cause).collect();
    let ids: Vec<Uuid> = results.rows(rows).iter().map(|row| row.get("id")).collect();
    if ids.is_empty() {
        return Ok(Some((false, Count::default())));
    }
    let version: i64 = results.first(version).map_or(0, |row| row.get("value"));
    let settings = CirculationSettings::at_least_within(tenant, &mut tx, version).await?;
    let now = Timestamp::now();
    let records = facts::records(tx.connection(), wanted(&causes)).await?;
    let of_fees = records.fees.values().filter_map(|fee| fee.template().ok().flatten());
    let templates = causes.iter().flat_map(|cause| settings.notice_templates(cause.event));
    let templates = templates.chain(of_fees).collect();
    let people = facts::people(tx.connection(), users_of(&records), templates, now).await?;
    let known = PlanningFacts {
        records: &records,
        people: &people,
        settings: &settings,
        keeps_late: tenant.profile.late_notices,
    };
    let plan = immediate::plan(&causes, &known, &mut || Uuid::new_v7(uuid_time(now)));
    let mut pipeline = Pipeline::new();
    let count = deliver::write(&mut pipeline, &plan.notices, &plan.unsent, &people, now);
    write_schedule(&mut pipeline, &plan, tenant.profile);
    pipeline.add("DELETE FROM notice_event WHERE id = ANY ($1::uuid[])", vec![ids.into()]);
    let more = results.rows(rows).len() as i64 >= BATCH;
    tx.send_and_commit(pipeline).await?;
    Ok(Some((more, count)))
}

/// Only one node at a time processes the notices of a tenant, so that none is planned or sent twice.
const LOCK: &str = "SELECT true AS locked FROM
    (SELECT pg_advisory_xact_lock(hashtext('patron notices of ' || current_schema()))) AS taken";
const TRY_LOCK: &str =
    "SELECT pg_try_advisory_xact_lock(hashtext('patron notices of ' || current_schema())) AS locked";

/// The oldest causes, with all causes of their groups.
const DUE: &str = "WITH oldest AS (SELECT id, group_id FROM notice_event ORDER BY happened, id LIMIT $1)
    SELECT id, event, loan_id, request_id, fee_fine_action_id, session_id, group_id, happened FROM notice_event
    WHERE id IN (SELECT id FROM oldest)
        OR group_id IN (SELECT group_id FROM oldest WHERE group_id IS NOT NULL)
    ORDER BY happened, id";

fn cause(row: &Row) -> Option<RecordedCause> {
    let (loan, request): (Option<Uuid>, Option<Uuid>) = (row.get("loan_id"), row.get("request_id"));
    let about = match (row.get("fee_fine_action_id"), loan, request) {
        (Some(action), Some(loan), _) => {
            About::FeeFineAction { action, loan, session: row.get("session_id") }
        }
        (Some(action), None, None) => About::FeeFine(action),
        (None, Some(loan), Some(request)) => About::RequestAfterLoan { request, loan },
        (None, Some(loan), None) => About::Loan(loan),
        (None, None, Some(request)) => About::Request(request),
        _ => return None,
    };
    Some(RecordedCause {
        event: NoticeEvent::parse(row.get("event"))?,
        about,
        group: row.get("group_id"),
        happened: row.get("happened"),
    })
}

fn wanted(causes: &[RecordedCause]) -> Wanted {
    let mut wanted = Wanted::default();
    for cause in causes {
        match cause.about {
            About::Loan(loan) => wanted.loans.push(loan),
            About::Request(request) => wanted.requests.push(request),
            About::RequestAfterLoan { request, loan } => {
                wanted.requests.push(request);
                wanted.loans.push(loan);
            }
            About::FeeFineAction { action, loan, .. } => {
                wanted.loans.push(loan);
                wanted.fee_fine_actions.push(action);
            }
            About::FeeFine(action) => wanted.fee_fine_actions.push(action),
        }
    }
    wanted
}

/// Borrowers, requesters and their proxies, and patrons who owe fees/fines.
fn users_of(records: &Records) -> Vec<Uuid> {
    let of_loan = |loan: &facts::LoanFacts| {
        [loan.patron.as_ref().map(|patron| patron.id), immediate::id_at(&loan.document, "proxyUserId")]
    };
    let of_request = |request: &facts::RequestFacts| {
        let requester = request.requester.as_ref().map(|requester| requester.id);
        [requester, immediate::id_at(&request.document, "proxyUserId")]
    };
    let loans = records.loans.values().flat_map(of_loan);
    let of_fees = records.fees.values().map(|fee| immediate::id_at(&fee.action, "userId"));
    loans.chain(records.requests.values().flat_map(of_request)).chain(of_fees).flatten().collect()
}

fn write_schedule(pipeline: &mut Pipeline, plan: &Plan, profile: TenantProfile) {
    for replanned in &plan.replanned {
        match replanned {
            Replanned::Loan(loan, event) => pipeline.add(
                "DELETE FROM scheduled_notice WHERE loan_id = $1 AND doc->>'triggeringEvent' = $2",
                vec![(*loan).into(), event.text().into()],
            ),
            Replanned::Request(request) => {
                pipeline.add("DELETE FROM scheduled_notice WHERE request_id = $1", vec![(*request).into()])
            }
        };
    }
    // If a loan is planned twice in one batch, the last plan counts.
    let mut stored: Vec<&ScheduledNotice> = Vec::new();
    for notice in &plan.scheduled {
        let same = |other: &&ScheduledNotice| {
            ScheduledNotice { id: other.id, ..notice.clone() } == **other && notice.fee_fine_action.is_none()
        };
        if !stored.iter().any(same) {
            stored.push(notice);
        }
    }
    for notice in stored {
        scheduled::insert(pipeline, notice, profile);
    }
}

impl CirculationSettings {
    /// The templates that notices of an event may use.
    fn notice_templates(&self, event: NoticeEvent) -> Vec<Uuid> {
        let titles = &self.title_level_requests;
        let of_titles =
            [titles.confirmation_patron_notice_template_id, titles.cancellation_patron_notice_template_id];
        self.notices.templates(event).chain(of_titles.into_iter().flatten()).collect()
    }
}

/// Starts to send the queued e-mails.
fn send_emails(tenant: &Arc<Tenant>) {
    jobs::hint(tenant, carrel_notices::email::DELIVERY.name);
}
