//! Scheduled notices: before, upon or after a due date or an expiration, and about fees/fines.
//!
//! Routes: `POST /circulation/…-scheduled-notices-processing`, one for each kind of notice; jobs of the same names do
//! the same. Each run sends the due notices, at most as many in one transaction as the setting `noticesLimit` allows.
//! Changes `scheduled_notice`.

mod decide;
pub(super) mod notice;

use super::deliver::{self, Count, Notice};
use super::facts::{self, Wanted};
use super::immediate::PlanningFacts;
use super::{LOCK, WhenBusy, context, process, send_emails, users_of};
use crate::records::notices::SCHEDULED_NOTICE;
use crate::settings::{CirculationSettings, NoticeEvent};
use carrel_platform::jobs::{Job, Run, Running};
use carrel_platform::{Answer, Bind, Json, Pipeline, Router, RowChange, Tenant, TenantProfile, Tx};
use carrel_records::{Failure, time};
use decide::{Next, Outcome, Verdict, decide};
use jiff::Timestamp;
use notice::ScheduledNotice;
use serde_json::Value;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use uuid::Uuid;

/// The notices of a run, and how they are sent.
pub struct Kind {
    events: &'static [NoticeEvent],
    /// Only those sent in real time, only the others, or both.
    real_time: Option<bool>,
    /// Similar notices to a patron are sent as one, with this list of records.
    list: Option<&'static str>,
}

static LOANS: Kind =
    Kind { events: &[NoticeEvent::DueDate, NoticeEvent::AgedToLost], real_time: Some(true), list: None };
static LOANS_OF_A_DAY: Kind = Kind {
    events: &[NoticeEvent::DueDate, NoticeEvent::AgedToLost],
    real_time: Some(false),
    list: Some("loans"),
};
static REQUESTS: Kind = Kind {
    events: &[
        NoticeEvent::HoldExpiration,
        NoticeEvent::RequestExpiration,
        NoticeEvent::TitleLevelRequestExpiration,
    ],
    real_time: None,
    list: None,
};
static FEES: Kind = Kind {
    events: &[NoticeEvent::AgedToLostFineCharged, NoticeEvent::AgedToLostReturned],
    real_time: Some(true),
    list: None,
};
static FEES_OF_A_DAY: Kind = Kind {
    events: &[NoticeEvent::AgedToLostFineCharged, NoticeEvent::AgedToLostReturned],
    real_time: Some(false),
    list: Some("feeCharges"),
};
static OVERDUE_FINES: Kind = Kind {
    events: &[NoticeEvent::OverdueFineReturned, NoticeEvent::OverdueFineRenewed],
    real_time: None,
    list: Some("feeCharges"),
};

const MINUTE: Duration = Duration::from_secs(60);
const DEADLINE: Duration = Duration::from_secs(600);

/// A job that sends all due notices of a kind.
const fn job(name: &'static str, minutes: u32, run: fn(Run) -> Running) -> Job {
    Job { name, every: MINUTE.saturating_mul(minutes), deadline: DEADLINE, run }
}

pub static LOAN_NOTICES: Job =
    job("loan-scheduled-notices-processing", 5, |run| Box::pin(send_all(run.tenant, &LOANS)));
pub static DAILY_LOAN_NOTICES: Job = job("due-date-not-real-time-scheduled-notices-processing", 2, |run| {
    Box::pin(send_all(run.tenant, &LOANS_OF_A_DAY))
});
pub static REQUEST_NOTICES: Job =
    job("request-scheduled-notices-processing", 2, |run| Box::pin(send_all(run.tenant, &REQUESTS)));
pub static FEE_NOTICES: Job =
    job("fee-fine-scheduled-notices-processing", 2, |run| Box::pin(send_all(run.tenant, &FEES)));
pub static DAILY_FEE_NOTICES: Job = job("fee-fine-not-real-time-scheduled-notices-processing", 2, |run| {
    Box::pin(send_all(run.tenant, &FEES_OF_A_DAY))
});
pub static OVERDUE_FINE_NOTICES: Job =
    job("overdue-fine-scheduled-notices-processing", 2, |run| Box::pin(send_all(run.tenant, &OVERDUE_FINES)));

pub fn connect(router: &mut Router) {
    let mut on = |path: &'static str, kind: &'static Kind| {
        router.on("POST", path, move |call| async move {
            // What a call just before has caused is planned first.
            process(call.tenant()?, WhenBusy::Wait).await?;
            let (_, count) = send_page(call.tenant()?, kind, &[], call.now).await?;
            if count.sent > 0 {
                send_emails(call.tenant()?);
            }
            Ok(Answer::no_content())
        });
    };
    on("/circulation/loan-scheduled-notices-processing", &LOANS);
    on("/circulation/due-date-not-real-time-scheduled-notices-processing", &LOANS_OF_A_DAY);
    on("/circulation/request-scheduled-notices-processing", &REQUESTS);
    on("/circulation/fee-fine-scheduled-notices-processing", &FEES);
    on("/circulation/fee-fine-not-real-time-scheduled-notices-processing", &FEES_OF_A_DAY);
    on("/circulation/overdue-fine-scheduled-notices-processing", &OVERDUE_FINES);
}

/// Sends all due notices of a kind, a page at a time.
async fn send_all(tenant: Arc<Tenant>, kind: &'static Kind) -> Result<String, Failure> {
    let mut count = Count::default();
    // Waiting notices are excluded from the following pages.
    let mut waiting: Vec<Uuid> = Vec::new();
    loop {
        let (page, done) = send_page(&tenant, kind, &waiting, Timestamp::now()).await?;
        count += done;
        if done.sent > 0 {
            send_emails(&tenant);
        }
        waiting.extend(&page.waiting);
        if page.is_last {
            return Ok(count.to_string());
        }
    }
}

/// The rest of a page.
struct Page {
    is_last: bool,
    waiting: Vec<Uuid>,
}

/// Sends due notices, at most one page, in one transaction.
async fn send_page(
    tenant: &Tenant,
    kind: &Kind,
    except: &[Uuid],
    now: Timestamp,
) -> Result<(Page, Count), Failure> {
    let settings = CirculationSettings::of(tenant).await?;
    let mut tx = tenant.begin().await?;
    let due = read_due(&mut tx, kind, except, &settings, now).await?;
    let records = facts::records(tx.connection(), wanted(&due.notices)).await?;
    let mut users = users_of(&records);
    users.extend(due.notices.iter().filter_map(|notice| notice.recipient));
    let templates = due.notices.iter().map(|notice| notice.template).collect();
    let people = facts::people(tx.connection(), users, templates, now).await?;
    let known = PlanningFacts {
        records: &records,
        people: &people,
        settings: &settings,
        keeps_late: tenant.profile.late_notices,
    };
    let mut groups = groups(&due.notices, kind.list.is_some());
    // The last group may continue in the next page.
    if kind.list.is_some() && !due.is_last && groups.len() > 1 {
        groups.pop();
    }
    let mut decided = Decided::default();
    for group in groups {
        decided.add(&group, kind.list, &known, now);
    }
    let mut pipeline = Pipeline::new();
    let count = deliver::write(&mut pipeline, &decided.notices, &decided.unsent, &people, now);
    let deleted = [due.invalid, decided.deleted].concat();
    pipeline.add("DELETE FROM scheduled_notice WHERE id = ANY ($1::uuid[])", vec![deleted.into()]);
    for (id, next) in decided.rescheduled {
        pipeline.change_row(&RESCHEDULED, vec![id.into(), time::format(next).into()]);
    }
    tx.send_and_commit(pipeline).await?;
    Ok((Page { is_last: due.is_last, waiting: decided.waiting }, count))
}

/// The notices of a page.
struct Due {
    notices: Vec<ScheduledNotice>,
    /// Notices that cannot be read, which are deleted.
    invalid: Vec<Uuid>,
    is_last: bool,
}

/// Locks the job and reads the next page of due notices, without those in `except`.
async fn read_due(
    tx: &mut Tx,
    kind: &Kind,
    except: &[Uuid],
    settings: &CirculationSettings,
    now: Timestamp,
) -> Result<Due, Failure> {
    let limit = settings.notices_limit();
    let mut pipeline = Pipeline::new();
    pipeline.add(LOCK, vec![]);
    let before = match kind.real_time {
        Some(false) => start_of_day(now, settings),
        Some(true) | None => now,
    };
    let events: Vec<String> = kind.events.iter().map(|event| event.text().to_owned()).collect();
    let rows = pipeline.add(
        if kind.list.is_some() { DUE_BY_PATRON.as_str() } else { DUE_BY_TIME.as_str() },
        vec![
            before.into(),
            events.into(),
            kind.real_time.map(|real_time| real_time.to_string()).into(),
            except.to_vec().into(),
            (limit + 1).into(),
        ],
    );
    let results = tx.send(pipeline).await?;
    let rows = results.rows(rows);
    let mut due = Due { notices: Vec::new(), invalid: Vec::new(), is_last: rows.len() as i64 <= limit };
    for row in &rows[..rows.len().min(limit as usize)] {
        let (id, document): (Uuid, Json) = (row.get("id"), row.get("doc"));
        match ScheduledNotice::read(id, &document.parse()) {
            Some(notice) => due.notices.push(notice),
            None => {
                tracing::warn!(notice.id = %id, "an invalid scheduled notice is deleted: {}", document.0);
                due.invalid.push(id);
            }
        }
    }
    Ok(due)
}

/// A page's notices in the order of their time; grouped ones are adjacent.
static DUE_BY_TIME: LazyLock<String> = LazyLock::new(|| due("1"));
static DUE_BY_PATRON: LazyLock<String> = LazyLock::new(|| {
    due("recipient_user_id, doc->'noticeConfig'->>'templateId', doc->>'triggeringEvent',
        doc->'noticeConfig'->>'format', doc->'noticeConfig'->>'timing', doc->>'sessionId'")
});

fn due(order: &str) -> String {
    let field = SCHEDULED_NOTICE.fields.iter().find(|field| field.name == "nextRunTime");
    let next_run = carrel_cql::sql::expression(field.expect("scheduled notices have it"), "scheduled_notice");
    let order = if order == "1" { next_run.clone() } else { format!("{order}, {next_run}") };
    format!(
        "SELECT id, doc FROM scheduled_notice
         WHERE {next_run} < $1 AND doc->>'triggeringEvent' = ANY ($2::text[])
             AND ($3::text IS NULL OR coalesce(doc->'noticeConfig'->>'sendInRealTime', 'false') = $3)
             AND NOT id = ANY ($4::uuid[])
         ORDER BY {order}, id LIMIT $5"
    )
}

fn start_of_day(now: Timestamp, settings: &CirculationSettings) -> Timestamp {
    let today = now.to_zoned(settings.zone.clone());
    today.start_of_day().map_or(now, |start| start.timestamp())
}

fn wanted(notices: &[ScheduledNotice]) -> Wanted {
    Wanted {
        loans: notices.iter().filter_map(|notice| notice.loan).collect(),
        requests: notices.iter().filter_map(|notice| notice.request).collect(),
        fee_fine_actions: notices.iter().filter_map(|notice| notice.fee_fine_action).collect(),
        sessions: notices.iter().filter_map(|notice| notice.session).collect(),
    }
}

/// Groups adjacent notices that are sent to a patron as one; otherwise each is a group.
fn groups(notices: &[ScheduledNotice], grouped: bool) -> Vec<Vec<&ScheduledNotice>> {
    let key = |notice: &ScheduledNotice| {
        // The fines of a session at the desk are one notice.
        let session = notice.session.filter(|_| notice.event == NoticeEvent::OverdueFineReturned);
        (notice.recipient, notice.template, notice.event, notice.format, notice.timing, session)
    };
    let mut groups: Vec<Vec<&ScheduledNotice>> = Vec::new();
    for notice in notices {
        match groups.last_mut() {
            Some(group) if grouped && key(group[0]) == key(notice) => group.push(notice),
            _ => groups.push(vec![notice]),
        }
    }
    groups
}

/// The decisions about a page.
#[derive(Default)]
struct Decided {
    notices: Vec<Notice>,
    unsent: Vec<deliver::Unsent>,
    deleted: Vec<Uuid>,
    rescheduled: Vec<(Uuid, Timestamp)>,
    waiting: Vec<Uuid>,
}

impl Decided {
    fn add(
        &mut self,
        group: &[&ScheduledNotice],
        list: Option<&'static str>,
        known: &PlanningFacts,
        now: Timestamp,
    ) {
        let mut contents = Vec::new();
        for notice in group {
            let Verdict { outcome, next } = decide(notice, known, now);
            match outcome {
                Outcome::Sent(content) => contents.push(content),
                Outcome::Unsent(unsent) => self.unsent.push(unsent),
                Outcome::Waits => {}
            }
            match next {
                Next::Deleted => self.deleted.push(notice.id),
                Next::RunsAt(run) => self.rescheduled.push((notice.id, run)),
                Next::Unchanged => self.waiting.push(notice.id),
            }
        }
        let Some(first) = contents.first() else { return };
        let recipient = first.recipient;
        let subjects = contents.iter().map(|content| content.subject).collect();
        let context = match list {
            None => first.whole.clone(),
            Some(list) => {
                let patron = first.subject.loan.and_then(|loan| known.records.loans.get(&loan));
                let patron = patron.and_then(|loan| loan.patron.as_ref());
                let parts: Vec<Value> = contents.into_iter().map(|content| content.part).collect();
                context::of_several(list, parts, patron, known.settings)
            }
        };
        let (event, template, format) = (group[0].event, group[0].template, group[0].format);
        self.notices.push(Notice { event, recipient, template, format, context, subjects });
    }
}

impl CirculationSettings {
    /// Notices that a run sends in one transaction, at most: the setting `noticesLimit`, by default 100.
    fn notices_limit(&self) -> i64 {
        let limit = self.settings.get("noticesLimit").and_then(|setting| match &setting["value"] {
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_i64(),
        });
        limit.unwrap_or(100).clamp(1, 1_000)
    }
}

/// Stores a notice that is sent later.
pub fn insert(pipeline: &mut Pipeline, notice: &ScheduledNotice, profile: TenantProfile) {
    let mut document = notice.document();
    if profile.module_formats && notice.recurring.is_none() {
        document["noticeConfig"]["recurringPeriod"] = Value::Null;
    }
    pipeline.change_row(&SCHEDULED, vec![notice.id.into(), Bind::from(&document)]);
}

static SCHEDULED: RowChange = RowChange {
    one: "INSERT INTO scheduled_notice (id, doc) VALUES ($1, $2)",
    several: "INSERT INTO scheduled_notice (id, doc) SELECT * FROM unnest($1::uuid[], $2::jsonb[])",
};

static RESCHEDULED: RowChange = RowChange {
    one: "UPDATE scheduled_notice SET doc = doc || jsonb_build_object('nextRunTime', $2::text) WHERE id = $1",
    several: "UPDATE scheduled_notice SET doc = doc || jsonb_build_object('nextRunTime', one.next_run)
         FROM unnest($1::uuid[], $2::text[]) AS one (id, next_run)
         WHERE scheduled_notice.id = one.id AND scheduled_notice.id = ANY ($1::uuid[])",
};
